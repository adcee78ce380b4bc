import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import { LICENSES_FILE, packagesOf, SBOM_FILE, sbomOf, writeSbom } from './sbom.ts';

const ROOT = join(import.meta.dirname, '../..');
const LOCKFILE = join(ROOT, 'package-lock.json');
const FILES = ['agent/main.ts', 'node_modules/zod/index.js', 'node_modules/zod/v4/core/core.js'];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sbom-'));
});
afterEach(() => rm(folder, { recursive: true }));

const componentsSchema = z.object({
  components: z.array(z.looseObject({ purl: z.string(), hashes: z.unknown() })),
});

it('names each package of the bundle once, with version, licence and the hash of the lockfile', async () => {
  const packages = await packagesOf(
    FILES.map((file) => join(ROOT, file)),
    LOCKFILE,
  );
  expect(packages).toEqual([
    {
      folder: expect.stringMatching(/node_modules\/zod$/),
      name: 'zod',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      license: 'MIT',
      sha512: expect.stringMatching(/^[0-9a-f]{128}$/),
    },
  ]);
});

it('writes packages with a scope as a purl does, and licences of a choice as an expression', () => {
  const some = { folder: '', version: '1.0.0', sha512: undefined };
  const sbom = sbomOf('agent', [
    { ...some, name: '@scope/one', license: '(MIT OR Apache-2.0)' },
    { ...some, name: 'two', license: undefined },
  ]);
  expect(sbom).toMatchObject({
    bomFormat: 'CycloneDX',
    components: [
      { purl: 'pkg:npm/%40scope/one@1.0.0', licenses: [{ expression: '(MIT OR Apache-2.0)' }] },
      { purl: 'pkg:npm/two@1.0.0' },
    ],
  });
});

it('is the same for the same bundle, with the texts of licences beside it', async () => {
  const read = async (): Promise<string[]> => {
    await writeSbom(
      folder,
      'agent',
      FILES.map((file) => join(ROOT, file)),
    );
    const files = [SBOM_FILE, LICENSES_FILE].map((file) => readFile(join(folder, file), 'utf8'));
    return Promise.all(files);
  };
  const first = await read();
  expect(await read()).toEqual(first);
  const [sbom = '', licenses] = first;
  expect(componentsSchema.parse(JSON.parse(sbom)).components).toHaveLength(1);
  expect(licenses).toContain('Permission is hereby granted');
});
