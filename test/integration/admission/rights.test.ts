/** What the service accounts may do, nothing more: as golden lists, and tried by somebody who holds the coordinator's token. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubectlResult } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { firewallDnat } from '#shared/resources/rules/firewall-dnat.ts';
import { createWorld, eventually, type World } from './world.ts';

const GOLDEN = join(import.meta.dirname, '../../golden/rights');

let world: World;
let namespace: string;
/** A namespace in which the coordinator may roll CNFs. */
let rolling: string;
let stolen: string;
beforeAll(async () => {
  world = await createWorld();
  namespace = await world.createNamespace();
  rolling = await world.createNamespace();
  stolen = await world.kubeconfigOf(world.systemNamespace, 'sdewan-coordinator');
  await world.apply([
    pod('by-default', 'default'),
    binding({
      name: 'sdewan-fleet',
      namespace: rolling,
      role: { name: `sdewan-fleet-${world.systemNamespace}` },
      subjects: [
        { kind: 'ServiceAccount', name: 'sdewan-coordinator', namespace: world.systemNamespace },
      ],
    }),
    account('cnf'),
    pod('by-cnf', 'cnf'),
    binding({
      name: 'viewer',
      role: { name: `sdewan-viewer-${world.systemNamespace}` },
      subjects: [{ kind: 'ServiceAccount', name: 'viewer', namespace }],
    }),
    binding({
      name: 'debug',
      role: { name: `sdewan-debug-${world.systemNamespace}` },
      subjects: [{ kind: 'ServiceAccount', name: 'debug', namespace }],
    }),
  ]);
});
afterAll(() => world.close());

const account = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace },
});
const pod = (name: string, serviceAccountName: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { sdewanPurpose: 'cnf-1' } },
  spec: { serviceAccountName, containers: [{ name: 'openwrt', image: 'none' }] },
});

/** The list of `kubectl auth can-i --list`, sorted, without what every user of a cluster may do. */
const rightsOf = async (inNamespace: string, user: string, groups: string): Promise<string> => {
  const { stdout } = await world.kubectl(
    'auth',
    'can-i',
    '--list',
    '-n',
    inNamespace,
    '--as',
    user,
    '--as-group',
    groups,
  );
  const lines = stdout.split('\n').filter((line) => line.trim() !== '' && !EVERYBODY.test(line));
  const text = `${lines
    .map((line) => inOrder(line.replaceAll(/ {2,}/g, '  ').trimEnd()))
    .sort()
    .join('\n')}\n`;
  return text
    .replaceAll(world.systemNamespace, 'sdewan-system')
    .replaceAll('sdewan-coordinator-sdewan-system', 'sdewan-coordinator');
};
/** kubectl joins the verbs of several rules in the order in which it comes to them. */
const inOrder = (line: string): string =>
  line.replace(/\[([a-z ]*)\]$/, (_all, verbs: string) => `[${verbs.split(' ').sort().join(' ')}]`);
const EVERYBODY =
  /^(Resources|selfsubject|clustertrustbundles|componentstatuses|podcertificate)|\[\/|system:service-account-issuer/;

/** As an operator whose pods have ports in Neutron binds it, by the command of docs/policies.md. */
const withNeutron = async (use: () => Promise<void>): Promise<void> => {
  const { systemNamespace, kubectl } = world;
  const name = `sdewan-neutron-${systemNamespace}`;
  const coordinator = `--serviceaccount=${systemNamespace}:sdewan-coordinator`;
  const role = `--clusterrole=${name}`;
  expect(await kubectl('create', 'clusterrolebinding', name, role, coordinator)).toMatchObject({
    code: 0,
  });
  try {
    await use();
  } finally {
    await kubectl('delete', 'clusterrolebinding', name);
  }
};

describe('rights', () => {
  it.each([
    ['coordinator', 'in its own namespace', 'coordinator-own-namespace'],
    ['coordinator', 'elsewhere', 'coordinator'],
    ['coordinator', 'where an operator lets it roll CNFs', 'coordinator-fleet'],
    ['cnf', 'of an agent', 'agent'],
    ['default', 'of an agent that runs as service account default', 'agent-as-default'],
    ['viewer', 'of somebody who looks', 'viewer'],
    ['debug', 'of somebody who asks the agents', 'debug'],
    ['other', 'of a service account without CNF', 'other'],
  ])('%s %s', async (who, _where, file) => {
    const [owner, name] =
      who === 'coordinator' ? [world.systemNamespace, 'sdewan-coordinator'] : [namespace, who];
    const where =
      { 'coordinator-own-namespace': owner, 'coordinator-fleet': rolling }[file] ?? namespace;
    await eventually(
      async () => (await world.kubectl('get', 'rolebinding', '-n', namespace, '-o', 'json')).stdout,
    ).toMatch(/"name": "cnf"[\s\S]*"name": "default"/);
    const user = `system:serviceaccount:${owner}:${name}`;
    expectGolden(file, await rightsOf(where, user, 'system:authenticated'));
  });

  it('coordinator where an operator lets it enforce policies in Neutron', () =>
    withNeutron(async () => {
      const user = `system:serviceaccount:${world.systemNamespace}:sdewan-coordinator`;
      await eventually(() => rightsOf(namespace, user, 'system:authenticated')).toMatch(
        /^pods .*\bpatch\b/m,
      );
      const rights = await rightsOf(namespace, user, 'system:authenticated');
      expectGolden('coordinator-neutron', rights);
      // One verb more than elsewhere.
      const elsewhere = readFileSync(join(GOLDEN, 'coordinator.txt'), 'utf8').split('\n');
      expect(rights.split('\n').filter((line) => !elsewhere.includes(line))).toEqual([
        'pods  []  []  [get list patch watch]',
      ]);
    }));
});

const expectGolden = (file: string, rights: string): void => {
  const path = join(GOLDEN, `${file}.txt`);
  if (process.env['UPDATE']) writeFileSync(path, rights);
  expect(rights).toBe(readFileSync(path, 'utf8'));
};

const binding = (some: {
  name?: string;
  role?: object;
  subjects?: object[];
  namespace?: string;
}): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: some.name ?? 'sdewan-agent', namespace: some.namespace ?? namespace },
  roleRef: {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: 'sdewan-agent',
    ...some.role,
  },
  subjects: some.subjects ?? [{ kind: 'ServiceAccount', name: 'cnf', namespace }],
});

describe('with the token of the coordinator, nobody can', () => {
  /** As the thief. */
  const attempt = (object: object): Promise<KubectlResult> =>
    world.cluster.kubectl(['--kubeconfig', stolen, 'create', '-f', '-', '--validate=false'], {
      stdin: JSON.stringify(object),
      allowFailure: true,
    });
  const mine = async (): Promise<string> => world.createNamespace();

  it.each<[string, () => Promise<object> | object, RegExp]>([
    [
      'bind another role',
      async () => binding({ namespace: await mine(), role: { name: 'view' } }),
      /attempting to grant|may bind no roles except/,
    ],
    [
      'bind its own role',
      async () =>
        binding({
          namespace: await mine(),
          role: { name: `sdewan-coordinator-${world.systemNamespace}` },
        }),
      /may bind no roles except/,
    ],
    [
      'bind under another name',
      async () => binding({ namespace: await mine(), name: 'mine' }),
      /may write no RoleBindings except/,
    ],
    [
      'bind the role of keys under the name of the other',
      async () => binding({ namespace: await mine(), role: { name: 'sdewan-agent-keys' } }),
      /may bind no roles except/,
    ],
    [
      'bind a Role of the same name',
      async () => binding({ namespace: await mine(), role: { kind: 'Role' } }),
      /not found|may bind no roles except|attempting to grant/,
    ],
    [
      'bind a service account of another namespace',
      async () => binding({ namespace: await mine() }),
      /same namespace only/,
    ],
    [
      'bind a user',
      async () =>
        binding({
          namespace: await mine(),
          subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'thief' }],
        }),
      /same namespace only/,
    ],
    [
      'bind a group',
      async () =>
        binding({
          namespace: await mine(),
          subjects: [
            { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' },
          ],
        }),
      /same namespace only/,
    ],
    [
      'bind keys to service account default',
      async () => {
        const target = await mine();
        return binding({
          namespace: target,
          name: 'sdewan-agent-keys',
          role: { name: 'sdewan-agent-keys' },
          subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: target }],
        });
      },
      /default may not read keys/,
    ],
    [
      'bind in the whole cluster',
      () => ({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: `thief-${namespace}` },
        roleRef: {
          apiGroup: 'rbac.authorization.k8s.io',
          kind: 'ClusterRole',
          name: 'sdewan-agent',
        },
        subjects: [{ kind: 'ServiceAccount', name: 'cnf', namespace }],
      }),
      /cannot create resource "clusterrolebindings"/,
    ],
    [
      'make a role',
      () => ({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: `thief-${namespace}` },
        rules: [],
      }),
      /cannot create resource "clusterroles"/,
    ],
    [
      'make another ConfigMap',
      async () => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'kube-root-ca.crt2', namespace: await mine() },
        data: { 'ca.crt': 'x' },
      }),
      /may write no ConfigMaps except/,
    ],
    [
      'put something else into its ConfigMap',
      async () => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'sdewan-coordinator-ca', namespace: await mine() },
        data: { 'run.sh': 'x' },
      }),
      /may contain ca\.crt only/,
    ],
    [
      'make a Secret for the token of another service account',
      () => ({
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'kubernetes.io/service-account-token',
        metadata: {
          name: 'thief',
          namespace: world.systemNamespace,
          annotations: { 'kubernetes.io/service-account.name': 'default' },
        },
      }),
      /may write no Secrets except/,
    ],
    [
      'make a Secret elsewhere',
      async () => ({
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'Opaque',
        metadata: { name: 'sdewan-coordinator-tls', namespace: await mine() },
      }),
      /cannot create resource "secrets"/,
    ],
    [
      'make another Lease',
      () => ({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'another', namespace: world.systemNamespace },
      }),
      /may create no Leases except/,
    ],
    [
      'make a pod',
      async () => ({
        ...pod('thief', 'default'),
        metadata: { name: 'thief', namespace: await mine() },
      }),
      /cannot create resource "pods"/,
    ],
    [
      'make a rule',
      async () => ({
        apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
        kind: 'FirewallZone',
        metadata: { name: 'a', namespace: await mine(), labels: { sdewanPurpose: 'x' } },
        spec: { network: ['a'] },
      }),
      /cannot create resource "firewallzones"/,
    ],
    [
      'make a rule that does not say where it comes from',
      async () => ({
        apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
        kind: 'FirewallDNAT',
        metadata: { name: 'a', namespace: await mine(), labels: { sdewanPurpose: 'x' } },
        spec: { src: 'wan', proto: 'tcp', src_dport: '22', dest_ip: '10.0.0.1' },
      }),
      /may create and delete no rules except those with its label/,
    ],
  ])('%s', async (_what, object, words) => {
    const { code, stderr } = await attempt(await object());
    expect(stderr).toMatch(words);
    expect(code).not.toBe(0);
  });

  it('change or delete a rule that somebody else made', async () => {
    const place = await mine();
    await world.client.create(firewallDnat, {
      apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
      kind: 'FirewallDNAT',
      metadata: {
        name: 'theirs',
        namespace: place,
        labels: { sdewanPurpose: 'x' },
        annotations: { 'sdewan.akraino.org/references': 'off' },
      },
      spec: { src: 'wan', proto: 'tcp', src_dport: '22', dest_ip: '10.0.0.1' },
    });
    const asThief = (...args: string[]) =>
      world.cluster.kubectl(['--kubeconfig', stolen, '-n', place, ...args], { allowFailure: true });
    const spec = JSON.stringify({ spec: { dest_ip: '10.0.0.2' } });
    const changed = await asThief('patch', 'fwdnat', 'theirs', '--type=merge', '-p', spec);
    expect(changed.stderr).toMatch(/may change the spec of no rules except those with its label/);
    const deleted = await asThief('delete', 'fwdnat', 'theirs');
    expect(deleted.stderr).toMatch(/may create and delete no rules except those with its label/);
    const metadata = JSON.stringify({ metadata: { annotations: { a: 'b' } } });
    const annotated = await asThief('patch', 'fwdnat', 'theirs', '--type=merge', '-p', metadata);
    expect(annotated.stderr).toMatch(
      /may change no annotation except .* of rules without its label/,
    );
  });

  it('change what a binding of its own binds', async () => {
    const { stderr, code } = await world.cluster.kubectl(
      [
        '--kubeconfig',
        stolen,
        'patch',
        'rolebinding',
        'sdewan-agent',
        '-n',
        namespace,
        '--type=json',
        '-p',
        JSON.stringify([
          {
            op: 'add',
            path: '/subjects/-',
            value: { kind: 'ServiceAccount', name: 'default', namespace: 'kube-system' },
          },
        ]),
      ],
      { allowFailure: true },
    );
    expect([code !== 0, stderr]).toEqual([true, expect.stringContaining('same namespace only')]);
    const replaced = await world.cluster.kubectl(['--kubeconfig', stolen, 'replace', '-f', '-'], {
      stdin: JSON.stringify(
        binding({
          subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'kube-system' }],
        }),
      ),
      allowFailure: true,
    });
    expect([replaced.code !== 0, replaced.stderr]).toEqual([
      true,
      expect.stringMatching(/cannot update resource/),
    ]);
  });

  it.each([
    [
      'delete another RoleBinding',
      ['delete', 'rolebinding', 'someone-elses'],
      /cannot delete resource|not found/,
    ],
    ['read Secrets', ['get', 'secrets'], /cannot list resource "secrets"/],
    ['read ConfigMaps', ['get', 'configmaps'], /cannot list resource "configmaps"/],
    [
      'run something in a pod',
      ['exec', 'by-cnf', '--', 'id'],
      /cannot (create|get) resource "pods\/exec"/,
    ],
    ['get a token', ['create', 'token', 'cnf'], /cannot create resource "serviceaccounts\/token"/],
    [
      'change the policy that holds it',
      ['delete', 'validatingadmissionpolicy', 'sdewan-purpose'],
      /cannot delete resource/,
    ],
    [
      'make webhooks of other names',
      ['delete', 'mutatingwebhookconfiguration', 'other'],
      /cannot delete resource/,
    ],
  ])('%s', async (_what, args, words) => {
    const [verb = '', ...rest] = args;
    const { code, stderr } = await world.cluster.kubectl(
      ['--kubeconfig', stolen, '-n', namespace, verb, ...rest],
      { allowFailure: true },
    );
    expect(stderr).toMatch(words);
    expect(code).not.toBe(0);
  });
});

it('opens the keys to service account default only where the namespace says so', async () => {
  const opted = await world.createNamespace({
    'sdewan.akraino.org/default-service-account-reads-keys': 'true',
  });
  const made = await world.apply([
    {
      ...pod('p', 'default'),
      metadata: { name: 'p', namespace: opted, labels: { sdewanPurpose: 'cnf-1' } },
    },
  ]);
  expect(made).toMatchObject({ code: 0 });
  await eventually(
    async () => (await world.kubectl('get', 'rolebinding', 'sdewan-agent-keys', '-n', opted)).code,
  ).toBe(0);
  const seen = await world.kubectl('get', 'pod', 'p', '-n', opted, '-o', 'json');
  expect(seen.stdout).not.toContain('SDEWAN_WITHOUT_KINDS');
  const other = await world.kubectl('get', 'pod', 'by-default', '-n', namespace, '-o', 'json');
  expect(other.stdout).toContain('SDEWAN_WITHOUT_KINDS');
});

it('takes rights and CA away with the last CNF', async () => {
  const place = await world.createNamespace();
  await world.apply([
    {
      ...pod('p', 'default'),
      metadata: { name: 'p', namespace: place, labels: { sdewanPurpose: 'cnf-1' } },
    },
  ]);
  const bound = async () =>
    (await world.kubectl('get', 'rolebinding', '-n', place, '-o', 'name')).stdout;
  await eventually(bound).toContain('sdewan-agent');
  await world.kubectl('delete', 'pod', 'p', '-n', place, '--force', '--grace-period=0');
  await eventually(bound).toBe('');
});

describe('everybody else can, as RBAC says,', () => {
  it.each(['ConfigMap', 'Secret'])('make a %s of any name', async (kind) => {
    const object = { apiVersion: 'v1', kind, metadata: { name: 'of-an-operator', namespace } };
    expect(await world.apply([object])).toMatchObject({ code: 0, stderr: '' });
  });
});
