import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { isInstalled } from './installed.mjs';

const lock = (packages: object): string =>
  JSON.stringify({ packages: { '': { name: 'x' }, ...packages } });
const hidden = (packages: object): string => JSON.stringify({ packages });
const one = { 'node_modules/a': { version: '1.0.0', integrity: 'sha512-1' } };

it.each<[string, object, object, boolean]>([
  ['all of it is there', one, one, true],
  ['a package is missing', one, {}, false],
  ['a package has another version', one, { 'node_modules/a': { version: '1.0.1' } }, false],
  ['a package is there that is not asked for', {}, one, false],
  [
    'only what belongs to another platform is missing',
    { ...one, 'node_modules/b': { version: '1.0.0', optional: true } },
    one,
    true,
  ],
])('%s', (_what, wanted, present, is) => {
  expect(isInstalled(lock(wanted), hidden(present))).toBe(is);
});

it('is true of what this runs with, which `npm ci` has installed', async () => {
  const read = (file: string) => readFile(new URL(`../../${file}`, import.meta.url), 'utf8');
  expect(
    isInstalled(await read('package-lock.json'), await read('node_modules/.package-lock.json')),
  ).toBe(true);
});
