import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorld, eventually, type World } from './world.ts';

let world: World;
let namespace: string;
beforeAll(async () => {
  world = await createWorld();
  namespace = await world.createNamespace();
});
afterAll(() => world.close());

const rule = (kind: string, name: string, spec: object, metadata: object = {}): object => ({
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind,
  metadata: { name, namespace, labels: { sdewanPurpose: 'cnf-1' }, ...metadata },
  spec,
});

it('answers through the real API server: denied, allowed, held, used', async () => {
  const reject = rule('FirewallRule', 'reject-80', { src: 'lan1', target: 'REJECT' });
  const denied = await world.apply([reject]);
  expect(denied.stderr).toContain('spec.src: FirewallZone lan1 does not exist for purpose cnf-1');
  const both = await world.apply([rule('FirewallZone', 'lan1', { network: ['a'] }), reject]);
  expect(both).toMatchObject({ code: 0 });
  const held = await world.kubectl(
    'get',
    'firewallrule',
    'reject-80',
    '-n',
    namespace,
    '-o',
    'json',
  );
  expect(held.stdout).toContain('sdewan.akraino.org/agents');
  const used = await world.kubectl('delete', 'firewallzone', 'lan1', '-n', namespace);
  expect(used.stderr).toContain('used by FirewallRule reject-80');
});

it('takes a folder in any order: in two goes, or in one where references only warn', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'folder-'));
  const write = (file: string, object: object): Promise<void> =>
    writeFile(join(folder, file), JSON.stringify(object));
  const src = { src: 'lan2', target: 'REJECT' };
  await write('a.json', rule('FirewallRule', 'reject-81', src));
  await write('b.json', rule('FirewallZone', 'lan2', { network: ['a'] }));
  const first = await world.kubectl('apply', '-f', folder);
  expect([first.code, first.stderr]).toEqual([1, expect.stringContaining('FirewallZone lan2')]);
  expect(await world.kubectl('apply', '-f', folder)).toMatchObject({ code: 0 });
  const warn = { annotations: { 'sdewan.akraino.org/references': 'warn' } };
  const own = { name: 'reject-82', namespace, labels: { sdewanPurpose: 'cnf-1' }, ...warn };
  await write('a.json', rule('FirewallRule', 'reject-82', { ...src, src: 'lan3' }, own));
  await write('b.json', rule('FirewallZone', 'lan3', { network: ['b'] }));
  const atOnce = await world.kubectl('apply', '-f', folder);
  expect([atOnce.code, atOnce.stderr]).toEqual([
    0,
    expect.stringContaining('Warning: spec.src: FirewallZone lan3 does not exist'),
  ]);
  await rm(folder, { recursive: true });
});

it('injects a pod and serves its namespace', async () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'cnf', namespace, labels: { sdewanPurpose: 'cnf-1' } },
    spec: { containers: [{ name: 'openwrt', image: 'none' }] },
  };
  const made = await world.apply([pod]);
  expect(made).toMatchObject({ code: 0 });
  const seen = await world.kubectl('get', 'pod', 'cnf', '-n', namespace, '-o', 'json');
  expect(seen.stdout).toContain('sdewan-agent');
  await eventually(
    async () => (await world.kubectl('get', 'rolebinding,configmap', '-n', namespace)).stdout,
  ).toMatch(/rolebinding.*sdewan-agent[\s\S]*sdewan-coordinator-ca/);
});
