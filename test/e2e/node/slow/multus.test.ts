/**
 * Packets through a real OpenWRT that the real Multus attaches to a branch and to two uplinks: they
 * go by the rules, which name the attachments, and leave by the uplink of the Mwan3Policy.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { buildDeviceImage, whyNoDeviceImage } from '../../../deploy/images/device.ts';
import { apply, waitForPods, waitInSync } from '../../../stack/operator.ts';
import { rule, type Rule } from '../../../stack/rules.ts';
import { firstPod, nodeCluster, PURPOSE } from '../cluster.ts';
import { attachment, installMultus, MULTUS_CLASS } from '../multus.ts';
import { connectFrom, IDLE, openwrtCnf, peer, serving } from './edge.ts';

const because = whyNoDeviceImage();
if (because !== undefined)
  console.warn(`cannot run: packets through attachments of Multus, since ${because}`);

const SETTLES = { timeout: 300_000, interval: 500 };
/** A server outside the cluster, which answers at the far end of each uplink with its name. */
const SERVER = '203.0.113.7';
type Selection = { name: string; namespace: string; ips: string[] };
const selecting = (...selections: Selection[]) => ({
  'k8s.v1.cni.cncf.io/networks': JSON.stringify(selections),
});

describe.skipIf(because !== undefined)('packets through attachments of Multus', async () => {
  const cluster = await nodeCluster();
  let namespace = '';
  let uplinks = '';

  const inNetworkOf = async (pod: string, ...argv: string[]): Promise<string> => {
    const { code, stdout, stderr } = await cluster.node.inPodNetwork({ namespace, pod }, argv);
    if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`);
    return stdout;
  };
  const send = (port: number) => connectFrom(cluster, { namespace, pod: 'branch' }, [SERVER, port]);
  /** Uplinks, the preferred one first. */
  const policy = (...names: string[]): Rule =>
    rule('Mwan3Policy', 'preferred', {
      members: names.map((name, at) => ({
        network: `${uplinks}/${name}`,
        metric: at + 1,
        weight: 1,
      })),
    });
  let rules: Rule[] = [];

  beforeAll(async () => {
    await cluster.loadImages([await buildDeviceImage()]);
    await installMultus(cluster);
    namespace = await cluster.createNamespace('multus');
    uplinks = await cluster.createNamespace('multus-uplinks');
    await apply(cluster, namespace, attachment('lan', 'lan'));
    await apply(cluster, uplinks, attachment('wan-1', 'wan-1'), attachment('wan-2', 'wan-2'));
    const on = { runtimeClassName: MULTUS_CLASS };
    const lan = (address: string) => ({ name: 'lan', namespace, ips: [`${address}/24`] });
    const wan = (name: string, address: string) => ({
      name,
      namespace: uplinks,
      ips: [`${address}/24`],
    });
    await apply(
      cluster,
      namespace,
      peer('branch', IDLE, on, selecting(lan('10.79.1.10'))),
      peer('isp-1', serving('isp-1'), on, selecting(wan('wan-1', '10.79.2.1'))),
      peer('isp-2', serving('isp-2'), on, selecting(wan('wan-2', '10.79.3.1'))),
      ...openwrtCnf({
        ...on,
        annotations: selecting(
          lan('10.79.1.1'),
          wan('wan-1', '10.79.2.2'),
          wan('wan-2', '10.79.3.2'),
        ),
        env: { CNF_GATEWAYS: 'net2=10.79.2.1 net3=10.79.3.1' },
      }),
    );
    await waitForPods(cluster, namespace, PURPOSE, 1);
    const peers = ['branch', 'isp-1', 'isp-2'].map((name) => `pod/${name}`);
    await cluster.kubectl(['wait', '-n', namespace, '--for=condition=Ready', ...peers]);
    await inNetworkOf('branch', 'ip', 'route', 'add', SERVER, 'via', '10.79.1.1');
    for (const isp of ['isp-1', 'isp-2'])
      await inNetworkOf(isp, 'ip', 'address', 'add', `${SERVER}/32`, 'dev', 'lo');
    const out = { src: 'branch', dest: 'uplink' };
    const toServer = { ...out, proto: 'tcp', dest_ip: SERVER };
    rules = [
      rule('FirewallZone', 'branch', { network: ['lan'], input: 'DROP' }),
      rule('FirewallZone', 'uplink', {
        network: ['wan-1', 'wan-2'].map((name) => `${uplinks}/${name}`),
        input: 'DROP',
        masq: '1',
      }),
      rule('FirewallForwarding', 'out', out),
      rule('FirewallRule', 'no-81', { ...toServer, dest_port: '81', target: 'REJECT' }),
      policy('wan-1', 'wan-2'),
      // mwan3 routes what the pod itself sends, too: for all addresses the agent would be cut off.
      rule('Mwan3Rule', 'to-server', { policy: 'preferred', dest_ip: SERVER, proto: 'all' }),
    ];
    await apply(cluster, namespace, ...rules);
  });

  it('come after rules in sync, on the interfaces that Multus has made', async () => {
    await waitInSync(cluster, namespace, rules);
    const pod = await firstPod(cluster, namespace);
    const firewall = await inNetworkOf(pod, 'nft', 'list', 'table', 'inet', 'fw4');
    expect(firewall).toMatch(/iifname "net1" jump forward_branch/);
    expect(firewall).toMatch(/iifname \{ "net2", "net3" \} jump forward_uplink/);
  });

  it('pass, or are refused, as the rules say, by the uplink of the policy', async () => {
    await expect.poll(() => send(80), SETTLES).toBe('isp-1');
    expect(await send(81)).toBe('ECONNREFUSED');
  });

  it('leave by the other uplink once the policy prefers it', async () => {
    await apply(cluster, namespace, policy('wan-2', 'wan-1'));
    await waitInSync(cluster, namespace, rules);
    await expect.poll(() => send(80), SETTLES).toBe('isp-2');
    expect(await send(81)).toBe('ECONNREFUSED');
  });
});
