/**
 * What the service accounts may do, nothing more, as golden lists; what policies take from that:
 * `test/e2e/policies.test.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFixture, type Fixture } from './fixture.ts';
import { eventually } from '../support/eventually.ts';

const GOLDEN = join(import.meta.dirname, '../../golden/rights');

let fixture: Fixture;
let namespace: string;
/** A namespace in which the coordinator may roll CNFs. */
let rolling: string;
beforeAll(async () => {
  fixture = await createFixture();
  namespace = await fixture.createNamespace();
  rolling = await fixture.createNamespace();
  await fixture.apply([
    pod('by-default', 'default'),
    binding({
      name: 'sdewan-fleet',
      namespace: rolling,
      role: { name: `sdewan-fleet-${fixture.systemNamespace}` },
      subjects: [
        { kind: 'ServiceAccount', name: 'sdewan-coordinator', namespace: fixture.systemNamespace },
      ],
    }),
    account('cnf'),
    pod('by-cnf', 'cnf'),
    binding({
      name: 'viewer',
      role: { name: `sdewan-viewer-${fixture.systemNamespace}` },
      subjects: [{ kind: 'ServiceAccount', name: 'viewer', namespace }],
    }),
    binding({
      name: 'debug',
      role: { name: `sdewan-debug-${fixture.systemNamespace}` },
      subjects: [{ kind: 'ServiceAccount', name: 'debug', namespace }],
    }),
  ]);
});
afterAll(() => fixture.close());

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
  const { stdout } = await fixture.kubectl(
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
    .replaceAll(fixture.systemNamespace, 'sdewan-system')
    .replaceAll('sdewan-coordinator-sdewan-system', 'sdewan-coordinator');
};
/** kubectl joins the verbs of several rules in the order in which it comes to them. */
const inOrder = (line: string): string =>
  line.replace(/\[([a-z ]*)\]$/, (_all, verbs: string) => `[${verbs.split(' ').sort().join(' ')}]`);
const EVERYBODY =
  /^(Resources|selfsubject|clustertrustbundles|componentstatuses|podcertificate)|\[\/|system:service-account-issuer/;

/** As an operator binds it, by the commands of docs/policies.md and docs/network-ports.md. */
const withRole = async (role: string, use: () => Promise<void>): Promise<void> => {
  const { systemNamespace, kubectl } = fixture;
  const name = `${role}-${systemNamespace}`;
  const coordinator = `--serviceaccount=${systemNamespace}:sdewan-coordinator`;
  const bound = `--clusterrole=${name}`;
  expect(await kubectl('create', 'clusterrolebinding', name, bound, coordinator)).toMatchObject({
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
      who === 'coordinator' ? [fixture.systemNamespace, 'sdewan-coordinator'] : [namespace, who];
    const where =
      { 'coordinator-own-namespace': owner, 'coordinator-fleet': rolling }[file] ?? namespace;
    await eventually(
      async () =>
        (await fixture.kubectl('get', 'rolebinding', '-n', namespace, '-o', 'json')).stdout,
    ).toMatch(/"name": "cnf"[\s\S]*"name": "default"/);
    const user = `system:serviceaccount:${owner}:${name}`;
    expectGolden(file, await rightsOf(where, user, 'system:authenticated'));
  });

  it.each([
    ['enforce policies in Neutron', 'sdewan-neutron', 'coordinator-neutron', []],
    [
      'give pods addresses',
      'sdewan-network-ports',
      'coordinator-network-ports',
      [
        'network-attachment-definitions.k8s.cni.cncf.io  []  []  [get]',
        'portaddresses.permissions.sdewan.akraino.org  []  []  [assign]',
      ],
    ],
  ])('coordinator where an operator lets it %s', (_, role, file, others) =>
    withRole(role, async () => {
      const user = `system:serviceaccount:${fixture.systemNamespace}:sdewan-coordinator`;
      await eventually(() => rightsOf(namespace, user, 'system:authenticated')).toMatch(
        /^pods .*\bpatch\b/m,
      );
      const rights = await rightsOf(namespace, user, 'system:authenticated');
      expectGolden(file, rights);
      // No more than that beyond what it has elsewhere.
      const elsewhere = readFileSync(join(GOLDEN, 'coordinator.txt'), 'utf8').split('\n');
      expect(rights.split('\n').filter((line) => !elsewhere.includes(line))).toEqual(
        [...others, 'pods  []  []  [get list patch watch]'].toSorted(),
      );
    }),
  );
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

it('opens the keys to service account default only where the namespace says so', async () => {
  const opted = await fixture.createNamespace({
    'sdewan.akraino.org/default-service-account-reads-keys': 'true',
  });
  const made = await fixture.apply([
    {
      ...pod('p', 'default'),
      metadata: { name: 'p', namespace: opted, labels: { sdewanPurpose: 'cnf-1' } },
    },
  ]);
  expect(made).toMatchObject({ code: 0 });
  await eventually(
    async () =>
      (await fixture.kubectl('get', 'rolebinding', 'sdewan-agent-keys', '-n', opted)).code,
  ).toBe(0);
  const seen = await fixture.kubectl('get', 'pod', 'p', '-n', opted, '-o', 'json');
  expect(seen.stdout).not.toContain('SDEWAN_WITHOUT_KINDS');
  const other = await fixture.kubectl('get', 'pod', 'by-default', '-n', namespace, '-o', 'json');
  expect(other.stdout).toContain('SDEWAN_WITHOUT_KINDS');
});

it('takes rights and CA away with the last CNF', async () => {
  const place = await fixture.createNamespace();
  await fixture.apply([
    {
      ...pod('p', 'default'),
      metadata: { name: 'p', namespace: place, labels: { sdewanPurpose: 'cnf-1' } },
    },
  ]);
  const bound = async () =>
    (await fixture.kubectl('get', 'rolebinding', '-n', place, '-o', 'name')).stdout;
  await eventually(bound).toContain('sdewan-agent');
  await fixture.kubectl('delete', 'pod', 'p', '-n', place, '--force', '--grace-period=0');
  await eventually(bound).toBe('');
});

describe('everybody else can, as RBAC says,', () => {
  it.each(['ConfigMap', 'Secret'])('make a %s of any name', async (kind) => {
    const object = { apiVersion: 'v1', kind, metadata: { name: 'of-an-operator', namespace } };
    expect(await fixture.apply([object])).toMatchObject({ code: 0, stderr: '' });
  });
});
