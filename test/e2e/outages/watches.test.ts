/** An agent that may not watch, or whose kind is not served, changes nothing: rules stay, and nothing is confirmed. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../../stack/cnf.ts';
import { withoutRights } from '../../stack/faults.ts';
import { installed } from '../../stack/installation.ts';
import { observePods, observeRules, readCnf } from '../../stack/observe.ts';
import { apply, remove, waitForRules, waitGone, waitInSync } from '../../stack/operator.ts';
import { rule, zone } from '../../stack/rules.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-1';
const FORWARDING_CRD = 'firewallforwardings.batch.sdewan.akraino.org';
/** How long an agent that was refused is watched for doing nothing wrong. */
const QUIET_MS = 5_000;
/** Agent and coordinator notice a CRD within 5 s, both at a time; the rest is for a rule on a busy machine. */
const NOTICED_MS = 12_000;

describe('watches that fail', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  const lan = zone('lan1', 'ovn-net1');
  const wan = zone('wan1', 'ovn-net2');

  const zonesOf = async (pod: string): Promise<unknown[]> => {
    const config = await readCnf(cluster, { namespace, pod });
    return (config.get('firewall') ?? [])
      .filter(({ type }) => type === 'zone')
      .map(({ options }) => options['name']);
  };
  const onlyPod = async (): Promise<string> =>
    (await observePods(cluster, namespace, PURPOSE))[0]?.name ?? '';
  const restartAgent = async (): Promise<void> =>
    cluster.killContainer(
      { namespace, pod: await onlyPod(), container: 'sdewan-agent' },
      'SIGKILL',
    );

  beforeAll(async () => {
    namespace = await cluster.createNamespace('watches');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 });
    await apply(cluster, namespace, lan, wan);
    await waitInSync(cluster, namespace, [lan, wan]);
  });

  it('refused (403): rules stay, a deletion is not confirmed, and it recovers', async () => {
    const restoreRights = await withoutRights(cluster);
    await restartAgent();
    await remove(cluster, namespace, wan);
    await waitForRules(
      cluster,
      namespace,
      { what: 'not in sync', timeoutMs: 60_000 },
      (rules) => rules.length === 2 && rules.every(({ status }) => status?.inSync === false),
    );
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    expect(await observeRules(cluster, namespace)).toHaveLength(2);
    expect(await zonesOf(await onlyPod())).toEqual(expect.arrayContaining(['lan1', 'wan1']));

    await restoreRights();
    await waitGone(cluster, namespace, [wan]);
    await waitInSync(cluster, namespace, [lan]);
    expect(await zonesOf(await onlyPod())).not.toContain('wan1');
  });

  it('not served (404): the other kinds work, and it is watched once it is there', async () => {
    const crd = await installed(cluster, 'CustomResourceDefinition', FORWARDING_CRD);
    await cluster.kubectl(['delete', 'crd', FORWARDING_CRD]);
    try {
      await restartAgent();
      await apply(cluster, namespace, zone('dmz1', 'ovn-net2'));
      await waitInSync(cluster, namespace, ['FirewallZone/dmz1', lan]);
    } finally {
      await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(crd) });
      await cluster.kubectl(['wait', '--for=condition=Established', 'crd', FORWARDING_CRD]);
    }
    const forwarding = rule('FirewallForwarding', 'lan-dmz', { src: 'lan1', dest: 'dmz1' });
    await apply(cluster, namespace, forwarding);
    await waitInSync(cluster, namespace, [forwarding], 120_000);
  });

  it('deleted with its CRD: its rules leave OpenWRT, and new ones are in sync soon after the CRD is there again', async () => {
    const forwarding = rule('FirewallForwarding', 'again', { src: 'lan1', dest: 'lan1' });
    const forwardings = async (): Promise<number> => {
      const config = await readCnf(cluster, { namespace, pod: await onlyPod() });
      return (config.get('firewall') ?? []).filter(({ type }) => type === 'forwarding').length;
    };
    const others = await forwardings();
    await apply(cluster, namespace, forwarding);
    await waitInSync(cluster, namespace, [forwarding]);
    expect(await forwardings()).toBe(others + 1);
    const crd = await installed(cluster, 'CustomResourceDefinition', FORWARDING_CRD);
    await cluster.kubectl(['delete', 'crd', FORWARDING_CRD]);
    const left = await forwardings();
    await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(crd) });
    await cluster.kubectl(['wait', '--for=condition=Established', 'crd', FORWARDING_CRD]);
    const startedAt = performance.now();
    await apply(cluster, namespace, forwarding);
    await waitInSync(cluster, namespace, [forwarding]);
    expect(performance.now() - startedAt).toBeLessThan(NOTICED_MS);
    expect(left).toBeLessThanOrEqual(others);
  });
});
