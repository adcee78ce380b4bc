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
