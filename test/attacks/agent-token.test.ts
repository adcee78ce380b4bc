/**
 * What the thief of a CNF pod's service account token can do: it reads the rules of its namespace, and nothing else. The token for reports
 * is of another audience: test/integration/coordinator/spoofing.test.ts and test/attacks/forged-report.test.ts.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKubeClient, type KubeClient, type Patch } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { firewallRule } from '#shared/resources/rules/firewall-rule.ts';
import { podResource } from '../../coordinator/cnf/workload.ts';
import { inNamespace, rule } from '../stack/rules.ts';
import { createWorld, eventually, type World } from '../integration/admission/world.ts';

let world: World;
let edge: string;
let other: string;
let stolen: string;
let thief: KubeClient;
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
  thief = createKubeClient({ config: await loadKubeConfig({ kubeconfig: stolen }) });
});
afterAll(async () => {
  await thief.close();
  await world.close();
});

const attempt = async (...args: string[]): Promise<string> => {
  const { code, stderr } = await world.kubectl('--kubeconfig', stolen, ...args);
  if (code === 0) return 'done';
  return /forbidden/i.test(stderr) ? 'forbidden' : stderr;
};

it('can read all rules of its namespace, of other CNFs too, with the keys that IPsec rules contain', async () => {
  await eventually(() => attempt('get', 'ipsechosts', '-n', edge)).toBe('done');
  expect(await attempt('get', 'firewallrules', '-n', edge)).toBe('done');
});

it.each<[string, () => string[]]>([
  ['read rules of another namespace', () => ['get', 'firewallrules', '-n', other]],
  ['read rules of all namespaces', () => ['get', 'firewallrules', '-A']],
  ['read the CNFStatus of other CNFs', () => ['get', 'cnfstatuses', '-n', edge]],
  ['read Secrets', () => ['get', 'secrets', '-n', edge]],
  ['read pods', () => ['get', 'pods', '-n', edge]],
  ['make tokens, of itself or others', () => ['create', 'token', 'cnf', '-n', edge]],
])('cannot %s', async (_, given) => {
  expect(await attempt(...given())).toBe('forbidden');
});

const patch: Patch = { type: 'merge', body: { metadata: { labels: { x: 'y' } } } };
const enforcements: ResourceType = {
  group: 'network.sdewan.akraino.org',
  version: 'v1alpha1',
  plural: 'policyenforcements',
  kind: 'PolicyEnforcement',
  schema: objectSchema,
};
const x = () => ({ namespace: edge, name: 'x' });
const made = () => inNamespace(rule('FirewallRule', 'x', { src: '*', target: 'REJECT' }), edge);

/** By requests alone: kubectl reads before it writes, and would be refused for that. */
it.each<[string, string, () => Promise<unknown>]>([
  ['make a rule', 'create resource "firewallrules"', () => thief.create(firewallRule, made())],
  [
    'change a rule',
    'patch resource "firewallrules"',
    () => thief.patch(firewallRule, x(), { patch }),
  ],
  [
    'report a rule as in sync',
    'patch resource "firewallrules/status"',
    () => thief.patch(firewallRule, x(), { patch, subresource: 'status' }),
  ],
  ['delete a rule', 'delete resource "firewallrules"', () => thief.delete(firewallRule, x())],
  [
    'let packets through that a NetworkPolicy forbids',
    'patch resource "policyenforcements"',
    () => thief.patch(enforcements, x(), { patch }),
  ],
  [
    'delete what is enforced',
    'delete resource "policyenforcements"',
    () => thief.delete(enforcements, x()),
  ],
  [
    'change its pod',
    'patch resource "pods"',
    () => thief.patch(podResource, { namespace: edge, name: 'cnf' }, { patch }),
  ],
])('cannot %s', async (_, what, write) => {
  await expect(write()).rejects.toThrow(`cannot ${what}`);
});
