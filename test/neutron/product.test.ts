/**
 * The coordinator as a process, with a real API server and a real Neutron: policies on ports of
 * pods, what others have made, quotas, and Neutron that fails. What passes is OVN's word, what was
 * called is the gate's.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { clusterMark, prefixOf } from '../../coordinator/neutron/names.ts';
import { createFixture, type Fixture } from '../integration/coordinator/fixture.ts';
import { startNeutron, type RunningNeutron } from './harness/neutron.ts';
import type { Fault } from './harness/gate.ts';
import { readScrape, valueIn } from '../openwrt/checks/prometheus.ts';
import { grantNeutron } from '../stack/neutron-rights.ts';
import { createNetwork, inBothFamilies, type PodNetwork } from './network.ts';

const START_MS = 500_000;
/** Time of a coordinator that backs off from a Neutron that fails, on a busy machine. */
const SETTLES = { timeout: 150_000, interval: 250 };
const CHANGES = 200;
/** Time of the changes by kubectl and three starts of Neutron. */
const CHANGES_MS = 1_200_000;
const PODS = ['x/a', 'x/b', 'x/c'];
const QUOTA = { groups: 10, rules: 100 };
const TCP80 = { protocol: 'TCP', port: 80 } as const;

let cluster: Cluster;
let neutron: RunningNeutron;
let fixture: Fixture;
let network: PodNetwork;
let mark: string;
let namespace: string;

beforeAll(async () => {
  cluster = await connectCluster();
  neutron = await startNeutron({ database: 'mariadb', quota: QUOTA, tokenSeconds: 20 });
  await grantNeutron(cluster);
  const { stdout: uid } = await cluster.kubectl([
    'get',
    'ns',
    'kube-system',
    '-o',
    'jsonpath={.metadata.uid}',
  ]);
  mark = clusterMark(uid);
  network = await createNetwork(neutron, mark, { pods: PODS });
  fixture = await createFixture({
    env: {
      SDEWAN_WATCH_NAMESPACE: '',
      SDEWAN_OPENSTACK_CLOUD_FILE: neutron.cloudFile,
      SDEWAN_NEUTRON_RESYNC_MS: '1000',
    },
  });
  ({ namespace } = fixture);
  for (const pod of PODS) await apply(podWith(pod, portOf(pod).id));
}, START_MS);
afterAll(async () => {
  await fixture?.close();
  await neutron?.stop();
});
/** What a test has done outside of its namespace, to be undone whatever becomes of it. */
const undo = new Map<string, () => Promise<void>>();
afterEach(async () => {
  neutron.gate.setFault(() => undefined);
  for (const each of undo.values()) await each();
  undo.clear();
  await cluster.kubectl(['delete', 'netpol', '--all', '-n', namespace]);
  // What the next test begins with must not be what this one has left.
  await policiesGone();
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
  // No kubelet runs it: an address of the cluster's network, which has no port, would be in an
  // address group.
  spec: { schedulerName: 'none', containers: [{ name: 'main', image: 'none' }] },
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

const label = async (pod: string, value: string): Promise<void> => {
  await cluster.kubectl(['label', 'pod', pod, '-n', namespace, '--overwrite', `pod=${value}`]);
  if (value !== pod) undo.set(`label of ${pod}`, () => label(pod, pod));
};
const settled = async (...pairs: string[]): Promise<void> => {
  await expect
    .poll(() => network.denied(TCP80), SETTLES)
    .toStrictEqual(inBothFamilies(new Set(pairs)));
};
/** A look takes a tenth of a second of a core, which Neutron needs for itself. */
const BETWEEN_LOOKS_MS = 400;

/** Looks until the signal aborts; those of the pairs that have passed. */
const watchDenied = async (
  pairs: readonly string[],
  signal: AbortSignal,
): Promise<{ passed: string[]; looks: number }> => {
  const passed: string[] = [];
  let looks = 0;
  while (!signal.aborted) {
    const denied = await network.denied(TCP80);
    looks += 1;
    passed.push(...inBothFamilies(new Set(pairs)).filter((pair) => !denied.includes(pair)));
    await sleep(BETWEEN_LOOKS_MS);
  }
  return { passed, looks };
};
/** What is said of an object, the last of it at the end. */
const eventsOf = async (kind: string, name: string): Promise<string[]> => {
  const { stdout } = await cluster.kubectl([
    'get',
    'events',
    '-n',
    namespace,
    '--field-selector',
    `involvedObject.kind=${kind},involvedObject.name=${name}`,
    '--sort-by=.lastTimestamp',
    '-o',
    'jsonpath={range .items[*]}{.reason}: {.message}{"\\n"}{end}',
  ]);
  return stdout.split('\n').filter((line) => line !== '');
};
const lastOf = async (policyName: string): Promise<string> =>
  (await eventsOf('NetworkPolicy', policyName)).at(-1) ?? '';
const containing = (words: string): unknown => expect.stringContaining(words);
type Group = {
  id: string;
  name: string;
  tags: string[];
  security_group_rules: ({ id: string; direction: string } & Record<string, unknown>)[];
};
const ourGroups = async (): Promise<Group[]> => {
  const { security_groups: all } = await neutron.call<{ security_groups: Group[] }>(
    'GET',
    'security-groups',
  );
  return all.filter(({ name }) => name.startsWith(prefixOf(mark)));
};
/** What makes two rules the same. */
const ruleText = (rule: Record<string, unknown>): string =>
  ['direction', 'ethertype', 'protocol', 'port_range_min', 'port_range_max']
    .concat(['remote_ip_prefix', 'remote_group_id', 'remote_address_group_id'])
    .map((field) => rule[field])
    .join();
/** The counts of our groups and their rules: none is there twice. */
const twice = async (): Promise<string[]> => {
  const groups = await ourGroups();
  const all = groups.flatMap(({ name, security_group_rules: rules }) => [
    name,
    ...rules.map((rule) => `${name}: ${ruleText(rule)}`),
  ]);
  return all.filter((one, at) => all.indexOf(one) !== at);
};
const policiesGone = async (): Promise<void> => {
  await expect
    .poll(async () => (await ourGroups()).filter(({ name }) => name.includes('/policy/')), SETTLES)
    .toEqual([]);
};
const groupsOfPort = async (pod: string): Promise<string[]> =>
  (await neutron.call<{ port: { security_groups: string[] } }>('GET', `ports/${portOf(pod).id}`))
    .port.security_groups;

const annotationOf = async (pod: string): Promise<string> => {
  const path = '{.metadata.annotations.sdewan\\.akraino\\.org/policy-groups}';
  const get = ['get', 'pod', pod, '-n', namespace, '-o', `jsonpath=${path}`];
  return (await cluster.kubectl(get)).stdout;
};
const expectedAnnotation = async (pod: string): Promise<string> => {
  const groups = (await groupsOfPort(`x/${pod}`)).toSorted();
  return JSON.stringify([{ port: portOf(`x/${pod}`).id, groups }]);
};

test('lets everything pass without a policy, and pods say which groups their ports have', async () => {
  await settled();
  await expect.poll(() => annotationOf('a'), SETTLES).toBe(await expectedAnnotation('a'));
});

test('enforces a policy with its Event, and a label that changes costs one PUT', async () => {
  await apply(policy('web', fromPods('b')));
  await settled('x/c>x/a');
  await expect
    .poll(() => eventsOf('NetworkPolicy', 'web'), SETTLES)
    .toContainEqual(containing('Enforced: Neutron enforces'));
  const tags = (await ourGroups()).filter(({ name }) => name.includes(`${namespace}.web`));
  expect(tags).toMatchObject([
    {
      tags: expect.arrayContaining([
        `sdewan/${mark}`,
        expect.stringMatching(/^[0-9a-f-]{36}\/IN$/),
      ]),
    },
  ]);

  neutron.gate.calls.length = 0;
  await label('c', 'b');
  await settled();
  // OVN has it before Neutron has answered.
  await expect.poll(writes, SETTLES).toEqual([`PUT /v2.0/ports/${portOf('x/c').id}`]);
  neutron.gate.calls.length = 0;
  await label('c', 'c');
  await settled('x/c>x/a');
  // OVN has it before Neutron has answered.
  await expect.poll(writes, SETTLES).toEqual([`PUT /v2.0/ports/${portOf('x/c').id}`]);
});

const writes = (): string[] =>
  neutron.gate.calls
    .filter(({ method }) => method !== 'GET')
    .map(({ method, path }) => `${method} ${path}`);

/** A group of another owner with a rule, on the port of a pod. */
const foreign = async (pod: string) => {
  const { security_group: group } = await neutron.call<{ security_group: Group }>(
    'POST',
    'security-groups',
    { security_group: { name: 'theirs' } },
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
  const setGroups = async (groupsFrom: (ids: string[]) => string[]): Promise<void> => {
    const port = { security_groups: groupsFrom(await groupsOfPort(pod)) };
    await neutron.call('PUT', `ports/${portOf(pod).id}`, { port });
  };
  await setGroups((ids) => [...ids, group.id]);
  undo.set(`group of others on ${pod}`, async () => {
    await setGroups((ids) => ids.filter((id) => id !== group.id));
    await neutron.call('DELETE', `security-groups/${group.id}`);
  });
  return {
    id: group.id,
    /** Byte for byte. */
    read: async (): Promise<string> =>
      JSON.stringify(await neutron.call('GET', `security-groups/${group.id}`)),
  };
};

test('works within a quota, says need and limit beyond it, and works when it has grown', async () => {
  // One of ten groups is the project's own, one another owner's, and three are for all ports.
  const NAMES = ['one', 'two', 'three', 'four'];
  const FULL = '(QuotaExceeded): needs 2 security groups more, and of the quota of 10 are 9 used';
  const theirs = await foreign('x/c');
  const before = await theirs.read();
  for (const name of NAMES) await apply(policy(name, fromPods(name)));
  const saidOf = async (name: string): Promise<string> => {
    const last = await lastOf(name);
    if (last.startsWith('Enforced: Neutron')) return 'enforced';
    return last.includes(FULL) ? 'refused' : last;
  };
  await expect
    .poll(async () => (await Promise.all(NAMES.map(saidOf))).toSorted(), SETTLES)
    .toEqual(['enforced', 'enforced', 'refused', 'refused']);
  expect(await ourGroups()).toHaveLength(7);
  const said = await Promise.all(NAMES.map(saidOf));
  for (const [at, name] of NAMES.entries()) {
    await label('b', name);
    await settled('x/c>x/a', ...(said[at] === 'enforced' ? [] : ['x/b>x/a']));
  }

  await neutron.setQuota({ groups: 30, rules: 200 });
  await expect.poll(async () => (await ourGroups()).length, SETTLES).toBe(11);
  await expect
    .poll(async () => new Set(await Promise.all(NAMES.map(saidOf))), SETTLES)
    .toEqual(new Set(['enforced']));
  for (const name of NAMES) {
    await label('b', name);
    await settled('x/c>x/a');
  }
  expect(await theirs.read()).toBe(before);
  expect(await groupsOfPort('x/c')).toContain(theirs.id);
});

describe('what others have made', () => {
  test('stays, byte for byte, and is said', async () => {
    const theirs = await foreign('x/a');
    const before = await theirs.read();
    await apply(policy('web', fromPods('b')));
    await settled('x/c>x/a');
    await expect.poll(() => lastOf('web'), SETTLES).toContain('OtherGroups');
    await cluster.kubectl(['delete', 'netpol', 'web', '-n', namespace]);
    await settled();
    expect(await groupsOfPort('x/a')).toContain(theirs.id);
    expect(await theirs.read()).toBe(before);
  });

  test('is put right in our groups: a rule more, ten times at once, and a rule less', async () => {
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

  test('is left alone on a port without port security, and its pod says so', async () => {
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
    await expect
      .poll(() => eventsOf('Pod', 'd'), SETTLES)
      .toContainEqual(containing('NoPortSecurity: '));
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
  ])('enforces the policy in the end, and has nothing twice, with %s', async (_, fault) => {
    first(3, fault);
    await apply(policy('web', fromPods('b')));
    await settled('x/c>x/a');
    first(3, fault);
    await apply(policy('web', fromPods('c')));
    await settled('x/b>x/a');
    await expect.poll(twice, SETTLES).toEqual([]);
  });

  test('killed in the middle, and back after a while', async () => {
    await apply(policy('web', fromPods('b')));
    await sleep(500);
    await neutron.kill();
    await apply(policy('web', fromPods('c')));
    await neutron.start();
    await settled('x/b>x/a');
    await expect.poll(twice, SETTLES).toEqual([]);
  });

  const failingSeconds = async (): Promise<number> => {
    const answer = await fetch(`${fixture.coordinator.httpUrl}/metrics`);
    const scrape = readScrape(await answer.text());
    return valueIn(scrape, 'sdewan_coordinator_neutron_failing_seconds') ?? NaN;
  };

  test('stopped, or with a clouds.yaml that is none: the policy and a figure say so, and again that it is enforced', async () => {
    await apply(policy('web', fromPods('b')));
    await settled('x/c>x/a');
    await neutron.kill();
    await apply(policy('web', fromPods('c')));
    await expect
      .poll(() => lastOf('web'), SETTLES)
      .toContain('Neutron does not follow the policy: OpenStack cannot be reached');
    expect(await failingSeconds()).toBeGreaterThan(0);
    await neutron.start();
    await settled('x/b>x/a');
    await expect.poll(() => lastOf('web'), SETTLES).toContain('Neutron enforces the policy');
    expect(await failingSeconds()).toBe(0);

    const good = await readFile(neutron.cloudFile, 'utf8');
    await writeFile(neutron.cloudFile, '{');
    neutron.gate.revoke();
    await apply(policy('web', fromPods('b')));
    await expect.poll(() => lastOf('web'), SETTLES).toContain('is no YAML');
    await writeFile(neutron.cloudFile, good);
    await settled('x/c>x/a');
    await expect.poll(() => lastOf('web'), SETTLES).toContain('Neutron enforces the policy');
  });

  test(
    `killed three times during ${CHANGES} changes, with every seventh answer lost: exact in the end, and what is denied before and after never passes`,
    async () => {
      const changes = [
        () => label('b', 'other'),
        () => apply(policy('more', fromPods('b', [{ protocol: 'UDP', port: 53 }]))),
        () => apply(policy('web', fromPods('b', [{ protocol: 'TCP', port: 80 }]))),
        () => label('b', 'b'),
        () => cluster.kubectl(['delete', 'netpol', 'more', '-n', namespace]),
        () => apply(policy('web', fromPods('b'))),
      ];
      await apply(policy('web', fromPods('b')));
      await settled('x/c>x/a');
      const over = new AbortController();
      const seen = watchDenied(['x/c>x/a'], over.signal);
      let written = 0;
      neutron.gate.setFault(({ method }) => {
        written += method === 'GET' ? 0 : 1;
        return method !== 'GET' && written % 7 === 0 ? 'lose' : undefined;
      });
      for (let at = 0; at < CHANGES; at += 1) {
        await changes[at % changes.length]?.();
        if (at % 60 === 59) {
          await neutron.kill();
          await neutron.start();
        }
      }
      neutron.gate.setFault(() => undefined);
      await apply(policy('web', fromPods('b')));
      await label('b', 'b');
      await settled('x/c>x/a');
      await expect.poll(twice, SETTLES).toEqual([]);
      over.abort();
      expect((await seen).passed).toEqual([]);
      expect((await seen).looks).toBeGreaterThan(10);
      console.log(`${written} calls of Neutron for ${CHANGES} changes`);
      // Changes have come to Neutron, more of them together the slower it is, and answers were
      // lost.
      expect(written).toBeGreaterThan(40);
    },
    CHANGES_MS,
  );

  test('goes on where it was when a coordinator is killed in the middle', async () => {
    await apply(policy('web', fromPods('b')));
    await sleep(300);
    await fixture.killCoordinator();
    await apply(policy('web', fromPods('c')));
    await fixture.startCoordinator();
    await settled('x/b>x/a');
    await expect.poll(twice, SETTLES).toEqual([]);
  });

  test('asks for new tokens when its tokens end', async () => {
    const before = neutron.gate.given();
    neutron.gate.revoke();
    await apply(policy('web', fromPods('b')));
    await settled('x/c>x/a');
    expect(neutron.gate.given()).toBeGreaterThan(before);
  });
});

describe('without a right on the API server', () => {
  /** The coordinator begins without them, and has them when it is over. */
  const withoutNodes = async (use: () => Promise<void>): Promise<void> => {
    const role = 'clusterrole/sdewan-coordinator';
    const { stdout: rules } = await cluster.kubectl(['get', role, '-o', 'jsonpath={.rules}']);
    const setRules = (text: string): Promise<unknown> =>
      cluster.kubectl(['patch', role, '--type=merge', '-p', `{"rules": ${text}}`]);
    await fixture.killCoordinator();
    await setRules(rules.replaceAll('"nodes"', '"nothing"'));
    try {
      await fixture.startCoordinator();
      await use();
    } finally {
      await setRules(rules);
    }
  };

  test('lacks the list of nodes: the policy says so, and is followed when the coordinator has it', async () => {
    await apply(policy('web', fromPods('b')));
    await settled('x/c>x/a');
    await withoutNodes(async () => {
      await apply(policy('web', fromPods('c')));
      await expect
        .poll(() => lastOf('web'), SETTLES)
        .toContain(
          'NeutronUnavailable: Neutron does not follow the policy: the coordinator may not',
        );
    });
    await settled('x/b>x/a');
    await expect.poll(() => lastOf('web'), SETTLES).toContain('Enforced: Neutron enforces');
  });

  test('lacks annotating pods: the policy holds, the pod says so, and is annotated when it has it', async () => {
    await cluster.kubectl(['delete', 'clusterrolebinding', 'sdewan-neutron']);
    try {
      await apply(policy('web', fromPods('b')));
      await settled('x/c>x/a');
      await expect
        .poll(() => eventsOf('Pod', 'a'), SETTLES)
        .toContainEqual(containing('bind ClusterRole sdewan-neutron'));
    } finally {
      await grantNeutron(cluster);
    }
    await expect.poll(() => annotationOf('a'), SETTLES).toBe(await expectedAnnotation('a'));
  });
});

test('never lets pass between what is denied before and after a change', async () => {
  const nothing = (type: string): object => ({ podSelector: {}, policyTypes: [type] });
  const all = ['x/a>x/b', 'x/a>x/c', 'x/b>x/a', 'x/b>x/c', 'x/c>x/a', 'x/c>x/b'];
  await apply(policy('shut', nothing('Egress')));
  await settled(...all);
  const over = new AbortController();
  const seen = watchDenied(all, over.signal);
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
  over.abort();
  expect((await seen).passed).toEqual([]);
  expect((await seen).looks).toBeGreaterThan(10);
});

test('leaves the port of a pod that is gone without groups of ours', async () => {
  await cluster.kubectl(['delete', 'pod', '--all', '-n', namespace, '--force', '--grace-period=0']);
  await expect.poll(() => groupsOfPort('x/a'), SETTLES).toEqual([]);
  await expect.poll(async () => (await ourGroups()).length, SETTLES).toBe(0);
});
