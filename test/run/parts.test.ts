/** No file of the product names a part of the device beside its packages but the one that says what it is: all others go over the list. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { partsBeside } from '#shared/resources/parts.ts';
import { productFiles, ROOT } from './product-files.ts';

const HOME = 'shared/resources/device-files.ts';

it('nothing names the part of files outside its home', () => {
  const names = ['DEVICE_FILES', ...partsBeside.map(({ name }) => name)];
  const naming = productFiles().filter((file) => {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    return names.some((name) => text.includes(name));
  });
  expect(naming).toEqual([HOME]);
});

it('only the list names the parts that are read and written over ubus', () => {
  const importing = productFiles().filter(
    (file) =>
      file.startsWith('agent/') &&
      /\bfrom '(\.|\..*\/parts)\/(files|packages)\.ts'/.test(
        readFileSync(path.join(ROOT, file), 'utf8'),
      ),
  );
  expect(importing).toEqual(['agent/device/parts/parts.ts']);
});
