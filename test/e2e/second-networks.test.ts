/**
 * Policies in the second networks of a CNF: whose addresses count, MultiNetworkPolicies where the
 * cluster serves them, annotations that say nothing known, and a ManagedNetwork that comes later.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Packet } from '../kernel/policy/evaluator.ts';
import { passesTable, readTable } from '../kernel/policy/nft-evaluator.ts';
import { CAN_REPLAY, replayed } from '../kernel/policy/replay.ts';
import { createCnf } from '../stack/cnf.ts';
import { managedNetwork } from '../stack/managed-network.ts';
import { readJournal } from '../stack/journal.ts';
import { observePods } from '../stack/observe.ts';
import { apply } from '../stack/operator.ts';
import { asWritten, eventually, policiesIn } from '../stack/policies.ts';
import { sdewan } from '../stack/sdewan.ts';
import { e2eCluster } from './cluster.ts';

const PURPOSE = 'cnf-1';
const NETWORKS = 'sdewan.akraino.org/policy-networks';
const PLUMBING = 'k8s.cni.cncf.io';
const SUBNET = '10.77.0.0/24';

/** Nodus writes a text up to v5.0.0, and a list of both families since v5.2.0. */
const networksOf = (address: string | readonly string[]): Record<string, string> => ({
  'k8s.plugin.opnfv.org/nfn-network': JSON.stringify({
    interface: [{ name: 'ovn-net1', interface: 'net0' }],
  }),
  'k8s.plugin.opnfv.org/ovnInterfaces': JSON.stringify([
    { ip_address: address, interface: 'net0' },
  ]),
});

/** As much of it as the API server needs: it checks nothing of a policy. */
const KIND = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `multi-networkpolicies.${PLUMBING}` },
  spec: {
    group: PLUMBING,
    names: { kind: 'MultiNetworkPolicy', plural: 'multi-networkpolicies' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1beta1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
};

type E2eCluster = Awaited<ReturnType<typeof e2eCluster>>;

const serveKind = async (cluster: E2eCluster): Promise<void> => {
  await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(KIND) });
  await eventually('the kind is served', async () => {
    const { stdout } = await cluster.kubectl(['api-resources', `--api-group=${PLUMBING}`]);
    return stdout.includes('MultiNetworkPolicy');
  });
};

describe('policies in second networks', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let cnf = '';
  let fixture: ReturnType<typeof policiesIn>;

  const table = (): Promise<string> => fixture.tableOf(cnf);
  const policy = (
    kind: string,
    name: string,
    from: object[],
    spec: object = {},
    network = 'ovn-net1',
  ): object => ({
    apiVersion: kind === 'NetworkPolicy' ? 'networking.k8s.io/v1' : `${PLUMBING}/v1beta1`,
    kind,
    metadata: { name, annotations: { 'k8s.v1.cni.cncf.io/policy-for': network } },
    spec: {
      podSelector: { matchLabels: { role: 'server' } },
      ingress: [{ from }],
      ...spec,
    },
  });
  const clients = [{ podSelector: { matchLabels: { role: 'client' } } }];
  const far = [...clients, { ipBlock: { cidr: '10.99.0.0/16' } }];

  beforeAll(async () => {
    namespace = await cluster.createNamespace('second-networks');
    fixture = policiesIn(cluster, namespace);
    await fixture.pod(
      'server',
      '10.99.2.1',
      { role: 'server' },
      networksOf(['10.77.0.11/24', 'fd77::11/64']),
    );
    await fixture.pod('client', '10.99.2.2', { role: 'client' }, networksOf('10.77.0.12/24'));
    await createCnf(cluster, {
      namespace,
      purpose: PURPOSE,
      replicas: 1,
      annotations: {
        [NETWORKS]: `cluster,ovn-net1=${SUBNET},lan=10.79.0.0/24,lan=fd79::/64`,
        'k8s.v1.cni.cncf.io/networks': 'lan',
        ...networksOf(['10.77.0.1/24', 'fd77::1/64']),
      },
    });
    cnf = (await observePods(cluster, namespace, PURPOSE))[0]?.name ?? '';
  });

  it('hold by own addresses alone in a cluster that serves no MultiNetworkPolicy', async () => {
    await apply(cluster, namespace, policy('NetworkPolicy', 'own', clients));
    await eventually('it is enforced', () => fixture.isEnforced('own'));
    expect(await table()).toContain('10.99.2.1');
    expect(await table()).not.toContain('10.77.0.');
  });

  describe('MultiNetworkPolicies, once they are served', () => {
    beforeAll(() => serveKind(cluster));

    it('hold for addresses in the network that they are for, and not for the others', async () => {
      await apply(cluster, namespace, policy('MultiNetworkPolicy', 'second', far));
      await eventually('it is enforced', () => fixture.isEnforced('second'));
      expect(await table()).toContain(fixture.chainOf('second'));
      expect(await table()).toContain('elements = { 10.77.0.12 }');
      expect(await table()).toContain('fd77::11');
      const [told] = await fixture.enforcements('second');
      expect(told?.spec.place).toBe('ovn-net1');
      expect(told?.status.scope).toContain("pods' addresses in ovn-net1");
    });

    it('leave out an address outside the subnet of the network, and say so', async () => {
      await fixture.pod('forged', '10.99.2.3', { role: 'server' }, networksOf('10.78.0.13/24'));
      await eventually(
        'it is named',
        async () =>
          (await fixture.whyNot('second'))['OutsideNetwork']?.includes(`${namespace}/forged`) ===
          true,
      );
      expect(await table()).not.toContain('10.78.0.13');
    });

    it('hold for attachments of Multus, and for an address that comes later', async () => {
      const inLan = (network: string, ...ips: string[]) => ({
        'k8s.v1.cni.cncf.io/network-status': JSON.stringify([{ name: network, ips }]),
      });
      const own = `${namespace}/lan`;
      await fixture.pod('lan-server', '10.99.2.4', { role: 'lan' }, inLan(own, '10.79.0.11'));
      await fixture.pod('lan-client', '10.99.2.5', { role: 'from' }, inLan(own, '10.79.0.12'));
      await fixture.pod('apart', '10.99.2.6', { role: 'from' }, inLan('apps/lan', '10.79.0.13'));
      const from = [{ podSelector: { matchLabels: { role: 'from' } } }, far[1] ?? {}];
      const spec = { podSelector: { matchLabels: { role: 'lan' } } };
      await apply(cluster, namespace, policy('MultiNetworkPolicy', 'multus', from, spec, 'lan'));
      await eventually('it is enforced', () => fixture.isEnforced('multus'));
      expect(await table()).toContain('elements = { 10.79.0.12 }');
      const [told] = await fixture.enforcements('multus');
      expect(told?.spec.place).toBe(own);
      const [[name, text] = []] = Object.entries(inLan(own, '10.79.0.12', 'fd79::12'));
      const annotate = ['annotate', '-n', namespace, 'pod/lan-client', '--overwrite'];
      await cluster.kubectl([...annotate, `${name}=${text}`]);
      await eventually('it follows', async () =>
        (await table()).includes('elements = { fd79::12 }'),
      );
      expect(await table()).not.toContain('10.79.0.13');
    });

    it('are not called enforced between neighbours alone', async () => {
      await apply(cluster, namespace, policy('MultiNetworkPolicy', 'neighbours', clients));
      await eventually(
        'it says why',
        async () =>
          (await fixture.whyNot('neighbours'))['SameNetworkOnly']?.includes(
            `${namespace}/server`,
          ) === true,
      );
      expect(await fixture.isEnforced('neighbours', '0/2')).toBe(true);
      const ends = ['--from', '10.77.0.12', '--to', '10.77.0.11'];
      const { code, out } = await sdewan(cluster, 'trace', ...ends, '--dport', '80');
      expect([code, out]).toEqual([0, expect.stringContaining('passes no place of ours')]);
      expect(out).toContain(`not through ${namespace}/${PURPOSE}: both ends are in ${SUBNET}`);
    });
  });

  it('are told on a running pod, and what is in force stays', async () => {
    // The policies of all namespaces there, since other tests change theirs meanwhile.
    const own = async (): Promise<string[]> =>
      (await table()).match(
        new RegExp(`comment "${namespace}/.*|10\\.(77\\.0|99\\.2)\\.\\d+`, 'g'),
      ) ?? [];
    const before = await own();
    expect(before).not.toEqual([]);
    const annotate = ['annotate', '-n', namespace, `pod/${cnf}`, '--overwrite'];
    await cluster.kubectl([...annotate, `${NETWORKS}=net9`]);
    await eventually('the pod says it', async () => {
      const about = `involvedObject.name=${cnf},reason=InvalidAnnotation`;
      const get = ['get', 'events', '-n', namespace, '-o', 'jsonpath={.items[*].message}'];
      const { stdout } = await cluster.kubectl([...get, '--field-selector', about]);
      return stdout.includes('"net9" must be one of cluster, ovn-net1');
    });
    expect(await own()).toEqual(before);
    await cluster.kubectl([...annotate, `${NETWORKS}=cluster`]);
    await eventually(
      'what is in second networks is gone',
      async () => !(await table()).includes('10.77.0.'),
    );
    expect(await table()).toContain(fixture.chainOf('own'));
  });
});

/** What nft has after it has loaded the text: a whole table, or members of sets. */
const loaded = (
  before: ReturnType<typeof readTable>,
  text: string,
): ReturnType<typeof readTable> => {
  if (text.includes('table inet sdewan_policy {\n')) return readTable(text);
  const sets = new Map(before.sets);
  for (const [, name = ''] of text.matchAll(/^flush set inet sdewan_policy (\w+)$/gm))
    sets.set(name, new Set());
  for (const [, name = '', members = ''] of text.matchAll(
    /^add element inet sdewan_policy (\w+) \{ (.*) \}$/gm,
  ))
    sets.set(name, new Set(members.split(', ')));
  return { ...before, sets };
};

describe('a ManagedNetwork that is laid over twenty pods with policies', async () => {
  const cluster = await e2eCluster();
  const NETWORK = 'ovn-laid';
  const NODE = 'second-networks';
  const LOOK_MS = 5;
  /** Role, and how many pods have it. */
  const ROLES = Object.entries({ server: 8, client: 8, stranger: 3, late: 1 });
  const pods = ROLES.flatMap(([role, count]) =>
    Array.from({ length: count }, (_, at) => ({ role, name: `${role}-${at}` })),
  ).map((pod, at) => ({ ...pod, address: `10.76.0.${100 + at}` }));
  const of = (role: string) => pods.filter((pod) => pod.role === role);
  const packets = of('server').flatMap(({ address: to }) =>
    pods
      .filter(({ role }) => role === 'client' || role === 'stranger')
      .map(({ address: from, role }): [Packet, boolean] => [
        { from, to, protocol: 'TCP', port: 80 },
        role === 'client',
      ]),
  );
  const wrongIn = (table: ReturnType<typeof readTable>): string[] =>
    packets
      .filter(([packet, passes]) => passesTable(table, packet) !== passes)
      .map(([{ from, to }, passes]) => `${from} to ${to} ${passes ? 'is denied' : 'passes'}`);
  const say = (kind: string, name: string, status: object, ...flags: string[]) => {
    const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
    return cluster.kubectl(['patch', kind, name, ...flags, ...patch]);
  };

  let namespace = '';
  let cnf = '';
  let fixture: ReturnType<typeof policiesIn>;
  /** What the agent has loaded: as one before the network, and one by one since. */
  let tables: string[] = [];

  beforeAll(async () => {
    await serveKind(cluster);
    namespace = await cluster.createNamespace('laid-network');
    fixture = policiesIn(cluster, namespace);
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } };
    await apply(cluster, namespace, node);
    const conditions = [{ type: 'Ready', status: 'True', reason: 'Test', message: '' }];
    await say('node', NODE, { conditions });
    await apply(
      cluster,
      namespace,
      ...pods.map(({ name, role, address }) => ({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name,
          labels: { role },
          annotations: {
            'k8s.plugin.opnfv.org/nfn-network': JSON.stringify({
              interface: [{ name: NETWORK, interface: 'net0' }],
            }),
            'k8s.plugin.opnfv.org/ovnInterfaces': JSON.stringify([
              { ip_address: [`${address}/24`], interface: 'net0' },
            ]),
          },
        },
        spec: {
          nodeName: NODE,
          tolerations: [{ operator: 'Exists' }],
          containers: [{ name: 'main', image: 'none' }],
        },
      })),
      {
        apiVersion: `${PLUMBING}/v1beta1`,
        kind: 'MultiNetworkPolicy',
        metadata: { name: 'laid', annotations: { 'k8s.v1.cni.cncf.io/policy-for': NETWORK } },
        spec: {
          podSelector: { matchLabels: { role: 'server' } },
          ingress: [{ from: [{ podSelector: { matchLabels: { role: 'client' } } }] }],
        },
      },
    );
    await createCnf(cluster, {
      namespace,
      purpose: PURPOSE,
      replicas: 1,
      annotations: {
        [NETWORKS]: `${NETWORK}=10.76.0.0/24`,
        'k8s.plugin.opnfv.org/nfn-network': JSON.stringify({
          interface: [{ name: NETWORK, interface: 'net0' }],
        }),
      },
    });
    cnf = (await observePods(cluster, namespace, PURPOSE))[0]?.name ?? '';
    await eventually('the policy is in the kernel', async () => {
      const listing = await fixture.tableOf(cnf);
      return listing !== '' && wrongIn(readTable(asWritten(listing))).length === 0;
    });
  });
  afterAll(async () => {
    await cluster.kubectl(['delete', 'node', NODE, '--wait=false']);
    const all = ['-n', namespace, '--all', '--force', '--grace-period=0'];
    await cluster.kubectl(['delete', 'pods', ...all]);
    await eventually('the network is free', async () => {
      const { code } = await cluster.kubectl(['delete', 'mnet', 'laid'], { allowFailure: true });
      return code === 0;
    });
  });

  it('loses no packet that is allowed and lets none pass that is denied, while it claims their addresses', async () => {
    const over = new AbortController();
    const wrong: string[] = [];
    let looks = 0;
    const table = async () => readTable(asWritten(await fixture.tableOf(cnf)));
    const loads = async () =>
      (await readJournal(cluster, { namespace, pod: cnf })).filter(
        ({ event, ok }) => event === 'policies' && ok,
      );
    const before = (await loads()).length;
    let known = await table();
    const looking = (async () => {
      while (!over.signal.aborted) {
        wrong.push(...wrongIn(await table()));
        looks += 1;
        await sleep(LOOK_MS);
      }
    })();
    const subnets = [{ cidr: '10.76.0.0/24', ranges: ['10.76.0.100-10.76.0.139'] }];
    const spec = { names: [NETWORK], subnets, namespaces: [namespace] };
    await apply(cluster, namespace, managedNetwork('laid', spec));
    await cluster.kubectl(['wait', '--for=condition=Adopted', 'mnet/laid', '--timeout=500s']);
    const claimed = ['get', 'nport', '-o', 'jsonpath={.items[*].spec.addresses[0]}'];
    const { stdout } = await cluster.kubectl(claimed);
    expect(stdout.split(' ').toSorted()).toEqual(pods.map(({ address }) => address));
    // It comes after the switch, by the address of its NetworkPort.
    await fixture.relabel('late-0', 'role=client');
    const [from = '', to = ''] = [of('late')[0]?.address, of('server')[0]?.address];
    await eventually('a new client passes', async () =>
      passesTable(await table(), { from, to, protocol: 'TCP', port: 80 }),
    );
    over.abort();
    await looking;
    // What came and went between two looks.
    const all = await loads();
    const since = all.slice(before);
    const texts = all.map(({ text = '' }) => text);
    tables = [texts.slice(0, before).join('\n'), ...texts.slice(before)];
    for (const { text = '' } of since) {
      known = loaded(known, text);
      wrong.push(...wrongIn(known));
    }
    console.log(`judged: ${packets.length} packets by ${looks} looks and ${since.length} loads`);
    expect(wrong).toEqual([]);
    expect(since.length).toBeGreaterThan(0);
  });

  it.skipIf(!CAN_REPLAY)(
    'has none lost and none pass in the kernel, as the agent loads it',
    async () => {
      const addressesOf = (...roles: string[]) => roles.flatMap(of).map(({ address }) => address);
      const from = addressesOf('client', 'stranger');
      const { sent, arrived } = await replayed({ tables, from, to: addressesOf('server') });
      const wrong = packets.flatMap(([packet, passes]) => {
        const pair = `${packet.from} ${packet.to}`;
        const [left = 0, came = 0] = [sent[pair], arrived[pair]];
        return left > tables.length && came === (passes ? left : 0)
          ? []
          : [`${pair}: ${left} sent, ${came} arrived, ${passes ? 'all' : 'none'} should`];
      });
      const total = Object.values(sent).reduce((sum, count) => sum + count, 0);
      console.log(`sent: ${total} packets in ${packets.length} pairs, ${tables.length} loads`);
      expect(wrong).toEqual([]);
    },
  );
});
