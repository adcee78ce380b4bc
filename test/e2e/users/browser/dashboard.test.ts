/**
 * The dashboard of a real coordinator in Chromium: with the keyboard alone, on a telephone, in the
 * dark, without scripts and with a screen reader's eyes (axe); live. `UPDATE=1` takes the pictures
 * of docs/dashboard.md anew.
 */
import path from 'node:path';
import axe from 'axe-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { startChromium, type RunningChromium } from './chromium.ts';
import { personAt, type Person, type View } from './person.ts';
import { createScene, MARKUP, PURPOSE, type Scene } from './scene.ts';

/** What must become true by itself; a busy machine takes longer than people should have to wait. */
const SOON = { timeout: 300_000, interval: 100 };
const PICTURES = path.resolve(import.meta.dirname, '../../../../docs/pictures');

const WORDS = {
  broken: { state: 'Failed', reason: 'InvalidSpec', message: `fw4 said: ${MARKUP}` },
} as const;

let scene: Scene;
let chromium: RunningChromium;
/** The browser of all tests in this file. */
const people: Person[] = [];

const person = async (view?: View): Promise<Person> => {
  const one = await personAt(chromium.browser, scene.url, view);
  people.push(one);
  return one;
};

const codeSchema = z.object({ code: z.string() });
/** As `sdewan dashboard` gets it. */
const codeFor = async (token: string): Promise<string> => {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${scene.url}/codes`, { method: 'POST', headers });
  return codeSchema.parse(await answer.json()).code;
};
const BUTTON = /^Sign in as /;
const signedIn = async (token: string, view?: View): Promise<Person> => {
  const one = await person(view);
  await one.go(`/enter?code=${await codeFor(token)}`);
  // Chromium gives the button the focus on pages that it shows, and several are open here.
  if (!BUTTON.test((await one.focused()).name)) await one.tabTo(BUTTON);
  await one.follow('Enter');
  expect(await one.text()).toContain('Sign out');
  return one;
};

const pages = (): Readonly<Record<string, string>> => ({
  cnfs: '/',
  cnf: `/cnf/${scene.home}/${PURPOSE}`,
  rule: `/rule/${scene.home}/FirewallRule/broken`,
  zone: `/rule/${scene.home}/FirewallZone/lan1`,
  firewall: `/firewall/${scene.home}/${PURPOSE}?in=ovn-net2&src=192.0.2.7&dst=10.0.0.1&proto=tcp&dport=8080`,
  events: '/events',
  missing: '/none',
});

beforeAll(async () => {
  [scene, chromium] = await Promise.all([
    // A busy machine gives agents no turn; pictures are of a coordinator that has been there for as
    // long.
    createScene({ silentAfterMs: process.env['UPDATE'] === '1' ? 60_000 : 3_600_000 }),
    startChromium(),
  ]);
  await scene.report(WORDS);
  const admin = await signedIn(scene.admin);
  await vi.waitFor(async () => {
    await admin.go(pages()['rule'] ?? '');
    if (!(await admin.text()).includes('fw4 said')) throw new Error(await admin.text());
  }, SOON);
  if (process.env['UPDATE'] === '1') await takePictures();
});
afterAll(async () => {
  await chromium?.close();
  await scene?.close();
});

/**
 * As a reader of the docs would meet it: the coordinator has been there for a while, and one rule
 * is refused.
 */
const takePictures = async (): Promise<void> => {
  await vi.waitFor(
    async () => {
      await scene.report({ broken: REFUSED });
      const { go, text } = await signedIn(scene.viewer);
      await go('/');
      if ((await text()).includes('just started')) throw new Error('it is still young');
    },
    { timeout: 300_000, interval: 5_000 },
  );
  for (const [name, view] of [
    ['cnf', { width: 1_100 }],
    ['rule', { width: 1_100, dark: true }],
    ['firewall', { width: 1_100 }],
    ['cnfs', { width: 390 }],
  ] as const) {
    const { go, page } = await signedIn(scene.viewer, view);
    await go(pages()[name] ?? '');
    await page.screenshot({ path: path.join(PICTURES, `dashboard-${name}.png`) });
  }
  await scene.report(WORDS);
};
const REFUSED = {
  state: 'Failed',
  reason: 'InvalidSpec',
  message: "spec.dest_port: '80-' is no port or range of ports",
} as const;

describe('with the keyboard alone', () => {
  it('signs a user in, reaches every page, and signs out', async () => {
    const { go, tabTo, press, follow, text, page, focused } = await person();
    expect(await go('/')).toBe(401);
    await tabTo(/^A token/);
    // Typed by hand it would take a minute.
    await page.keyboard.sendCharacter(scene.admin);
    await follow('Enter');
    expect(await text()).toContain('Rules and policies in sync');
    await tabTo(/^Skip to the content/);
    expect(Number.parseFloat((await focused()).outline)).toBeGreaterThan(1);
    await press('Enter');
    await tabTo(/^cnf-1$/);
    await follow('Enter');
    expect(await text()).toContain('FirewallRule/broken');

    await tabTo(/^Rule or reason/);
    await page.keyboard.type('brok');
    await follow('Enter');
    const found = await text();
    expect(found).toContain('FirewallRule/broken');
    expect(found).not.toContain('FirewallRule/web');
    await tabTo(/^FirewallRule\/broken/);
    await follow('Enter');
    expect(await text()).toContain('What to do');
    await tabTo(/^Events$/);
    await follow('Enter');
    expect(await text()).toContain('FirewallRule/broken');
    await tabTo(/^Sign out/);
    await follow('Enter');
    expect(await text()).toContain('You are signed out.');
    expect(await go('/events')).toBe(401);
  });

  it('shows what has the focus, all over the page of a CNF', async () => {
    const { go, press, focused } = await signedIn(scene.admin);
    await go(pages()['cnf'] ?? '');
    for (let tabs = 0; tabs < 12; tabs += 1) {
      await press('Tab');
      const { name, outline } = await focused();
      expect([name, Number.parseFloat(outline) >= 2]).toEqual([expect.stringMatching(/./), true]);
    }
  });
});

describe.each([
  { view: 'a wide window, light', width: 1_280, dark: false },
  { view: 'a telephone, dark', width: 390, dark: true },
])('in $view', ({ width, dark }) => {
  it('axe finds nothing, no page is wider than the window, and nothing is cut or has to be scrolled', async () => {
    const found: unknown[] = [];
    const one = await signedIn(scene.admin, { width, dark });
    const stranger = await person({ width, dark });
    const visits = [
      ...Object.values(pages()).map((to) => [one, to] as const),
      [stranger, '/'] as const,
    ];
    for (const [{ go, page }, to] of visits) {
      await go(to);
      await page.evaluate(axe.source);
      const { violations } = axeSchema.parse(await page.evaluate('axe.run()'));
      for (const { id, help, nodes } of violations)
        found.push({ to, id, help, nodes: nodes.map(({ html }) => html) });
      const over = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      if (over !== 0) found.push({ to, over });
      const cut = await page.evaluate(CUT);
      if (cut !== '') found.push({ to, cut });
    }
    expect(found).toEqual([]);
  });
});
/** What does not show all that is in it. */
const CUT = `[...document.querySelectorAll('main *')]
  .filter((one) => getComputedStyle(one).overflow !== 'visible' && !one.closest('.skip'))
  .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
  .map((one) => one.outerHTML.slice(0, 200)).join()`;
const axeSchema = z.object({
  violations: z.array(
    z.object({
      id: z.string(),
      help: z.string(),
      nodes: z.array(z.object({ html: z.string() })),
    }),
  ),
});

describe('without scripts', () => {
  it('pages say that they stay as they are, and lists can be searched', async () => {
    const { go, text, tabTo, page, follow } = await signedIn(scene.admin, { scripts: false });
    await go(pages()['cnf'] ?? '');
    expect(await text()).toContain('reload it by hand');
    expect(await text()).toContain('FirewallRule/web');
    await tabTo(/^Rule or reason/);
    await page.keyboard.type('no-such-rule');
    await follow('Enter');
    expect(await text()).not.toContain('FirewallRule/web');
  });
});

describe('live', () => {
  it('shows a change without a reload, and the scroll and focus stay', async () => {
    const one = await signedIn(scene.admin);
    await one.go(pages()['cnf'] ?? '');
    await one.tabTo(/^FirewallRule\/broken/);
    for (const seen of ['5 of 6 rules are in sync', 'WAN ovn_net3 on cnf-1-a, cnf-1-b', 'hub-main'])
      expect(await one.text()).toContain(seen);
    await one.page.evaluate('window.sameDocument = true');
    await scene.report();
    await expect.poll(one.text).toContain('6 of 6 rules are in sync');
    expect((await one.focused()).name).toBe('FirewallRule/broken');
    expect(await one.page.evaluate('window.sameDocument')).toBe(true);
    await scene.report(WORDS);
    await expect.poll(one.text).toContain('5 of 6 rules are in sync');
  });

  it('keeps what a user is typing, and says how long ago something was', async () => {
    const one = await signedIn(scene.admin);
    await one.go(pages()['cnf'] ?? '');
    await one.tabTo(/^Rule or reason/);
    await one.page.keyboard.type('half a na');
    await scene.report();
    await expect.poll(one.text).toContain('6 of 6 rules are in sync');
    await one.page.keyboard.type('me');
    expect(await one.page.evaluate("document.querySelector('#q').value")).toBe('half a name');
    const ages = "[...document.querySelectorAll('#content time')].map((one) => one.textContent)";
    expect(await one.page.evaluate(ages)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^\d+[smhd] ago$/)]),
    );
    await scene.report(WORDS);
    await expect.poll(one.text).toContain('5 of 6 rules are in sync');
  });
});

describe('a session', () => {
  it('is worth nothing to the page of another site, which may not send forms either', async () => {
    const one = await signedIn(scene.admin);
    const cookies = await one.page.browserContext().cookies();
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }]);
    const headers = { origin: 'http://evil.example', 'content-type': 'text/plain' };
    const answer = await fetch(`${scene.url}/sign-out`, { method: 'POST', headers });
    expect(answer.status).toBe(403);
    expect(await one.go('/')).toBe(200);
  });
});

describe('what a user wrote', () => {
  it('stays text: in names of options, messages of agents, Events', async () => {
    const { go, text, page } = await signedIn(scene.admin);
    const shown: string[] = [];
    for (const [name, to] of Object.entries(pages())) {
      await go(to);
      if ((await text()).includes(MARKUP)) shown.push(name);
      expect(await page.title()).not.toContain('taken over');
      expect(await page.evaluate("document.querySelectorAll('main img, main script').length")).toBe(
        0,
      );
    }
    expect(shown).toEqual(['cnfs', 'cnf', 'rule', 'events']);
  });
});

describe('when the coordinator is gone', () => {
  it('says on the page since when it hears nothing, and keeps what it had', async () => {
    const one = await signedIn(scene.admin);
    await one.go(pages()['cnf'] ?? '');
    // Theirs would complain as well.
    for (const { page } of people) if (page !== one.page) await page.close();
    await scene.fixture.killCoordinator();
    await expect.poll(one.text).toMatch(/The connection to the coordinator is lost since \d/);
    expect(await one.text()).toContain('FirewallRule/broken');
    // What the browser says of the lost connection itself.
    const refused = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE/;
    expect(one.complaints.filter((words) => !refused.test(words))).toEqual([]);
    people.splice(people.indexOf(one), 1);
  });
});

it('has no complaint of any page of this run, nor of its policy', () => {
  expect(people.length).toBeGreaterThan(10);
  expect(people.flatMap(({ complaints }) => complaints)).toEqual([]);
});
