/** The bounds of docs/security.md are those of the code. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './product-files.ts';

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

const ROW =
  /^\| (?<what>[^|]+) \| (?<most>[\d,]+)[^|]* \| [^|]+ \| `(?<file>[\w/.-]+)` `(?<name>[A-Z_]+)` \|$/gm;

/** Numbers, or products of them. */
const valueIn = (text: string, name: string): number => {
  const [, value = ''] =
    new RegExp(String.raw`^(?:export )?const ${name} = ([\d_* ]+);`, 'm').exec(text) ?? [];
  return value.split('*').reduce((product, one) => product * Number(one.replaceAll('_', '')), 1);
};

it('names each bound of docs/security.md as it is in the code', () => {
  const rows = [...read('docs/security.md').matchAll(ROW)].map(({ groups = {} }) => groups);
  expect(rows.length).toBeGreaterThan(40);
  const told = rows.map(({ what, most = '' }) => [what, Number(most.replaceAll(',', ''))]);
  expect(rows.map(({ what, file = '', name = '' }) => [what, valueIn(read(file), name)])).toEqual(
    told,
  );
});
