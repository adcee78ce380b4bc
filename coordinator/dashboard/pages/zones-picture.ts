/**
 * Zones with what leads from one to the other, as a picture: packets come in on the left, and go
 * out on the right. What it says is in the tables below it, too.
 */
import type { ZoneMap } from '../zone-map.ts';
import { html, shown, type Html } from './page.ts';

/** In the picture's own units, of which a window of a telephone has about 360. */
const BOX = { width: 150, height: 44, gap: 16 };
const WIDTH = 560;
const TOP = 28;
/** More would be a tangle. */
export const MAX_ZONES = 24;
const CNF = 'this CNF';

type Line = { from: number; to: number; kind: 'forwarding' | 'redirect' };

export const zonesPicture = ({ zones, forwardings, redirects }: ZoneMap): Html => {
  const names = zones.map(({ zone }) => zone);
  const goals = [...names, CNF];
  const lines = [
    ...forwardings.map((one) => ({ ...one, kind: 'forwarding' as const })),
    ...redirects
      .filter(({ target }) => target === 'DNAT')
      .map((one) => ({ ...one, to: one.to || CNF, kind: 'redirect' as const })),
  ].flatMap(({ from, to, kind }): Line[] => {
    const ends = { from: names.indexOf(from), to: goals.indexOf(to) };
    return ends.from < 0 || ends.to < 0 ? [] : [{ ...ends, kind }];
  });
  const once = new Map(lines.map((line) => [JSON.stringify(line), line]));
  const height = TOP + goals.length * (BOX.height + BOX.gap);
  return html`<figure>
    <div class="scroll" role="region" aria-label="Picture of the zones" tabindex="0">
      <svg viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" aria-hidden="true">
        <defs>
          <marker
            id="tip"
            viewBox="0 0 8 8"
            refX="8"
            refY="4"
            markerWidth="8"
            markerHeight="8"
            orient="auto"
          >
            <path d="M0 0L8 4L0 8z" />
          </marker>
        </defs>
        <text x="0" y="16">comes from</text>
        <text x="${WIDTH - BOX.width}" y="16">goes to</text>
        ${[...once.values()].map(lineOf)}
        ${zones.map(({ zone, networks }, at) => box(0, at, [zone, networks.join(', ')]))}
        ${zones.map(({ zone, masquerades }, at) =>
          box(WIDTH - BOX.width, at, [zone, masquerades ? 'masquerades' : '']),
        )}
        ${box(WIDTH - BOX.width, zones.length, [CNF, ''])}
      </svg>
    </div>
    <figcaption>
      A line: packets of new connections may go that way. A dashed line: a redirect leads there.
      Rules make exceptions; the tables say the same in words.
    </figcaption>
  </figure>`;
};

const middle = (at: number): number => TOP + at * (BOX.height + BOX.gap) + BOX.height / 2;

const lineOf = ({ from, to, kind }: Line): Html => {
  const [left, right] = [BOX.width, WIDTH - BOX.width - 2];
  // Apart where both lead the same way.
  const shift = kind === 'redirect' ? 8 : 0;
  const half = (left + right) / 2;
  const [start, end] = [middle(from) + shift, middle(to) + shift];
  return html`<path
    class="${kind}"
    d="M${left} ${start}C${half} ${start} ${half} ${end} ${right} ${end}"
    marker-end="url(#tip)"
  />`;
};

const box = (x: number, at: number, [name = '', more = '']: readonly string[]): Html => {
  const y = middle(at) - BOX.height / 2;
  return html`<g>
    <rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6" />
    <text x="${x + 10}" y="${y + (more === '' ? 27 : 19)}" class="name">${cut(name, 16)}</text>
    ${more === '' ? '' : html`<text x="${x + 10}" y="${y + 36}">${cut(more, 20)}</text>`}
  </g>`;
};

const cut = (text: string, most: number): string => {
  const all = shown(text);
  return all.length > most ? `${all.slice(0, most - 1)}…` : all;
};
