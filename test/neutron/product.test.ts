/**
 * The coordinator as a process, with a real API server and a real Neutron: policies on ports of pods, what others have made, quotas, and
 * Neutron that fails. What passes is OVN's word, what was called is the gate's.
 */
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { clusterMark, prefixOf } from '../../coordinator/security-groups/names.ts';
import { createWorld, type World } from '../integration/coordinator/world.ts';
import { startNeutron, type RunningNeutron } from '../neutron-harness/neutron.ts';
import type { Fault } from '../neutron-harness/gate.ts';
import { installed, listOf } from '../stack/installation.ts';
import { createNetwork, inBothFamilies, type PodNetwork } from './network.ts';

const START_MS = 500_000;
/** Of a coordinator that backs off from a Neutron that fails, on a busy machine. */
const SETTLES = { timeout: 90_000, interval: 250 };
const PODS = ['x/a', 'x/b', 'x/c'];
const QUOTA = { groups: 10, rules: 100 };
const TCP80 = { protocol: 'TCP', port: 80 } as const;

let cluster: Cluster;
let neutron: RunningNeutron;
let world: World;
let network: PodNetwork;
let mark: string;
let namespace: string;

beforeAll(async () => {
  cluster = await connectCluster();
  neutron = await startNeutron({ database: 'mariadb', quota: QUOTA, tokenSeconds: 20 });
  const role = await installed(cluster, 'ClusterRole', 'sdewan-neutron');
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'sdewan-neutron' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'sdewan-neutron' },
    subjects: [
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:serviceaccounts' },
    ],
  };
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin: listOf([role, binding]) });
  const { stdout: uid } = await cluster.kubectl([
    'get',
    'ns',
    'kube-system',
    '-o',
    'jsonpath={.metadata.uid}',
  ]);
  mark = clusterMark(uid);
  network = await createNetwork(neutron, mark, { pods: PODS });
  world = await createWorld({
    env: {
      SDEWAN_WATCH_NAMESPACE: '',
      SDEWAN_OPENSTACK_CLOUD_FILE: neutron.cloudFile,
      SDEWAN_NEUTRON_RESYNC_MS: '1000',
    },
  });
  ({ namespace } = world);
  for (const pod of PODS) await apply(podWith(pod, portOf(pod).id));
}, START_MS);
afterAll(async () => {
  await world?.close();
  await neutron?.stop();
});
afterEach(async () => {
  neutron.gate.setFault(() => undefined);
  await cluster.kubectl(['delete', 'netpol', '--all', '-n', namespace]);
});

const apply = async (...objects: object[]): Promise<void> => {
  await cluster.kubectl(['apply', '-f', '-'], {
    stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  });
};
const nameOf = (pod: string): string => pod.split('/')[1] ?? '';
const portOf = (pod: string): { id: string; mac: string } => {
  const port = network.ports.get(pod);
  if (!port) throw new Error(`no port for ${pod}`);
  return port;
};
const podWith = (pod: string, port: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: nameOf(pod),
    namespace,
    labels: { pod: nameOf(pod) },
    annotations: { 'sdewan.akraino.org/ports': JSON.stringify([{ interface: 'eth0', port }]) },
  },
  spec: { containers: [{ name: 'main', image: 'none' }] },
});
const policy = (name: string, spec: object): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name, namespace },
  spec,
});
const A = { matchLabels: { pod: 'a' } };
const fromPods = (pod: string, ports?: object[]): object => ({
  podSelector: A,
  policyTypes: ['Ingress'],
  ingress: [{ from: [{ podSelector: { matchLabels: { pod } } }], ...(ports && { ports }) }],
});

const settled = async (...pairs: string[]): Promise<void> => {
  await expect
    .poll(() => network.denied(TCP80), SETTLES)
    .toStrictEqual(inBothFamilies(new Set(pairs)));
};
const eventsOf = async (kind: string, name: string): Promise<string> => {
  const { stdout } = await cluster.kubectl([
    'get',
    'events',
    '-n',
    namespace,
    '--field-selector',
    `involvedObject.kind=${kind},involvedObject.name=${name}`,
    '-o',
    'jsonpath={range .items[*]}{.reason}: {.message}{"\\n"}{end}',
  ]);
  return stdout;
};
type Group = {
  id: string;
  name: string;
  tags: string[];
  security_group_rules: { id: string; direction: string }[];
};
const ourGroups = async (): Promise<Group[]> => {
  const { security_groups: all } = await neutron.call<{ security_groups: Group[] }>(
    'GET',
    'security-groups',
  );
  return all.filter(({ name }) => name.startsWith(prefixOf(mark)));
};
/** Of those that are ours: none is there twice. */
const twice = async (): Promise<string[]> => {
  const names = (await ourGroups()).map(({ name }) => name);
  return names.filter((name, at) => names.indexOf(name) !== at);
};
const groupsOfPort = async (pod: string): Promise<string[]> =>
  (await neutron.call<{ port: { security_groups: string[] } }>('GET', `ports/${portOf(pod).id}`))
    .port.security_groups;

test('without a policy everything passes, and pods say which groups their ports have', async () => {
  await settled();
  await expect
    .poll(async () => {
      const { stdout } = await cluster.kubectl([
        'get',
        'pod',
        'a',
        '-n',
        namespace,
        '-o',
        'jsonpath={.metadata.annotations.sdewan\\.akraino\\.org/policy-groups}',
      ]);
      return stdout;
    }, SETTLES)
    .toBe(
      JSON.stringify([{ port: portOf('x/a').id, groups: (await groupsOfPort('x/a')).toSorted() }]),
    );
});

test('a policy holds, gets its Event, and a label that changes costs one PUT', async () => {
  await apply(policy('web', fromPods('b')));
  await settled('x/c>x/a');
  await expect
    .poll(() => eventsOf('NetworkPolicy', 'web'), SETTLES)
    .toContain('Enforced: Neutron enforces');
  const tags = (await ourGroups()).filter(({ name }) => name.includes(`${namespace}.web`));
  expect(tags).toMatchObject([
    { tags: [`sdewan/${mark}`, expect.stringMatching(/^[0-9a-f-]{36}\/IN$/)] },
  ]);

  neutron.gate.calls.length = 0;
  await cluster.kubectl(['label', 'pod', 'c', '-n', namespace, '--overwrite', 'pod=b']);
  await settled();
  expect(writes()).toEqual([`PUT /v2.0/ports/${portOf('x/c').id}`]);
  neutron.gate.calls.length = 0;
  await cluster.kubectl(['label', 'pod', 'c', '-n', namespace, '--overwrite', 'pod=c']);
  await settled('x/c>x/a');
  expect(writes()).toEqual([`PUT /v2.0/ports/${portOf('x/c').id}`]);
});

const writes = (): string[] =>
  neutron.gate.calls
    .filter(({ method }) => method !== 'GET')
    .map(({ method, path }) => `${method} ${path}`);

test('a quota: what fits works, the rest says need and limit, and works when it has grown', async () => {
  // Of ten groups one is the project's own, and three are for all ports.
  const NAMES = ['one', 'two', 'three', 'four'];
  const FULL = '(QuotaExceeded): needs 2 security groups more, and of the quota of 10 are 10 used';
  for (const name of NAMES) await apply(policy(name, fromPods(name)));
  const saidOf = async (name: string): Promise<string> => {
    const text = await eventsOf('NetworkPolicy', name);
    if (text.includes('Enforced: Neutron')) return 'enforced';
    return text.includes(FULL) ? 'refused' : text;
  };
  await expect
    .poll(async () => (await Promise.all(NAMES.map(saidOf))).toSorted(), SETTLES)
    .toEqual(['enforced', 'enforced', 'enforced', 'refused']);
  expect(await ourGroups()).toHaveLength(9);
  await neutron.setQuota({ groups: 30, rules: 200 });
  await expect.poll(async () => (await ourGroups()).length, SETTLES).toBe(11);
  await expect
    .poll(async () => new Set(await Promise.all(NAMES.map(saidOf))), SETTLES)
    .toEqual(new Set(['enforced']));
});

describe('what others have made', () => {
  test('stays, byte for byte, and is said', async () => {
    const { security_group: group } = await neutron.call<{ security_group: Group }>(
      'POST',
      'security-groups',
      {
        security_group: { name: 'theirs' },
      },
    );
    await neutron.call('POST', 'security-group-rules', {
      security_group_rule: {
        security_group_id: group.id,
        direction: 'ingress',
        ethertype: 'IPv4',
        protocol: 'tcp',
        port_range_min: 9_100,
        port_range_max: 9_100,
      },
    });
    const read = async (): Promise<string> =>
      JSON.stringify(await neutron.call('GET', `security-groups/${group.id}`));
    const before = await read();
    await neutron.call('PUT', `ports/${portOf('x/a').id}`, {
      port: { security_groups: [...(await groupsOfPort('x/a')), group.id] },
    });
    await apply(policy('web', fromPods('b')));
    await settled('x/c>x/a');
    await expect.poll(() => eventsOf('NetworkPolicy', 'web'), SETTLES).toContain('OtherGroups');
    await cluster.kubectl(['delete', 'netpol', 'web', '-n', namespace]);
    await settled();
    expect(await groupsOfPort('x/a')).toContain(group.id);
    expect(await read()).toBe(before);
    await neutron.call('PUT', `ports/${portOf('x/a').id}`, {
      port: { security_groups: (await groupsOfPort('x/a')).filter((id) => id !== group.id) },
    });
    await neutron.call('DELETE', `security-groups/${group.id}`);
  });

  test('in our groups is put right: a rule more, ten times at once, and a rule less', async () => {
    await apply(policy('web', fromPods('b')));
    await settled('x/c>x/a');
    const ofPolicy = async () =>
      (await ourGroups()).find(({ name }) => name.includes(`${namespace}.web`));
    const group = await ofPolicy();
    const rules = group?.security_group_rules.length;
    const rule = { security_group_id: group?.id, direction: 'ingress', ethertype: 'IPv4' };
    await Promise.allSettled(
      Array.from({ length: 10 }, () =>
        neutron.call('POST', 'security-group-rules', { security_group_rule: rule }),
      ),
    );
    await neutron.call('DELETE', `security-group-rules/${group?.security_group_rules[0]?.id}`);
    await expect
      .poll(async () => (await ofPolicy())?.security_group_rules.length, SETTLES)
      .toBe(rules);
    await settled('x/c>x/a');
  });

  test('a port without port security is left alone, and its pod says so', async () => {
    const { port } = await neutron.call<{ port: { id: string } }>(
      'POST',
      'ports',
      {
        port: {
          network_id: network.id,
          name: `${prefixOf(mark)}d`,
          port_security_enabled: false,
          security_groups: [],
        },
      },
      'admin',
    );
    await apply(podWith('x/d', port.id));
    await expect.poll(() => eventsOf('Pod', 'd'), SETTLES).toContain('NoPortSecurity: ');
    await cluster.kubectl(['delete', 'pod', 'd', '-n', namespace, '--force', '--grace-period=0']);
  });
});

describe('while Neutron fails', () => {
  /** What goes wrong with the first writes. */
  const first = (count: number, fault: Fault): void => {
    let left = count;
    neutron.gate.setFault(({ method }) => {
      if (method === 'GET' || left === 0) return undefined;
      left -= 1;
      return fault;
    });
  };

  test.each<[string, Fault]>([
    ['503', 503],
    ['409', 409],
    ['412', 412],
    ['answers that are lost', 'lose'],
  ])('with %s: the policy holds in the end, and nothing is there twice', async (_, fault) => {
    first(6, fault);
    await apply(policy('web', fromPods('b')));
    await settled('x/c>x/a');
    first(6, fault);
    await apply(policy('web', fromPods('c')));
    await settled('x/b>x/a');
    await expect.poll(twice, SETTLES).toEqual([]);
  });

  test('killed in the middle, and back after a while', async () => {
    await apply(policy('web', fromPods('b')));
    await new Promise((resolve) => setTimeout(resolve, 500));
    await neutron.kill();
    await apply(policy('web', fromPods('c')));
    await neutron.start();
    await settled('x/b>x/a');
    await expect.poll(twice, SETTLES).toEqual([]);
  });

  test('and a coordinator that is killed in the middle goes on where it was', async () => {
    await apply(policy('web', fromPods('b')));
    await new Promise((resolve) => setTimeout(resolve, 300));
    await world.killCoordinator();
    await apply(policy('web', fromPods('c')));
    await world.startCoordinator();
    await settled('x/b>x/a');
    await expect.poll(twice, SETTLES).toEqual([]);
  });

  test('its tokens end, and new ones are asked for', async () => {
    const before = neutron.gate.given();
    neutron.gate.revoke();
    await apply(policy('web', fromPods('b')));
    await settled('x/c>x/a');
    expect(neutron.gate.given()).toBeGreaterThan(before);
  });
});

test('what is denied before and after a change never passes between', async () => {
  const nothing = (type: string): object => ({ podSelector: {}, policyTypes: [type] });
  const all = ['x/a>x/b', 'x/a>x/c', 'x/b>x/a', 'x/b>x/c', 'x/c>x/a', 'x/c>x/b'];
  await apply(policy('shut', nothing('Egress')));
  await settled(...all);
  const changing = new AbortController();
  let looks = 0;
  const watch = async (): Promise<string[]> => {
    const seen: string[] = [];
    while (!changing.signal.aborted) {
      const denied = await network.denied(TCP80);
      looks += 1;
      seen.push(...inBothFamilies(new Set(all)).filter((pair) => !denied.includes(pair)));
    }
    return seen;
  };
  const watching = watch();
  for (let change = 0; change < 10; change += 1) {
    const type = change % 2 === 0 ? 'Ingress' : 'Egress';
    await apply(policy('shut', nothing(type)));
    const end = type === 'Ingress' ? '/IN' : '/EG';
    await expect
      .poll(
        async () =>
          (await ourGroups())
            .filter(({ name }) => name.includes(`${namespace}.shut`))
            .map(({ name }) => name.slice(-3)),
        SETTLES,
      )
      .toEqual([end]);
  }
  changing.abort();
  expect(await watching).toEqual([]);
  expect(looks).toBeGreaterThan(10);
});

test('a pod that is gone leaves its port without groups of ours', async () => {
  await cluster.kubectl(['delete', 'pod', '--all', '-n', namespace, '--force', '--grace-period=0']);
  await expect.poll(() => groupsOfPort('x/a'), SETTLES).toEqual([]);
  await expect.poll(async () => (await ourGroups()).length, SETTLES).toBe(0);
});
