/**
 * Keys from Secrets, with rights on exactly these Secrets: followed, kept when they cannot be read,
 * and given to OpenWRT only.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { pemOf } from '#shared/compile/testing.ts';
import { createLogger } from '#shared/runtime/log.ts';
import { startAgent, type TestAgent } from './support/agent.ts';
import { startCoordinator, type ListeningCoordinator } from './support/coordinator.ts';
import { applyCrds } from './support/crds.ts';
import { startOpenwrt, type TestOpenwrt } from '../contract/agent/support/openwrt.ts';

/** The machine may be busy with other tests. */
const ACCOUNT = 'cnf';

let cluster: Cluster;
let namespace: string;
let openwrt: TestOpenwrt;
let coordinator: ListeningCoordinator;
let agent: TestAgent | undefined;
let logged: string[];

const apply = (...objects: object[]) =>
  cluster.kubectl(['apply', '-n', namespace, '-f', '-'], {
    stdin: objects.map((one) => JSON.stringify(one)).join('\n---\n'),
  });

const role = (name: string, rules: object[]): object[] => [
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name }, rules },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace }],
  },
];

/** As docs/drivers.md says. */
const MAY_READ_VPN = {
  apiGroups: [''],
  resources: ['secrets'],
  resourceNames: ['vpn'],
  verbs: ['get', 'list', 'watch'],
};
const MAY_READ_RULES = {
  apiGroups: ['batch.sdewan.akraino.org'],
  resources: ['*'],
  verbs: ['list', 'watch'],
};

const cr = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind,
  metadata: { name, labels: { sdewanPurpose: 'cnf-1' } },
  spec,
});
const proposal = cr('IpsecProposal', 'p1', {
  encryption_algorithm: 'aes256',
  hash_algorithm: 'sha256',
  dh_group: 'modp3072',
});
const site = (name: string, secret: string): object =>
  cr('IpsecSite', name, {
    remote: '203.0.113.9',
    authentication_method: 'psk',
    crypto_proposal: ['p1'],
    pre_shared_key_from: { name: secret, key: 'psk' },
    connections: [
      {
        name: `${name}-net`,
        conn_type: 'tunnel',
        mode: 'start',
        local_subnet: '10.1.0.0/16',
        remote_subnet: '10.2.0.0/16',
      },
    ],
  });
const secret = (name: string, psk: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: { psk, other: 'not-asked-for' },
});

const tls = (name: string, key: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: { 'tls.key': key },
});

const kubeconfigOf = async (): Promise<string> => {
  const token = await cluster.kubectl(['create', 'token', ACCOUNT, '-n', namespace]);
  const path = join(openwrt.folder, 'kubeconfig');
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'c', cluster: { server: cluster.server, 'insecure-skip-tls-verify': true } },
      ],
      users: [{ name: 'u', user: { token: token.stdout.trim() } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  return path;
};

const keyOf = (remote: string): unknown =>
  openwrt.sections('ipsec').find(({ name }) => name === remote)?.options['pre_shared_key'];

beforeEach(async () => {
  cluster = await connectCluster();
  await applyCrds(cluster);
  namespace = await cluster.createNamespace('ipsec');
  openwrt = await startOpenwrt({ time: 'real' });
  coordinator = await startCoordinator();
  logged = [];
  await apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: ACCOUNT } });
  await apply(...role('rules', [MAY_READ_RULES]), ...role('vpn', [MAY_READ_VPN]));
  agent = await startAgent({
    openwrt,
    coordinatorUrl: coordinator.url,
    kubeconfig: await kubeconfigOf(),
    namespace,
    log: createLogger({
      name: 'agent',
      level: 'trace',
      destination: { write: (line) => logged.push(line) },
    }),
  });
});

afterEach(async () => {
  await agent?.stop();
  agent = undefined;
  await coordinator.stop();
  await openwrt.stop();
});

it('go to OpenWRT, change with the Secret, and stay when it cannot be read', async () => {
  await apply(proposal, site('hub', 'vpn'), site('closed', 'not-granted'));
  await expect.poll(() => coordinator.stateOf('hub')).toBe('Pending: WaitingForSecret');
  expect(keyOf('hub')).toBeUndefined();
  await expect.poll(() => messageOf('hub')).toContain('there is no Secret vpn');
  await expect.poll(() => messageOf('closed')).toContain('no right to read Secret not-granted');

  await apply(secret('vpn', 'first-K3y'), secret('not-granted', 'hidden-K3y'));
  await expect.poll(() => coordinator.stateOf('hub')).toBe('Applied');
  expect(keyOf('hub')).toBe('first-K3y');
  expect(coordinator.stateOf('closed')).toBe('Pending: WaitingForSecret');

  await apply(secret('vpn', 'second-K3y'));
  await expect.poll(() => keyOf('hub')).toBe('second-K3y');
  await expect.poll(() => coordinator.stateOf('hub')).toBe('Applied');

  await cluster.kubectl(['delete', 'secret', 'vpn', '-n', namespace]);
  await expect.poll(() => coordinator.stateOf('hub')).toBe('Pending: WaitingForSecret');
  expect(keyOf('hub')).toBe('second-K3y');

  // The sections of a CR that goes, go with it, Secret or not.
  await cluster.kubectl(['delete', 'ipsecsite', 'hub', '-n', namespace]);
  await expect.poll(() => keyOf('hub')).toBeUndefined();

  expect(foundIn(['first-K3y', 'second-K3y', 'hidden-K3y', 'not-asked-for'])).toEqual([]);
});

it('private keys go to files of OpenWRT and nowhere else, change with the Secret, and go with the rule', async () => {
  const first = pemOf('PRIVATE KEY', 'the first private key');
  const second = pemOf('PRIVATE KEY', 'the second private key');
  const own = pemOf('CERTIFICATE', 'of this side');
  const keys = join(openwrt.simulator.rootDirectory, '/etc/ipsec.d/private');
  const held = (): string[] =>
    readdirSync(keys).map((name) => readFileSync(join(keys, name), 'utf8'));
  await apply(proposal, tls('vpn', first));
  await apply(
    cr('IpsecHost', 'road', {
      remote: '203.0.113.9',
      authentication_method: 'pubkey',
      crypto_proposal: ['p1'],
      local_public_cert: Buffer.from(own).toString('base64'),
      local_private_cert_from: { name: 'vpn', key: 'tls.key' },
      connections: [{ name: 'road-net', conn_type: 'tunnel', mode: 'start' }],
    }),
  );
  await expect.poll(() => coordinator.stateOf('road')).toBe('Applied');
  expect(held()).toEqual([first]);

  await apply(tls('vpn', second));
  await expect.poll(held).toEqual([second]);
  await expect.poll(() => coordinator.stateOf('road')).toBe('Applied');

  await apply(tls('vpn', 'no key at all'));
  await expect.poll(() => coordinator.stateOf('road')).toBe('Failed: InvalidSecret');
  expect(held()).toEqual([second]);

  await cluster.kubectl(['delete', 'ipsechost', 'road', '-n', namespace]);
  await expect.poll(held).toEqual([]);
  // By their bodies, and by what those are of.
  const secretTexts = [first, second].flatMap((pem) => pem.split('\n')[1] ?? '');
  expect(
    foundIn([...secretTexts, 'first private key', 'second private key', 'no key at all']),
  ).toEqual([]);
});

const messageOf = (rule: string): string | undefined =>
  coordinator.rules().find(({ name }) => name === rule)?.message;

/** Which of the values the agent disclosed, in any form, and where. */
const foundIn = (values: readonly string[]): string[] => {
  const stateDir = agent?.stateDir ?? '';
  const told = {
    reports: JSON.stringify(coordinator.reports),
    logs: logged.join(''),
    state: readdirSync(stateDir)
      .map((name) => readFileSync(join(stateDir, name), 'utf8'))
      .join(''),
  };
  const inAnyForm = values.flatMap((value) => [value, Buffer.from(value).toString('base64')]);
  const found = Object.entries(told).flatMap(([where, text]) =>
    inAnyForm.filter((value) => text.includes(value)).map((value) => `${value} in the ${where}`),
  );
  return [...found, ...(told.logs === '' ? ['no logs'] : [])];
};
