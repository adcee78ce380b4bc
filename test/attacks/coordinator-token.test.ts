/**
 * What the thief of the coordinator's token can do with each of its rights: all of
 * test/golden/rights, with the worst that was found, tried on the real API server. docs/security.md
 * lists it. Nothing is stored: --dry-run=server goes through all of admission.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFixture, type Fixture } from '../integration/admission/fixture.ts';
import { rule } from '../stack/rules.ts';

const GOLDEN = path.join(import.meta.dirname, '../golden/rights');
const MARK = {
  labels: { 'app.kubernetes.io/managed-by': 'sdewan-coordinator', sdewanPurpose: 'cnf-1' },
};
const DRY = '--dry-run=server';

let fixture: Fixture;
/** Namespaces of the coordinator, and of CNFs. */
let home: string;
let edge: string;
let stolen: string;
beforeAll(async () => {
  fixture = await createFixture();
  home = fixture.systemNamespace;
  edge = await fixture.createNamespace();
  stolen = await fixture.kubeconfigOf(home, 'sdewan-coordinator');
  const finalizers = ['sdewan.akraino.org/agents'];
  const held = inEdge('FirewallZone', 'held', { network: ['net0'] }, { finalizers });
  await fixture.apply([
    held,
    inEdge('CNFNAT', 'people', NAT, { finalizers: [ICN] }),
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'theirs', namespace: home } },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'theirs', namespace: edge } },
    cnf(),
  ]);
});
afterAll(() => fixture.close());

type Fields = Readonly<Record<string, unknown>>;
const inEdge = (kind: string, name: string, spec: Fields, metadata: Fields = {}): object => ({
  ...rule(kind, name, spec),
  metadata: {
    name,
    namespace: edge,
    labels: { sdewanPurpose: 'cnf-1' },
    annotations: { 'sdewan.akraino.org/references': 'off' },
    ...metadata,
  },
});
const cnf = (): object => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'cnf', namespace: edge, labels: { sdewanPurpose: 'cnf-1' } },
  spec: {
    selector: { matchLabels: { app: 'cnf' } },
    template: {
      metadata: { labels: { app: 'cnf', sdewanPurpose: 'cnf-1' } },
      spec: { nodeSelector: { none: 'x' }, containers: [{ name: 'openwrt', image: 'none' }] },
    },
  },
});
const binding = (account: string, namespace: string): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: 'sdewan-agent-keys', namespace: edge },
  roleRef: {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: 'sdewan-agent-keys',
  },
  subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
});
const configMap = (name: string, namespace: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data: { 'ca.crt': 'x' },
});
const group = (metadata: Fields): object => ({
  apiVersion: 'network.sdewan.akraino.org/v1alpha1',
  kind: 'AddressGroup',
  metadata: { name: 'mine', namespace: edge, ...metadata },
  spec: { group: '0'.repeat(16), slice: 0, members: ['10.0.0.1'] },
});
/** ICN's controller gives it to rules of people, too. */
const ICN = 'cnfnat.finalizers.sdewan.akraino.org';
const NAT = { target: 'MASQUERADE', dest: '#default' };
const NOT_THERE = {
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind: 'CNFService',
  name: 'none',
  uid: '00000000-0000-0000-0000-000000000000',
};
const DNAT = { src: 'wan', proto: 'tcp', src_dport: '8080', dest_ip: '10.0.0.1' };

type Attempt = readonly string[] | { create: object };
type Right = {
  /** Lines of the golden files, by resource: all verbs of it. */
  of: readonly string[];
  /** What works, and is therefore listed in the docs. What does not: `test/e2e/policy-cases.ts`. */
  can: Record<string, () => Attempt>;
};

const batch = (plural: string): string => `${plural}.batch.sdewan.akraino.org`;
const network = (plural: string): string => `${plural}.network.sdewan.akraino.org`;
const fleet = (plural: string): string => `${plural}.fleet.sdewan.akraino.org`;
const rbac = (plural: string): string => `${plural}.rbac.authorization.k8s.io`;
const hooks = (kind: string): string => `${kind}webhookconfigurations.admissionregistration.k8s.io`;
const merge = (body: object): string[] => ['--type=merge', '-p', JSON.stringify(body), DRY];
const on = (target: readonly string[], change: readonly string[]): readonly string[] => [
  'patch',
  ...target,
  ...change,
];
const hook = (op: object): string[] => ['--type=json', '-p', JSON.stringify([op]), DRY];

const rights: readonly Right[] = [
  {
    of: [batch('*')],
    can: {
      'read all rules, with the keys that IPsec rules contain': () => ['get', 'ipsechosts', '-A'],
      'remove a finalizer before agents have confirmed': () =>
        on(['firewallzone', 'held', '-n', edge], merge({ metadata: { finalizers: null } })),
    },
  },
  {
    of: [`${batch('*')}/status`],
    can: {
      'report a rule as in sync': () =>
        on(
          ['firewallzone', 'held', '-n', edge, '--subresource=status'],
          merge({ status: { inSync: true } }),
        ),
    },
  },
  {
    of: ['cnfnats', 'cnfroutes', 'cnfstatuses', 'firewalldnats'].map(batch),
    can: {
      'open a port of a CNF by a rule with its label': () => ({
        create: inEdge('FirewallDNAT', 'mine', DNAT, MARK),
      }),
    },
  },
  {
    of: [
      ...['addressgroups', 'policyenforcements'].map(network),
      'networkpolicies.networking.k8s.io',
      'multi-networkpolicies.k8s.cni.cncf.io',
    ],
    can: {
      'have CNFs let through what a NetworkPolicy forbids': () => ({ create: group(MARK) }),
      'read all NetworkPolicies': () => ['get', 'networkpolicies', '-A'],
      'read the addresses that they are about': () => ['get', 'addressgroups', '-A'],
    },
  },
  {
    of: [
      ...['managednetworks', 'networkportpools', 'networkports'].map(network),
      ...['managednetworks', 'networkportpools'].map((one) => `${network(one)}/status`),
    ],
    can: {
      'use up the addresses of a network': () => ({
        create: {
          apiVersion: 'network.sdewan.akraino.org/v1alpha1',
          kind: 'NetworkPort',
          metadata: { name: 'none-1', labels: MARK.labels },
          spec: {
            network: 'none',
            index: 1,
            mac: '02:00:00:00:00:01',
            addresses: [],
            claim: { namespace: edge, pod: 'x', uid: 'x', interface: 'x' },
            managed: true,
          },
        },
      }),
      'read which pod has which address': () => ['get', 'networkports'],
    },
  },
  {
    of: [`${network('policyenforcements')}/status`],
    can: {
      'report a policy as enforced': () => [
        'auth',
        'can-i',
        'update',
        network('policyenforcements'),
        '--subresource=status',
        '-n',
        edge,
        '--quiet',
      ],
    },
  },
  {
    of: ['cnfhubsites', 'cnflocalservices', 'cnfservices'].map((one) => `${batch(one)}/finalizers`),
    can: {},
  },
  {
    of: ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'].map(rbac),
    can: {
      'read who may do what': () => ['get', 'clusterrolebindings'],
      'give a service account of a namespace the keys of that namespace': () => ({
        create: binding('build-bot', edge),
      }),
    },
  },
  {
    of: ['configmaps'],
    can: {
      'have agents of a namespace trust another CA': () => ({
        create: configMap('sdewan-coordinator-ca', home),
      }),
    },
  },
  {
    of: ['daemonsets.apps', 'deployments.apps', 'replicasets.apps', 'statefulsets.apps'],
    can: {
      'read all workloads': () => ['get', 'deployments', '-A'],
      'have the owner of CNF pods try again': () =>
        on(
          ['daemonset', 'cnf', '-n', edge],
          merge({ metadata: { annotations: { 'sdewan.akraino.org/retried-at': 'x' } } }),
        ),
    },
  },
  {
    of: ['', '/status'].map((of) => `${fleet('cnfdeployments')}${of}`),
    can: {
      'read all CNFDeployments': () => ['get', 'cnfdeployments', '-A'],
    },
  },
  {
    of: ['cnfs', 'cnfsets'].map(fleet),
    can: {
      'make up CNFSets and CNFs, and what became of them': () => ({
        create: {
          apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
          kind: 'CNF',
          metadata: { name: 'mine', namespace: edge, ...MARK },
          spec: { deployment: 'cnf-1', templateHash: 'x' },
        },
      }),
    },
  },
  {
    of: ['events'],
    can: {
      'write any text in Events': () => ({
        create: {
          apiVersion: 'v1',
          kind: 'Event',
          metadata: { name: 'false', namespace: edge },
          involvedObject: { kind: 'Pod', namespace: edge, name: 'x' },
          reason: 'False',
          message: 'x',
        },
      }),
    },
  },
  {
    of: [hooks('mutating'), hooks('validating')],
    can: {
      'stop CNF pods from starting, until the coordinator puts its CA back': () =>
        on(
          ['mutatingwebhookconfiguration', `sdewan-coordinator-${home}`],
          hook({ op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: '' }),
        ),
    },
  },
  {
    of: ['namespaces', 'nodes', 'pods', 'services'],
    can: {
      'read all nodes': () => ['get', 'nodes'],
      'read all pods, with what stands in their environment': () => ['get', 'pods', '-A'],
    },
  },
  {
    of: ['tokenreviews.authentication.k8s.io'],
    can: {
      'ask whose a token is': () => ({
        create: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          metadata: {},
          spec: { token: 'x' },
        },
      }),
    },
  },
  {
    of: ['leases.coordination.k8s.io'],
    can: {
      'lead in place of the coordinators, so that none of them writes': () => [
        'auth',
        'can-i',
        'update',
        'leases/sdewan-coordinator',
        '-n',
        home,
        '--quiet',
      ],
    },
  },
  {
    of: ['secrets'],
    can: {
      "read the CA's key, and with it answer agents and the API server in its place": () => [
        'get',
        'secret',
        'sdewan-coordinator-tls',
        '-n',
        home,
      ],
    },
  },
];

const attempt = async (given: Attempt): Promise<string> => {
  const args = 'create' in given ? ['create', '-f', '-', DRY, '--validate=false'] : given;
  const { code, stderr } = await fixture.cluster.kubectl(['--kubeconfig', stolen, ...args], {
    allowFailure: true,
    ...('create' in given && { stdin: JSON.stringify(given.create) }),
  });
  return code === 0 ? 'done' : stderr;
};

/** The garbage collector deletes what has no owner but one that is not there. */
const collected: Record<string, Fields> = {
  'mark a rule of people as its own': MARK,
  'give it an owner that is not there': { ownerReferences: [NOT_THERE] },
  "take it over as if ICN's controller had made it": { ...MARK, ownerReferences: [NOT_THERE] },
  'name it as such a one': {
    ...MARK,
    ownerReferences: [{ ...NOT_THERE, name: 'peop' }],
  },
};

describe('the thief of its token', () => {
  it.concurrent.each(Object.entries(collected))('cannot %s', async (_, metadata) => {
    const refused = await attempt(on(['cnfnat', 'people', '-n', edge], merge({ metadata })));
    expect(refused).toContain('the coordinator may ');
  });

  it.concurrent.each(rights.flatMap(({ can }) => Object.entries(can)))(
    'can %s',
    async (_, given) => {
      expect(await attempt(given())).toBe('done');
    },
  );
});

it('is tried with each right that it has', () => {
  const lines = ['coordinator', 'coordinator-own-namespace'].flatMap((file) =>
    readFileSync(path.join(GOLDEN, `${file}.txt`), 'utf8').split('\n'),
  );
  const resources = lines.map((line) => line.split(' ')[0] ?? '').filter((one) => one !== '');
  expect(new Set(rights.flatMap((right) => right.of))).toEqual(new Set(resources));
});
