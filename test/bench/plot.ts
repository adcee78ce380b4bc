/**
 * `node test/bench/plot.ts`: docs/performance.svg, drawn from the tables of docs/performance.md
 * whose heading says "plotted". One bar per row: its first cell is the label, its second the
 * number.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawnBars, type BarChart } from './charts.ts';

const FOLDER = join(import.meta.dirname, '../../docs');
const MARK = ' (plotted)';

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

const chartsIn = (page: string): BarChart[] =>
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

writeFileSync(
  join(FOLDER, 'performance.svg'),
  drawnBars(chartsIn(readFileSync(join(FOLDER, 'performance.md'), 'utf8'))),
);
