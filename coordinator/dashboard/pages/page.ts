/**
 * What pages are made of. `html` makes text of all that is put into it, so nothing that comes from
 * a rule, a pod or an agent is ever markup; `shown` also shows what a browser would act on within a
 * text, such as a change of the direction of writing.
 */
import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import { ageOf } from '../../views/output/age.ts';
import { printable } from '../../views/output/table.ts';
import type { SignedIn } from '../viewer/reviews.ts';

export type Html = ReturnType<typeof html>;
export { html };
export const shown = printable;

export type Page = {
  title: string;
  /** With forms that have an id: they keep what the user is writing into them. Times stand in it as
   * they are; `withAges` says how long ago that was. */
  body: Html;
  /** Another one when the body is another one. */
  mark: string;
};

export type Viewer = {
  user: SignedIn;
  /** Wall-clock milliseconds. */
  endsAt: number;
};

export const pageOf = async (title: string, body: Html): Promise<Page> => {
  const text = await body;
  return { title, body: text, mark: markOf(text.toString()) };
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

const TIMES = /<time datetime="([^"]*)">([^<]*)<\/time>/g;

/** How long ago each time of `time` was; a user who points at it sees the time itself. */
export const withAges = async (body: Html, now: number): Promise<Html> =>
  raw(
    (await body)
      .toString()
      .replaceAll(
        TIMES,
        (_, moment: string, words: string) =>
          `<time datetime="${moment}" title="${words}">${ageOf(moment, now)} ago</time>`,
      ),
  );

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

type Cell = string | Html;

/**
 * Without rows: its caption, and that there are none. The first cell says what a row is about; in a
 * narrow window each cell stands below the one before it, behind the words of its column.
 */
export const table = (
  caption: string,
  headers: readonly string[],
  rows: readonly (readonly Cell[])[],
): Html => {
  if (rows.length === 0)
    return html`<h2>${caption}</h2>
      <p>None.</p>`;
  return html`<table>
    <caption>
      <h2>${caption}</h2>
    </caption>
    <thead>
      <tr>
        ${headers.map((header) => html`<th scope="col">${header}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        ([first = '', ...cells]) =>
          html`<tr>
            <th scope="row">${first}</th>
            ${cells.map((cell, at) => html`<td data-label="${headers[at + 1] ?? ''}">${cell}</td>`)}
          </tr> `,
      )}
    </tbody>
  </table>`;
};

/** '' instead of one without rows. */
export const tableIfAny = (...given: Parameters<typeof table>): Html | '' =>
  given[2].length === 0 ? '' : table(...given);

export const link = (path: string, words: string): Html =>
  html`<a href="${path}">${shown(words)}</a>`;

export const ruleLink = (rule: { namespace: string; kind: string; name: string }): Html =>
  link(rulePath(rule.namespace, rule.kind, rule.name), `${rule.kind}/${rule.name}`);

export const listed = (items: readonly Html[]): Html =>
  html`${items.map((item, at) => html`${at === 0 ? '' : ', '}${item}`)}`;

/** Options of a list: values, and their words where those differ. */
export const choices = (
  values: readonly (readonly [value: string, words?: string])[],
  chosen: string,
): Html =>
  html`${values.map(
    ([value, words = value]) =>
      html`<option value="${value}" ${value === chosen ? 'selected' : ''}>${shown(words)}</option>`,
  )}`;

/** A list from which a namespace is chosen; a field where not all are known. */
export const namespaceField = (
  chosen: string,
  { names, isPartial }: { names: readonly string[]; isPartial: boolean },
): Html => {
  const all = [...new Set([...names, chosen])].filter((one) => one !== '').sort();
  return html`<p class="field">
    <label for="namespace">Namespace</label> ${
      isPartial
        ? html`<input id="namespace" name="namespace" value="${chosen}" maxlength="63" />`
        : html`<select id="namespace" name="namespace">
            ${choices([['', 'all'], ...all.map((one) => [one] as const)], chosen)}
          </select>`
    }
  </p>`;
};

export const note = (words: string): Html => html`<p class="note">${shown(words)}</p>`;

/** A part of a list. `at`: from 1 on. */
export type Part<T> = { items: readonly T[]; at: number; count: number; total: number };

export const partOf = <T>(all: readonly T[], asked: string | null, size: number): Part<T> => {
  const count = Math.max(1, Math.ceil(all.length / size));
  const at = Math.min(count, Math.max(1, Math.trunc(Number(asked)) || 1));
  return { items: all.slice((at - 1) * size, at * size), at, count, total: all.length };
};

/** Where the other parts are. `place`: of the list on its page. */
export const partLinks = ({ at, count, total }: Part<unknown>, here: URL, place: string): Html => {
  const to = (page: number): string => {
    const query = new URLSearchParams(here.searchParams);
    query.set('page', String(page));
    return `${here.pathname}?${query.toString()}${place}`;
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
