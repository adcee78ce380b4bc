/**
 * Rules over attachments of the real Multus: it makes the interfaces, and the kubelet passes on
 * what it says of them. Their packets are in slow/multus.test.ts.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../../stack/cnf.ts';
import { readConfigFile, until } from '../../stack/observe.ts';
import { apply, waitForRules, waitInSync } from '../../stack/operator.ts';
import { rule, type Rule } from '../../stack/rules.ts';
import { firstPod, getPod, nodeCluster, PURPOSE } from './cluster.ts';
import { measured } from './figures.ts';
import { attachment, installMultus, MULTUS_CLASS } from './multus.ts';

const STATUS = 'k8s.v1.cni.cncf.io/network-status';

describe('attachments of the real Multus', async () => {
  const cluster = await nodeCluster();
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
    await installMultus(cluster);
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
        'k8s.v1.cni.cncf.io/networks': JSON.stringify(selections),
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
