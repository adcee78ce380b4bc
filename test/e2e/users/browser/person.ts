/**
 * A person at a browser, who looks and types; nothing is done to a page that a person could not do.
 */
import type { Browser, Page } from 'puppeteer-core';

export type Person = {
  page: Page;
  go: (path: string) => Promise<number>;
  /** What a page shows. */
  text: () => Promise<string>;
  /** Presses Tab until what has the focus is called so. @throws when nothing is */
  tabTo: (name: RegExp) => Promise<void>;
  /** What has the focus: its words, or those of its label; and how wide its outline is. */
  focused: () => Promise<{ name: string; outline: string }>;
  press: (...keys: Parameters<Page['keyboard']['press']>[0][]) => Promise<void>;
  /** As a person who waits for the next page. */
  follow: (key: 'Enter') => Promise<void>;
  /** What the browser complained about: refused by the policy of the page, faults of scripts. */
  complaints: readonly string[];
};

export type View = { width?: number; dark?: boolean; scripts?: boolean };

/** More than any page has before its content. */
const MOST_TABS = 60;
const LOAD_MS = 30_000;

/** With cookies of their own. */
export const personAt = async (
  browser: Browser,
  url: string,
  { width = 1_280, dark = false, scripts = true }: View = {},
): Promise<Person> => {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.setDefaultTimeout(LOAD_MS);
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' },
  ]);
  await page.setJavaScriptEnabled(scripts);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    const text = message.text();
    // A page that is not there or needs a sign-in is one that is looked at here.
    // Chromium hands out the focus when it shows a page, and a person can be faster.
    if (!/status of 40[14]|^Autofocus processing was blocked/.test(text)) complaints.push(text);
  });
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });

  const focused: Person['focused'] = async () => {
    const found: unknown = await page.evaluate(FOCUSED);
    const [name = '', outline = ''] = String(found).split('\n');
    return { name, outline };
  };
  const press: Person['press'] = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  return {
    page,
    complaints,
    focused,
    press,
    go: async (path) => {
      const response = await page.goto(new URL(path, url).href, { waitUntil: 'load' });
      return response?.status() ?? 0;
    },
    text: async () => String(await page.evaluate('document.body.innerText')),
    tabTo: async (name) => {
      const seen: string[] = [];
      for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
        await press('Tab');
        const now = await focused();
        if (name.test(now.name)) return;
        seen.push(now.name);
      }
      throw new Error(`Tab leads to nothing called ${name}: ${seen.join(', ')}`);
    },
    follow: async (key) => {
      await Promise.all([page.waitForNavigation({ waitUntil: 'load' }), press(key)]);
    },
  };
};

const FOCUSED = `(() => {
  const one = document.activeElement;
  const label = one.labels && one.labels[0];
  const name = label ? label.innerText : one.getAttribute('aria-label') || one.innerText || '';
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  return name.trim().split('\\n')[0] + '\\n' + (outlineStyle === 'none' ? 'none' : outlineWidth);
})()`;
