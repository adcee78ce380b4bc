import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import { runtimeSbomOf } from './runtime-sbom.ts';

const PROGRAM = join(import.meta.dirname, 'runtime-sbom.ts');

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'runtime-sbom-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const sbomSchema = z.object({
  components: z.array(
    z.looseObject({ type: z.string(), name: z.string(), version: z.string().optional() }),
  ),
});

it('run as in a base image, it names Node, what is compiled into it, and each file with its hash', () => {
  mkdirSync(join(root, 'lib'));
  writeFileSync(join(root, 'lib/libnone.so'), 'content');
  const output = join(root, 'app/runtime.cdx.json');
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, root, output]);
  expect({ status, stderr: stderr.toString() }).toMatchObject({ status: 0 });
  const { components } = sbomSchema.parse(JSON.parse(readFileSync(output, 'utf8')));
  expect(components).toContainEqual(
    expect.objectContaining({ name: 'node', version: process.versions.node }),
  );
  expect(components).toContainEqual(
    expect.objectContaining({ name: 'openssl', version: process.versions['openssl'] }),
  );
  expect(components.filter(({ type }) => type === 'file')).toEqual([
    expect.objectContaining({
      name: '/lib/libnone.so',
      hashes: [{ alg: 'SHA-256', content: createHash('sha256').update('content').digest('hex') }],
    }),
  ]);
});

it('packages of the base stand once, and each of their files names its own', () => {
  const owner = { type: 'deb' as const, name: 'libc6', version: '2.36-9+deb12u9' };
  const purl = 'pkg:deb/debian/libc6@2.36-9%2Bdeb12u9';
  const files = ['/lib/libc.so.6', '/lib/libm.so.6'].map((path) => ({ path, sha256: '0', owner }));
  const { components } = sbomSchema.parse(runtimeSbomOf({ node: '26.0.0' }, files));
  expect(components.map(({ name }) => name)).toEqual([
    'node',
    'libc6',
    ...files.map(({ path }) => path),
  ]);
  expect(components[1]).toMatchObject({ purl });
  expect(components[2]).toMatchObject({ properties: [{ name: 'package', value: purl }] });
});
