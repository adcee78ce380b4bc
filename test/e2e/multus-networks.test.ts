/**
 * Rules over networks of Multus, beside those of Nodus: what is not known yet is waited for and
 * said, and followed when it comes, changes and goes.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../stack/cnf.ts';
import { observePods, readConfigFile, until } from '../stack/observe.ts';
import { apply, waitForRules, waitInSync } from '../stack/operator.ts';
import { rule } from '../stack/rules.ts';
import { e2eCluster } from './cluster.ts';

const PURPOSE = 'cnf-1';
const STATUS = 'k8s.v1.cni.cncf.io/network-status';

const zoneOn = (name: string, ...network: string[]) => rule('FirewallZone', name, { network });
const member = (network: string) => ({ network, metric: 1, weight: 1 });
const lan = zoneOn('zlan', 'lan', 'apps/wan', 'ovn-priv-net');
const both = rule('Mwan3Policy', 'both', { members: [member('lan'), member('apps/wan')] });

describe('networks of Multus', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let pod = '';

  const fileOf = (file: string): Promise<string | undefined> =>
    readConfigFile(cluster, { namespace, pod }, file);
  const multusSays = async (...entries: [string, string][]): Promise<void> => {
    const text = JSON.stringify([
      { name: 'cbr0', interface: 'eth0', default: true },
      ...entries.map(([name, device]) => ({ name, interface: device, ips: [] })),
    ]);
    const annotate = ['annotate', '-n', namespace, `pod/${pod}`, '--overwrite'];
    await cluster.kubectl([...annotate, `${STATUS}=${text}`]);
  };
  /** Why both are not in sync, once that is said of both. */
  const whyBothWait = async (says: RegExp): Promise<string> => {
    await waitForRules(cluster, namespace, { what: 'both rules wait' }, (rules) =>
      rules.every(({ status }) => says.test(status?.message ?? '')),
    );
    const reasons = 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].reason}';
    return (await cluster.kubectl(['get', 'sdewan', '-n', namespace, '-o', reasons])).stdout;
  };
  const WAITING = 'WaitingForNetwork WaitingForNetwork';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('multus');
    const selections = JSON.stringify([
      { name: 'lan' },
      { name: 'wan', namespace: 'apps', interface: 'net2' },
    ]);
    await createCnf(cluster, {
      namespace,
      purpose: PURPOSE,
      replicas: 1,
      annotations: { 'k8s.v1.cni.cncf.io/networks': selections },
    });
    pod = (await observePods(cluster, namespace, PURPOSE))[0]?.name ?? '';
  });

  it('are refused where the pod does not have them, with those of both kinds that it has', async () => {
    await expect(apply(cluster, namespace, zoneOn('none', 'wan'))).rejects.toThrow(
      'it has: apps/wan, lan, ovn-net1, ovn-net2, ovn-priv-net',
    );
  });

  it('are waited for until Multus says which interface they are', async () => {
    await apply(cluster, namespace, lan, both);
    expect(
      await whyBothWait(
        /interface network lan is; it has: apps\/wan, lan, ovn-net1, ovn-net2, ovn-priv-net/,
      ),
    ).toBe(WAITING);
  });

  it('are followed once it does', async () => {
    await multusSays([`${namespace}/lan`, 'net1'], ['apps/wan', 'net2']);
    await waitInSync(cluster, namespace, [lan, both]);
    for (const device of ['net1', 'net2', 'net0'])
      expect(await fileOf('firewall')).toMatch(new RegExp(`list network '?${device}'?`));
    expect(await fileOf('mwan3')).toMatch(/config member '?both_net1'?/);
  });

  it('are followed to another interface', async () => {
    await multusSays([`${namespace}/lan`, 'net7'], ['apps/wan', 'net2']);
    const zone = await until('the zone is on net7', async () => {
      const text = await fileOf('firewall');
      return text?.includes('net7') === true ? text : undefined;
    });
    expect(zone).not.toMatch(/list network '?net1'?/);
  });

  it('wait again when Multus takes back what it said', async () => {
    await cluster.kubectl(['annotate', '-n', namespace, `pod/${pod}`, `${STATUS}-`]);
    expect(await whyBothWait(/network lan/)).toBe(WAITING);
  });
});
