/**
 * Rules over attachments of the real Multus, and addresses that pods are given in them: it makes
 * the interfaces, and the kubelet passes on what it says of them. Packets that go by rules are in
 * slow/multus.test.ts.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { PORTS_GATE } from '#shared/names.ts';
import { createCnf } from '../../stack/cnf.ts';
import { managedNetwork } from '../../stack/managed-network.ts';
import { readConfigFile, until } from '../../stack/observe.ts';
import { apply, waitForRules, waitInSync } from '../../stack/operator.ts';
import { rule, type Rule } from '../../stack/rules.ts';
import { CNF, firstPod, getPod, nodeCluster, PURPOSE } from './cluster.ts';
import { measured } from './figures.ts';
import { attachment, installMultus, MULTUS_CLASS } from './multus.ts';
import { connectFrom, IDLE, peer } from './slow/edge.ts';

const STATUS = 'k8s.v1.cni.cncf.io/network-status';
const NETWORKS = 'k8s.v1.cni.cncf.io/networks';

const cluster = await nodeCluster();
beforeAll(() => installMultus(cluster));

describe('attachments of the real Multus', () => {
  let namespace = '';
  let pod = '';
  let rules: Rule[] = [];

  /** What the zone of the attachment `lan` is on. */
  const branchIsOn = (device: string): Promise<true> =>
    until(`the zone is on ${device}`, async () => {
      const text = await readConfigFile(cluster, { namespace, pod }, 'firewall');
      const sections = text?.split('config ') ?? [];
      const zone = sections.find((section) => /^zone[^]*option name '?branch'?/.test(section));
      return zone !== undefined && new RegExp(`list network '?${device}'?\n`).test(zone)
        ? true
        : undefined;
    });
  /** What Multus has written of the pod. */
  const status = async (): Promise<string> =>
    (await getPod(cluster, namespace, pod)).metadata.annotations[STATUS] ?? '';
  /** As a controller does that attaches networks to pods that run. */
  const write = (change: string) =>
    cluster.kubectl(['annotate', '-n', namespace, `pod/${pod}`, '--overwrite', change]);

  beforeAll(async () => {
    namespace = await cluster.createNamespace('multus');
    const uplinks = await cluster.createNamespace('multus-uplinks');
    await apply(cluster, namespace, attachment('lan', 'ci-lan'));
    await apply(cluster, uplinks, attachment('wan', 'ci-wan'));
    const selections = [
      { name: 'wan', namespace: uplinks, interface: 'net1', ips: ['10.79.2.2/24'] },
      { name: 'wan', namespace: uplinks, interface: 'net2', ips: ['10.79.2.3/24'] },
      { name: 'lan', ips: ['10.79.1.1/24'] },
    ];
    await createCnf(cluster, {
      namespace,
      purpose: PURPOSE,
      replicas: 1,
      runtimeClassName: MULTUS_CLASS,
      annotations: {
        'k8s.plugin.opnfv.org/nfn-network': '',
        [NETWORKS]: JSON.stringify(selections),
      },
    });
    pod = await firstPod(cluster, namespace);
    const wans = ['net1', 'net2'].map((device) => `${uplinks}/wan@${device}`);
    rules = [
      rule('FirewallZone', 'branch', { network: ['lan'] }),
      rule('FirewallZone', 'uplink', { network: wans }),
      rule('Mwan3Policy', 'both', {
        members: wans.map((network) => ({ network, metric: 1, weight: 1 })),
      }),
    ];
    await apply(cluster, namespace, ...rules);
  });

  it('are known by the interfaces that Multus has given them', async () => {
    await waitInSync(cluster, namespace, rules);
    const entries: { name: string; interface: string; ips: string[] }[] = JSON.parse(
      await status(),
    );
    const lan = entries.find(({ name }) => name === `${namespace}/lan`);
    expect(lan).toMatchObject({ interface: 'net3', ips: ['10.79.1.1'] });
    await branchIsOn('net3');
    const has = ['ip', 'address', 'show', 'dev', 'net3'];
    const { stdout } = await cluster.node.inPodNetwork({ namespace, pod }, has);
    expect(stdout).toContain('10.79.1.1/24');
  });

  it('are followed when network-status changes, goes and comes while the pod runs', async () => {
    const before = await status();
    await write(`${STATUS}=${before.replaceAll('"net3"', '"net7"')}`);
    await measured('network-status changed until OpenWRT has it', () => branchIsOn('net7'));
    await waitInSync(cluster, namespace, rules);

    await write(`${STATUS}-`);
    await waitForRules(cluster, namespace, { what: 'the zone waits' }, (seen) =>
      seen.some(({ status: said }) => /which interface network lan is/.test(said?.message ?? '')),
    );

    await write(`${STATUS}=${before}`);
    await branchIsOn('net3');
    await waitInSync(cluster, namespace, rules);
  });
});

const portSchema = z.object({
  spec: z.object({ addresses: z.array(z.string()), mac: z.string() }),
});
type Given = z.infer<typeof portSchema>['spec'];
const linkSchema = z.tuple([
  z.object({
    address: z.string(),
    addr_info: z.array(z.object({ local: z.string(), scope: z.string(), prefixlen: z.number() })),
  }),
]);
const neighboursSchema = z.array(z.object({ lladdr: z.string().optional() }));
/** It says from which address each connection comes. */
const SAYS_SOURCE = `require('node:net').createServer((socket) => socket.end(socket.remoteAddress.replace('::ffff:', ''))).listen(8080)`;

describe('a ManagedNetwork over attachments of the real Multus', () => {
  let namespace = '';
  const pods: Record<'cnf' | 'other', string> = { cnf: '', other: 'other' };
  const given = new Map<string, Given>();

  const managed = (name: string, third: number): object =>
    managedNetwork(name, {
      names: [`${namespace}/${name}`],
      subnets: [
        { cidr: `10.79.${third}.0/24`, ranges: [`10.79.${third}.16-10.79.${third}.31`] },
        { cidr: `fd79:${third}::/64`, ranges: [`fd79:${third}::10-fd79:${third}::1f`] },
      ],
      namespaces: [namespace],
    });
  const GATED = { schedulingGates: [{ name: PORTS_GATE }] };
  const waiting = (name: string, attached: string, command: string[] = IDLE): object =>
    peer(name, command, { runtimeClassName: MULTUS_CLASS, ...GATED }, { [NETWORKS]: attached });
  const json = async (pod: string, ...argv: string[]): Promise<unknown> => {
    const ip = ['ip', '-json', ...argv];
    return JSON.parse((await cluster.node.inPodNetwork({ namespace, pod }, ip)).stdout);
  };
  const eventsOf = async (pod: string): Promise<string> => {
    const about = `--field-selector=involvedObject.name=${pod}`;
    return (await cluster.kubectl(['get', 'events', '-n', namespace, about])).stdout;
  };

  beforeAll(async () => {
    namespace = await cluster.createNamespace('multus-managed');
    const by = ['--clusterrole=sdewan-network-ports'];
    const to = ['--serviceaccount=sdewan-system:sdewan-coordinator'];
    await cluster.kubectl(['create', 'rolebinding', 'ports', '-n', namespace, ...by, ...to]);
    await apply(
      cluster,
      namespace,
      attachment('obeying', 'ci-obeying', true),
      attachment('deaf', 'ci-deaf'),
      managed('obeying', 3),
      managed('deaf', 4),
      waiting('other', 'obeying', ['node', '-e', SAYS_SOURCE]),
      waiting('unheard', 'deaf'),
    );
    const annotations = { 'k8s.plugin.opnfv.org/nfn-network': '', [NETWORKS]: 'obeying' };
    const runtimeClassName = MULTUS_CLASS;
    await createCnf(cluster, {
      namespace,
      purpose: PURPOSE,
      replicas: 1,
      runtimeClassName,
      annotations,
    });
    await cluster.kubectl(['wait', '-n', namespace, '--for=condition=Ready', 'pod/other']);
    pods.cnf = await firstPod(cluster, namespace);
    for (const pod of Object.values(pods)) {
      const { metadata } = await getPod(cluster, namespace, pod);
      const name = JSON.parse(
        metadata.annotations['sdewan.akraino.org/network-ports'] ?? '{}',
      ).net1;
      const { stdout } = await cluster.kubectl(['get', 'nport', name, '-o', 'json']);
      given.set(pod, portSchema.parse(JSON.parse(stdout)).spec);
    }
  });

  it('has each pod’s interface with exactly the addresses and the MAC of its NetworkPort', async () => {
    for (const [pod, { addresses, mac }] of given) {
      const [link] = linkSchema.parse(await json(pod, 'address', 'show', 'dev', 'net1'));
      const has = link.addr_info.filter(({ scope }) => scope === 'global');
      expect(has.map(({ local }) => local)).toEqual(addresses);
      expect(has.map(({ prefixlen }) => prefixlen)).toEqual([24, 64]);
      expect(link.address).toBe(mac);
      expect(await eventsOf(pod)).not.toContain('AddressDiffers');
    }
    expect(
      new Set([...given.values()].flatMap(({ addresses, mac }) => [...addresses, mac])).size,
    ).toBe(6);
  });

  it('has packets arrive at these addresses and MACs, and from them', async () => {
    const from = { namespace, pod: pods.cnf, container: CNF };
    const other = given.get(pods.other);
    for (const [at, address] of other?.addresses.entries() ?? []) {
      expect(await connectFrom(cluster, from, [address, 8080])).toBe(
        given.get(pods.cnf)?.addresses[at],
      );
      const seen = await json(pods.cnf, 'neighbour', 'show', 'to', address, 'dev', 'net1');
      expect(neighboursSchema.parse(seen)).toMatchObject([{ lladdr: other?.mac }]);
    }
  });

  it('is not obeyed by an attachment that does not take MACs, and says so', async () => {
    const lacks = `attachment ${namespace}/deaf does not declare capability mac`;
    await until('the pod says it', async () =>
      (await eventsOf('unheard')).includes(lacks) ? true : undefined,
    );
    const condition = '--for=condition=NotObeyed';
    await cluster.kubectl(['wait', 'managednetwork/deaf', condition, '--timeout=500s']);
    const get = ['get', 'mnet', 'deaf', '-o', 'jsonpath={.status.conditions}'];
    expect((await cluster.kubectl(get)).stdout).toContain(lacks);
    expect((await getPod(cluster, namespace, 'unheard')).spec).toMatchObject(GATED);
  });
});
