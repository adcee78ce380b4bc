/** The frame of every page: landmarks, the user, and what the coordinator does not know yet. */
import { clockTime, html, shown, withAges, type Html, type Page, type Viewer } from './page.ts';

export const SCRIPT_PATH = '/assets/live.js';
export const STYLE_PATH = '/assets/style.css';

const frame = (title: string, body: Html): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${title} – SD-EWAN</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${STYLE_PATH}" />
        <script src="${SCRIPT_PATH}" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        ${body}
      </body>
    </html>`;

export type Framing = {
  viewer: Viewer;
  path: string;
  /** Wall-clock milliseconds. */
  now: number;
  /** Not all rules and pods are known yet. */
  isIncomplete: boolean;
  /** Not all agents had time to report yet. */
  isYoung: boolean;
};

export const wholePage = (
  page: Page,
  { viewer, path, now, isIncomplete, isYoung }: Framing,
): Html =>
  frame(
    page.title,
    html`<header>
        <nav aria-label="Main">
          <span class="brand">SD-EWAN</span> ${entry('/', 'CNFs', path)}
          ${entry('/events', 'Events', path)}
        </nav>
        <form method="post" action="/sign-out">
          <p>
            ${shown(nameOf(viewer.user.username))}, until
            ${clockTime(new Date(viewer.endsAt).toISOString())}
          </p>
          <button>Sign out</button>
        </form>
      </header>
      <p id="live" role="status" data-mark="${page.mark}" data-now="${now}">
        <noscript
          >Without scripts this page is as it was when you loaded it; reload it by hand.</noscript
        >
      </p>
      <main id="main" tabindex="-1">
        <h1>${page.title}</h1>
        <div id="content">
          ${isIncomplete ? html`<p class="note">${INCOMPLETE}</p>` : ''}
          ${isYoung && !isIncomplete ? html`<p class="note">${YOUNG}</p>` : ''}
          ${withAges(page.body, now)}
        </div>
      </main>`,
  );

/** The last two parts of a service account's name at the API server tell which it is. */
const nameOf = (username: string): string => {
  const [, account] = /^system:serviceaccount:([^:]+:[^:]+)$/.exec(username) ?? [];
  return account?.replace(':', '/') ?? username;
};

const INCOMPLETE =
  'This coordinator has just started and is still reading rules and pods. What is missing here may well be there.';
const YOUNG =
  'This coordinator has just started and is still listening: agents report to it within a minute.';

const entry = (to: string, words: string, path: string): Html =>
  path === to
    ? html`<a href="${to}" aria-current="page">${words}</a>`
    : html`<a href="${to}">${words}</a>`;

/** A page of one sentence, with or without a user. */
export const plainPage = (title: string, words: string): Html =>
  frame(
    title,
    html`<main id="main" tabindex="-1">
      <h1>${title}</h1>
      <div id="content"><p>${words}</p></div>
      <p><a href="/">All CNFs</a></p>
    </main>`,
  );

/** For a code, which signs in any browser that sends it. */
export const enterPage = (code: string, username: string): Html =>
  frame(
    'Sign in',
    html`<main id="main" tabindex="-1">
      <h1>Sign in</h1>
      <form method="post" action="/enter">
        <input type="hidden" name="code" value="${code}" />
        <button autofocus>Sign in as ${shown(nameOf(username))}</button>
      </form>
    </main>`,
  );

/** All that a person sees without being signed in. */
export const signInPage = (problem: string | undefined): Html =>
  frame(
    'Sign in',
    html`<main id="main" tabindex="-1">
      <h1>Sign in</h1>
      ${problem === undefined ? '' : html`<p role="alert" class="note">${problem}</p>`}
      <form method="post" action="/sign-in" class="tall">
        <label for="token"
          >A token of the API server, such as of <code>kubectl create token</code></label
        >
        <input
          id="token"
          name="token"
          type="password"
          autocomplete="off"
          required
          maxlength="12000"
        />
        <button>Sign in</button>
      </form>
    </main>`,
  );
