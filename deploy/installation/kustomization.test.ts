import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { manifestsOf } from './kustomization.ts';

describe('a kustomization', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kustomization-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const object = (kind: string) => ({ apiVersion: 'v1', kind, metadata: { name: 'a' } });
  const write = (name: string, ...documents: object[]): void =>
    writeFileSync(join(folder, name), documents.map((one) => JSON.stringify(one)).join('\n---\n'));
  const kustomization = (more: object): void =>
    write('kustomization.yaml', { apiVersion: 'v1', kind: 'Kustomization', ...more });

  it('gives its namespace and labels to all that it installs', () => {
    write('a.yaml', object('Service'));
    kustomization({ namespace: 'n', labels: [{ pairs: { l: 'v' } }], resources: ['a.yaml'] });
    expect(manifestsOf(folder).map(({ metadata }) => metadata)).toEqual([
      { name: 'a', namespace: 'n', labels: { l: 'v' } },
    ]);
  });

  it('is an error when it uses more than this reads, not another installation', () => {
    write('a.yaml', object('Service'));
    kustomization({ namePrefix: 'x-', resources: ['a.yaml'] });
    expect(() => manifestsOf(folder)).toThrow('namePrefix');
  });
});
