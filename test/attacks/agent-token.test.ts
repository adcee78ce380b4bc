/**
 * What the thief of a CNF pod's service account token can do: it reads the rules of its namespace, and nothing else. The token for reports
 * is of another audience: test/integration/coordinator/spoofing.test.ts and test/attacks/forged-report.test.ts.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorld, eventually, type World } from '../integration/admission/world.ts';

let world: World;
let edge: string;
let other: string;
let stolen: string;
beforeAll(async () => {
  world = await createWorld();
  edge = await world.createNamespace();
  other = await world.createNamespace();
  await world.apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'cnf', namespace: edge } },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'cnf', namespace: edge, labels: { sdewanPurpose: 'cnf-1' } },
      spec: { serviceAccountName: 'cnf', containers: [{ name: 'openwrt', image: 'none' }] },
    },
  ]);
  stolen = await world.kubeconfigOf(edge, 'cnf');
});
afterAll(() => world.close());

const attempt = async (...args: string[]): Promise<string> => {
  const { code, stderr } = await world.kubectl('--kubeconfig', stolen, ...args);
  if (code === 0) return 'done';
  return /forbidden/i.test(stderr) ? 'forbidden' : stderr;
};
const patch = ['--type=merge', '-p', '{"metadata": {"labels": {"x": "y"}}}', '--dry-run=server'];

it('can read all rules of its namespace, of other CNFs too, with the keys that IPsec rules contain', async () => {
  await eventually(() => attempt('get', 'ipsechosts', '-n', edge)).toBe('done');
  expect(await attempt('get', 'firewallrules', '-n', edge)).toBe('done');
});

it.each<[string, () => string[]]>([
  ['read rules of another namespace', () => ['get', 'firewallrules', '-n', other]],
  ['read rules of all namespaces', () => ['get', 'firewallrules', '-A']],
  [
    'let packets through that a NetworkPolicy forbids',
    () => ['patch', 'policyenforcement', 'x', '-n', edge, ...patch],
  ],
  ['delete what is enforced', () => ['delete', 'policyenforcement', 'x', '-n', edge]],
  ['read the CNFStatus of other CNFs', () => ['get', 'cnfstatuses', '-n', edge]],
  ['change a rule', () => ['patch', 'firewallrule', 'x', '-n', edge, ...patch]],
  [
    'report a rule as in sync',
    () => ['patch', 'firewallrule', 'x', '-n', edge, '--subresource=status', ...patch],
  ],
  ['delete a rule', () => ['delete', 'firewallrule', 'x', '-n', edge, '--dry-run=server']],
  ['read Secrets', () => ['get', 'secrets', '-n', edge]],
  ['read pods', () => ['get', 'pods', '-n', edge]],
  ['change its pod', () => ['patch', 'pod', 'cnf', '-n', edge, ...patch]],
  ['make tokens, of itself or others', () => ['create', 'token', 'cnf', '-n', edge]],
])('cannot %s', async (_, given) => {
  expect(await attempt(...given())).toBe('forbidden');
});
