/** The scripts of a device, which no run without a root file system starts. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './product-files.ts';

const FOLDER = path.join(ROOT, 'test/openwrt/device');

it('find the files that they name beside themselves', () => {
  const named = globSync('*.sh', { cwd: FOLDER }).flatMap((script) =>
    [...readFileSync(path.join(FOLDER, script), 'utf8').matchAll(/\$\{?HERE\}?\/([\w./-]+)/g)].map(
      ([, file = '']) => file,
    ),
  );
  expect(named).toContain('../../../docs/drivers.md');
  expect(named.filter((file) => !existsSync(path.join(FOLDER, file)))).toEqual([]);
});
