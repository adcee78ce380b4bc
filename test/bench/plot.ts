/**
 * `node test/bench/plot.ts`: docs/performance.svg, drawn from the tables of docs/performance.md whose heading says "plotted". One
 * bar per row: its first cell is the label, its second the number.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

type Bar = { label: string; value: number };
type Chart = { title: string; bars: Bar[] };

const FOLDER = join(import.meta.dirname, '../../docs');
const MARK = ' (plotted)';
const ROW = 30;
const HEAD = 46;
const LEFT = 330;
const WIDTH = 960;
const LONGEST = WIDTH - LEFT - 90;

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

const chartsIn = (page: string): Chart[] =>
  page
    .split(/^## /m)
    .filter((part) => part.split('\n')[0]?.endsWith(MARK))
    .map((part) => {
      const [heading = '', ...lines] = part.split('\n');
      const rows = lines.filter((line) => line.startsWith('|')).slice(2);
      const bars = rows.map(cellsOf).map(([label = '', value = '']) => ({
        label: label.replaceAll('`', ''),
        value: Number(value),
      }));
      return { title: heading.slice(0, -MARK.length), bars };
    });

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const barOf = ({ label, value }: Bar, y: number, most: number): string => {
  const length = Math.max(2, Math.round((value / most) * LONGEST));
  return `  <text class="t" x="${LEFT - 12}" y="${y + 16}" text-anchor="end">${escaped(label)}</text>
  <rect class="bar" x="${LEFT}" y="${y}" width="${length}" height="${ROW - 8}" rx="3"/>
  <text class="t" x="${LEFT + length + 8}" y="${y + 16}">${value}</text>`;
};

const drawn = (charts: readonly Chart[]): string => {
  let y = 0;
  const parts: string[] = [];
  for (const { title, bars } of charts) {
    parts.push(`  <text class="b" x="20" y="${y + 30}">${escaped(title)}</text>`);
    y += HEAD;
    const most = Math.max(...bars.map(({ value }) => value));
    for (const bar of bars) {
      parts.push(barOf(bar, y, most));
      y += ROW;
    }
  }
  const height = y + 14;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="14">
  <style>.t{fill:#223}.b{fill:#223;font-weight:600}.bar{fill:#b86e00}</style>
  <rect width="${WIDTH}" height="${height}" fill="#fff"/>
${parts.join('\n')}
</svg>
`;
};

writeFileSync(
  join(FOLDER, 'performance.svg'),
  drawn(chartsIn(readFileSync(join(FOLDER, 'performance.md'), 'utf8'))),
);
