/** The tables of docs/metrics.md, as people read them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scrape } from './prometheus.ts';

export type Documented = { name: string; labels: readonly string[]; help: string };

const PAGE = join(import.meta.dirname, '../../../docs/metrics.md');

/** `program`: the heading, e.g. `Coordinator`; what both programs show is part of either. */
export const documentedMetrics = (program: 'Agent' | 'Coordinator'): Documented[] => {
  const sections = readFileSync(PAGE, 'utf8').split(/^## /m);
  return [program, 'Both'].flatMap((heading) =>
    (sections.find((section) => section.startsWith(`${heading}\n`)) ?? '')
      .split('\n')
      .flatMap((line) => {
        const [, name, labels = '', help] = /^\| `(\w+)(?:\{(.*)\})?` \| (.*) \|$/.exec(line) ?? [];
        if (name === undefined || help === undefined) return [];
        return [{ name, labels: labels.split(',').filter((label) => label !== ''), help }];
      }),
  );
};

/** What is shown and not documented, or documented and not shown: names, help and labels. */
export const undocumented = ({ samples, help }: Scrape, documented: readonly Documented[]) => ({
  help: [...help].filter(
    ([name, text]) => !documented.some((one) => one.name === name && one.help === text),
  ),
  missing: documented.map(({ name }) => name).filter((name) => !help.has(name)),
  labels: samples.flatMap(({ name, labels }) => {
    const metric = documented.find((one) => name.replace(/_(bucket|sum|count)$/, '') === one.name);
    const expected = [...(metric?.labels ?? []), ...(name.endsWith('_bucket') ? ['le'] : [])];
    return Object.keys(labels).sort().join() === expected.toSorted().join() ? [] : [name];
  }),
});

export const NOTHING_UNDOCUMENTED = { help: [], missing: [], labels: [] };
