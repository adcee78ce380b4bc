/** Pictures for the docs, as SVG: bars, and lines over time. */

export type Bar = { label: string; value: number };
export type BarChart = { title: string; bars: readonly Bar[] };
/** `points`: minutes and values. */
export type Line = { label: string; points: readonly (readonly [number, number])[] };
export type LineChart = { title: string; lines: readonly Line[] };

const ROW = 30;
const HEAD = 46;
const LEFT = 330;
const WIDTH = 960;
const LONGEST = WIDTH - LEFT - 90;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const titleAt = (title: string, y: number): string =>
  `  <text class="b" x="20" y="${y + 30}">${escaped(title)}</text>`;

const picture = (parts: readonly string[], height: number): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="14">
  <style>.t{fill:#223}.b{fill:#223;font-weight:600}.bar{fill:#b86e00}</style>
  <rect width="${WIDTH}" height="${height}" fill="#fff"/>
${parts.join('\n')}
</svg>
`;

const barOf = ({ label, value }: Bar, y: number, most: number): string => {
  const length = Math.max(2, Math.round((value / most) * LONGEST));
  return `  <text class="t" x="${LEFT - 12}" y="${y + 16}" text-anchor="end">${escaped(label)}</text>
  <rect class="bar" x="${LEFT}" y="${y}" width="${length}" height="${ROW - 8}" rx="3"/>
  <text class="t" x="${LEFT + length + 8}" y="${y + 16}">${value}</text>`;
};

export const drawnBars = (charts: readonly BarChart[]): string => {
  let y = 0;
  const parts: string[] = [];
  for (const { title, bars } of charts) {
    parts.push(titleAt(title, y));
    y += HEAD;
    const most = Math.max(...bars.map(({ value }) => value));
    for (const bar of bars) {
      parts.push(barOf(bar, y, most));
      y += ROW;
    }
  }
  return picture(parts, y + 14);
};

const COLOURS = ['#b86e00', '#0b6e99', '#5a8f29', '#9a3b8f', '#c0392b', '#555577'];
const AREA = { left: 60, width: 640, height: 200 };

/** From zero up, so that what is flat looks flat. */
export const drawnLines = (charts: readonly LineChart[]): string => {
  let y = 0;
  const parts: string[] = [];
  for (const { title, lines } of charts) {
    const all = lines.flatMap(({ points }) => points);
    const longest = Math.max(...all.map(([minute]) => minute), 1);
    const most = Math.max(...all.map(([, value]) => value), 1);
    const bottom = y + HEAD + AREA.height;
    const place = ([minute, value]: readonly [number, number]): string =>
      `${Math.round(AREA.left + (minute / longest) * AREA.width)},${Math.round(bottom - (value / most) * AREA.height)}`;
    parts.push(
      titleAt(title, y),
      `  <path d="M${AREA.left},${y + HEAD}V${bottom}H${AREA.left + AREA.width}" fill="none" stroke="#223"/>`,
      `  <text class="t" x="${AREA.left - 8}" y="${y + HEAD + 5}" text-anchor="end">${Math.round(most)}</text>`,
      `  <text class="t" x="${AREA.left - 8}" y="${bottom}" text-anchor="end">0</text>`,
      `  <text class="t" x="${AREA.left + AREA.width}" y="${bottom + 18}" text-anchor="end">${Math.round(longest)} minutes</text>`,
    );
    for (const [index, { label, points }] of lines.entries()) {
      const colour = COLOURS[index % COLOURS.length];
      parts.push(
        `  <polyline points="${points.map(place).join(' ')}" fill="none" stroke="${colour}" stroke-width="1.5"/>`,
        `  <text x="${AREA.left + AREA.width + 16}" y="${y + HEAD + 14 + index * 20}" fill="${colour}">${escaped(label)}</text>`,
      );
    }
    y = bottom + 30;
  }
  return picture(parts, y + 14);
};
