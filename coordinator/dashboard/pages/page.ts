/**
 * What pages are made of. `html` makes text of all that is put into it, so nothing that comes from
 * a rule, a pod or an agent is ever markup; `shown` also shows what a browser would act on within a
 * text, such as a change of the direction of writing.
 */
import { createHash } from 'node:crypto';
import { html } from 'hono/html';
import { printable } from '../../views/output/table.ts';
import type { SignedIn } from '../viewer/reviews.ts';

export type Html = ReturnType<typeof html>;
export { html };
export const shown = printable;

export type Page = {
  title: string;
  /** What stands above it and keeps what the user is writing into it. */
  form?: Html | undefined;
  body: Html;
  /** Another one when the body is another one. */
  mark: string;
};

export type Viewer = {
  user: SignedIn;
  /** Wall-clock milliseconds. */
  endsAt: number;
};

export const pageOf = async (
  title: string,
  { form, body }: { form?: Html; body: Html },
): Promise<Page> => {
  const text = await body;
  return { title, form, body: text, mark: markOf(text.toString()) };
};

export const markOf = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 22);

export const pathTo = (...parts: readonly string[]): string =>
  `/${parts.map((part) => encodeURIComponent(part)).join('/')}`;

/** In a path, of rules that belong to no CNF: no purpose begins so. */
export const NO_PURPOSE = '-';
export const cnfPath = (namespace: string, purpose: string): string =>
  pathTo('cnf', namespace, purpose || NO_PURPOSE);
export const firewallPath = (namespace: string, purpose: string): string =>
  pathTo('firewall', namespace, purpose);
export const rulePath = (namespace: string, kind: string, name: string): string =>
  pathTo('rule', namespace, kind, name);

/** `moment`: RFC 3339, or nothing. With its zone, which is that of Kubernetes. */
export const time = (moment: string | undefined): Html => {
  const at = Date.parse(moment ?? '');
  if (Number.isNaN(at)) return html`–`;
  const iso = new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
  return html`<time datetime="${iso}">${iso.replace('T', ' ').replace('Z', ' UTC')}</time>`;
};

/** `moment`: RFC 3339, of today as a rule; the day is for who asks for it. */
export const clockTime = (moment: string): Html =>
  html`<time datetime="${moment}" title="${moment.slice(0, 10)}"
    >${moment.slice(11, 16)} UTC</time
  >`;

/** Colour is never the only sign. */
export type Tone = 'good' | 'bad' | 'wait' | 'none';
const SIGNS: Readonly<Record<Tone, string>> = { good: '✓', bad: '✗', wait: '…', none: '–' };

export const sign = (tone: Tone, words: string): Html =>
  html`<span class="${tone}"><span aria-hidden="true">${SIGNS[tone]}</span> ${shown(words)}</span>`;

/** One that is wider than the window is scrolled by itself, also with the keyboard. */
export const scrollTable = (
  caption: string,
  headers: readonly (string | Html)[],
  rows: readonly Html[],
): Html =>
  html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0" id="${idOf(caption)}">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${headers.map((header) => html`<th scope="col">${header}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;

/** `none`: instead of a table without rows. */
export const tableOr = (none: Html | '', ...table: Parameters<typeof scrollTable>): Html | '' =>
  table[2].length === 0 ? none : scrollTable(...table);

/** The first cell says what the row is about. */
export const row = ([first, ...cells]: readonly (string | Html)[]): Html =>
  html`<tr>
    <th scope="row">${first}</th>
    ${cells.map((cell) => html`<td>${cell}</td>`)}
  </tr> `;

export const link = (path: string, words: string): Html =>
  html`<a href="${path}">${shown(words)}</a>`;

export const note = (words: string): Html => html`<p class="note">${shown(words)}</p>`;

const idOf = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

/** A part of a list. `at`: from 1 on. */
export type Part<T> = { items: readonly T[]; at: number; count: number; total: number };

export const partOf = <T>(all: readonly T[], asked: string | null, size: number): Part<T> => {
  const count = Math.max(1, Math.ceil(all.length / size));
  const at = Math.min(count, Math.max(1, Math.trunc(Number(asked)) || 1));
  return { items: all.slice((at - 1) * size, at * size), at, count, total: all.length };
};

/** Where the other parts are. */
export const partLinks = ({ at, count, total }: Part<unknown>, here: URL): Html => {
  const to = (page: number): string => {
    const query = new URLSearchParams(here.searchParams);
    query.set('page', String(page));
    return `${here.pathname}?${query.toString()}`;
  };
  if (count === 1) return html`<p>${total} in all</p>`;
  return html`<nav aria-label="Pages">
    ${at > 1 ? html`<a href="${to(at - 1)}" rel="prev">Previous</a>` : ''} Page ${at} of ${count},
    ${total} in all ${at < count ? html`<a href="${to(at + 1)}" rel="next">Next</a>` : ''}
  </nav>`;
};

/** What the user has typed; longer texts are cut. */
export const asked = (url: URL, name: string): string =>
  (url.searchParams.get(name) ?? '').slice(0, 256);
