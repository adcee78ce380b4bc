/**
 * Many sets of values in one call of Helm: a chart that has ours as many times as there are cases,
 * each with values of its own.
 */
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VERSION } from '#shared/own-version.ts';
import { CHART } from '../../stack/helm.ts';

/** By dotted path. */
export type GivenValues = Readonly<Record<string, unknown>>;

/** Writes the chart to `folder`, which must not exist. Cases go by their number. */
export const writeCases = async (folder: string, cases: readonly GivenValues[]): Promise<void> => {
  await mkdir(folder, { recursive: true });
  await cp(CHART, join(folder, 'charts/sdewan'), { recursive: true });
  const dependencies = cases.map((_, at) => ({
    name: 'sdewan',
    version: VERSION,
    repository: '',
    alias: aliasOf(at),
  }));
  const chart = { apiVersion: 'v2', name: PARENT, version: VERSION, dependencies };
  await writeFile(join(folder, 'Chart.yaml'), JSON.stringify(chart));
  const values = Object.fromEntries(cases.map((given, at) => [aliasOf(at), nested(given)]));
  await writeFile(join(folder, 'values.yaml'), JSON.stringify(values));
};

const PARENT = 'cases';
export const aliasOf = (at: number): string => `case-${at}`;

/** What Helm rendered for each case, as text. */
export const textsOf = (out: string): ReadonlyMap<string, string> => {
  const texts = new Map<string, string>();
  for (const document of out.split(/^---\n/m)) {
    const [, alias, file = ''] = SOURCE.exec(document) ?? [];
    if (alias === undefined) continue;
    const text = document.replace(SOURCE, `# ${file}`);
    texts.set(alias, `${texts.get(alias) ?? ''}---\n${text}`);
  }
  return texts;
};

const SOURCE = new RegExp(`^# Source: ${PARENT}/charts/([^/]+)/(.*)$`, 'm');

/** `{ 'a.b': 1 }` as `{ a: { b: 1 } }`. */
const nested = (given: GivenValues): object => {
  const groups = Map.groupBy(Object.entries(given), ([path]) => path.split('.', 1)[0] ?? '');
  return Object.fromEntries(
    [...groups].map(([key, entries]) => [key, valueOf(key, entries)] as const),
  );
};

const valueOf = (key: string, entries: readonly (readonly [string, unknown])[]): unknown => {
  const own = entries.find(([path]) => path === key);
  return own
    ? own[1]
    : nested(
        Object.fromEntries(entries.map(([path, value]) => [path.slice(key.length + 1), value])),
      );
};
