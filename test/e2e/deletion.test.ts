/** A deleted rule goes from Kubernetes only when it is gone from every CNF. */
import { beforeEach, describe, expect, it } from 'vitest';
import { createCnf } from '../stack/cnf.ts';
import { agentsDown } from '../stack/faults.ts';
import { goneSince, readJournal } from '../stack/journal.ts';
import { observePods, observeRules, ruleId } from '../stack/observe.ts';
import { apply, remove, waitForRules, waitGone, waitInSync } from '../stack/operator.ts';
import { idOf, zone } from '../stack/rules.ts';
import { e2eCluster } from './cluster.ts';

const PURPOSE = 'cnf-1';

describe('deletion', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  const lan = zone('lan1', 'ovn-net1');
  const isLan = (options: Record<string, string | string[]>) => options['name'] === 'lan1';

  beforeEach(async () => {
    namespace = await cluster.createNamespace('delete');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 });
    await apply(cluster, namespace, lan);
    await waitInSync(cluster, namespace, [lan]);
  });

  it('with one agent stopped: the CR stays and names the pod, and goes when the agent is back', async () => {
    const [first, second] = await observePods(cluster, namespace, PURPOSE);
    const restore = await agentsDown(cluster, namespace, PURPOSE, [first?.name ?? '']);
    await remove(cluster, namespace, lan);
    await waitForRules(
      cluster,
      namespace,
      { what: `blocked by ${first?.name}`, timeoutMs: 30_000 },
      ([seen]) =>
        JSON.stringify(seen?.status ?? {}).includes(first?.name ?? '?') &&
        !JSON.stringify(seen?.status ?? {}).includes(second?.name ?? '?'),
    );
    await restore();
    await waitGone(cluster, namespace, [lan]);
  });

  it('the journals prove that no finalizer went before the section was gone from every pod', async () => {
    const pods = await observePods(cluster, namespace, PURPOSE);
    await remove(cluster, namespace, lan);
    await cluster.kubectl([
      'wait',
      '-n',
      namespace,
      '--for=delete',
      'firewallzone/lan1',
      '--timeout=30s',
    ]);
    const crGone = Date.now();
    for (const { name } of pods) {
      const since = goneSince(
        await readJournal(cluster, { namespace, pod: name }),
        'firewall',
        isLan,
      );
      expect(since).toBeDefined();
      expect(since).toBeLessThan(crGone);
    }
  });

  it('re-created under the same name while the old one is being confirmed: the new one is whole', async () => {
    const [first] = await observePods(cluster, namespace, PURPOSE);
    const restore = await agentsDown(cluster, namespace, PURPOSE, [first?.name ?? '']);
    await remove(cluster, namespace, lan);
    const again = cluster.kubectl([
      'wait',
      '-n',
      namespace,
      '--for=delete',
      'firewallzone/lan1',
      '--timeout=60s',
    ]);
    await restore();
    await again;
    await apply(cluster, namespace, { ...lan, spec: { ...lan.spec, input: 'DROP' } });
    const [seen] = await waitInSync(cluster, namespace, [lan]);
    expect(seen?.status?.appliedVersion).toBe('1');
    const { stdout } = await cluster.kubectl([
      'get',
      '-n',
      namespace,
      'firewallzone/lan1',
      '-o',
      'jsonpath={.metadata.finalizers}',
    ]);
    expect(stdout).toContain('sdewan.akraino.org/agents');
    expect((await observeRules(cluster, namespace)).map(ruleId)).toEqual([idOf(lan)]);
  });
});
