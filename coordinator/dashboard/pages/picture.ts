/**
 * What flows where, as a picture: packets come in on the left, go on to a zone, and leave by a WAN
 * or in a tunnel. What it says is in the tables below it, too.
 */
import type { PodRow } from '../overview.ts';
import type { SharesOf } from '../shares.ts';
import type { ZoneMap } from '../zone-map.ts';
import { html, shown, type Html } from './page.ts';

/** More would be a tangle. */
export const MAX_ZONES = 24;
const CNF = 'this CNF';

/** Ends by their places in two columns beside each other. */
type Line = { from: number; to: number; kind: 'forwarding' | 'redirect' | 'up' | 'down' };
type Box = { name: string; more: string };

export const picture = (
  { zones, forwardings, redirects }: ZoneMap,
  pods: readonly PodRow[],
  sharesOf: SharesOf | undefined,
): Html | '' => {
  const uplinks = uplinksOf(pods, sharesOf);
  if (zones.length + uplinks.length === 0) return '';
  const names = zones.map(({ zone }) => zone);
  const goals = [...names, CNF];
  const within = [
    ...forwardings.map((one) => ({ ...one, kind: 'forwarding' as const })),
    ...redirects
      .filter(({ target }) => target === 'DNAT')
      .map((one) => ({ ...one, to: one.to || CNF, kind: 'redirect' as const })),
  ].map(({ from, to, kind }) => ({ from: names.indexOf(from), to: goals.indexOf(to), kind }));
  const outward = uplinks.flatMap(({ wan, up }, to): Line[] => {
    const kind = up ? 'up' : 'down';
    // What a tunnel carries is sent by the CNF itself.
    if (wan === undefined) return [{ from: zones.length, to, kind }];
    return zones.flatMap(({ networks }, from) =>
      networks.includes(wan) ? [{ from, to, kind }] : [],
    );
  });
  const boxes = zones.map(({ zone, networks }): Box => ({ name: zone, more: networks.join(', ') }));
  const targets = zones.map(({ zone, masquerades }): Box => ({
    name: zone,
    more: masquerades ? 'masquerades' : '',
  }));
  const rows = Math.max(goals.length, uplinks.length);
  return html`<figure>
    <div class="picture ${uplinks.length === 0 ? 'inner' : ''}" aria-hidden="true">
      <p>comes from</p>
      <p></p>
      <p>goes to</p>
      ${
        uplinks.length === 0
          ? ''
          : html`<p></p>
              <p>leaves by</p>`
      }
      ${column(boxes)} ${linesOf(within, rows)} ${column([...targets, { name: CNF, more: '' }])}
      ${uplinks.length === 0 ? '' : html`${linesOf(outward, rows)} ${column(uplinks)}`}
    </div>
    <figcaption>
      A line: packets of new connections may go that way. A dashed line: a redirect leads there. A
      dotted line: that WAN or tunnel is down. Rules make exceptions; tables say the same in words.
    </figcaption>
  </figure>`;
};

/** `wan`: its interface; undefined: a tunnel. */
type Uplink = Box & { wan: string | undefined; up: boolean };

/** Equal ones of several pods are one. */
const uplinksOf = (pods: readonly PodRow[], sharesOf: SharesOf | undefined): Uplink[] => {
  const all = pods.flatMap(({ wans, tunnels }) => [
    ...wans.map(({ interface: wan, up, status }): Uplink => {
      const shares = sharesOf?.(wan, wans) ?? [];
      const share = shares.length === 1 ? `, ${shares[0]?.percent} %` : '';
      return { name: wan, more: `${status}${share}`, wan, up };
    }),
    ...tunnels.map(({ name, up }): Uplink => {
      const more = up ? 'tunnel, up' : 'tunnel, down';
      return { name, more, wan: undefined, up };
    }),
  ]);
  return once(all)
    .slice(0, MAX_ZONES)
    .map((one) => ({ ...one, name: `${one.up ? '✓' : '✗'} ${one.name}` }));
};

const once = <T>(all: readonly T[]): T[] => [
  ...new Map(all.map((one) => [JSON.stringify(one), one])).values(),
];

const column = (boxes: readonly Box[]): Html =>
  html`<div>
    ${boxes.map(
      ({ name, more }) =>
        html`<p title="${name}">
          <strong>${cut(name)}</strong>${more === '' ? '' : html`<small>${cut(more)}</small>`}
        </p>`,
    )}
  </div>`;

/** In units of rows, whatever their height: each row is ten high, and its box four fifths of it. */
const linesOf = (lines: readonly Line[], rows: number): Html => {
  const seen = lines.filter(({ from, to }) => from >= 0 && to >= 0);
  return html`<div>
    <svg viewBox="0 0 100 ${rows * 10}" preserveAspectRatio="none">
      ${once(seen).map(({ from, to, kind }) => {
        // Apart where two lead the same way.
        const shift = kind === 'redirect' ? 5 : 4;
        const [start, end] = [from * 10 + shift, to * 10 + shift];
        return html`<path class="${kind}" d="M0 ${start}C50 ${start} 50 ${end} 100 ${end}" />`;
      })}
    </svg>
  </div>`;
};

/** What a box has room for, also on a telephone. */
const MOST = 28;

const cut = (text: string): string => {
  const all = shown(text);
  return all.length > MOST ? `${all.slice(0, MOST - 1)}…` : all;
};
