import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readCloud } from '../../coordinator/neutron/cloud.ts';
import { bundle, MAX_BUNDLE_BYTES } from './bundle.ts';
import { LICENSES_FILE } from './licenses.ts';

const root = join(import.meta.dirname, '../..');
let folder: string;

beforeEach(async () => {
  await mkdir(join(root, 'dist'), { recursive: true });
  folder = await mkdtemp(join(root, 'dist/bundle-test-'));
});

afterEach(() => rm(folder, { recursive: true }));

it.each([
  ['agent', 1_160_000],
  ['coordinator', MAX_BUNDLE_BYTES],
])(
  'fits the %s into %i bytes, and keeps client-node out of main.mjs',
  async (program, maxBytes) => {
    const others =
      program === 'coordinator' ? { sdewan: join(root, 'coordinator/cli/main.ts') } : {};
    const size = await bundle(join(root, program, 'main.ts'), join(folder, 'out'), others);
    expect(size).toBeLessThan(maxBytes);
    const files = await readdir(join(folder, 'out'));
    expect(files).toEqual(expect.arrayContaining(['main.mjs', LICENSES_FILE]));
    expect(files.some((file) => /^config-\w+\.mjs$/.test(file))).toBe(true);
  },
);

it('reads a clouds.yaml in a bundle as without one', async () => {
  const [entry, file] = [join(folder, 'entry.ts'), join(folder, 'clouds.yaml')];
  const module = join(root, 'coordinator/neutron/cloud.ts');
  await writeFile(
    entry,
    `import { readCloud } from '${module}';\nconsole.log(JSON.stringify(await readCloud({ path: process.argv[2] ?? '' })));\n`,
  );
  await writeFile(file, 'clouds:\n  edge:\n    auth: { auth_url: "https://keystone" }\n');
  await bundle(entry, join(folder, 'out'));
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [join(folder, 'out/main.mjs'), file]);
  expect(JSON.parse(stdout)).toEqual(await readCloud({ path: file }));
});

it('refuses a bundle with all languages of zod', async () => {
  const entry = join(folder, 'entry.ts');
  await writeFile(entry, "import { z } from 'zod';\nz.string().parse('x');\n");
  await expect(bundle(entry, join(folder, 'out'))).rejects.toThrow(
    "write `import * as z from 'zod'`",
  );
});
