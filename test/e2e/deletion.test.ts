/** A deleted rule leaves Kubernetes only when it is gone from every CNF. */
import { beforeEach, describe, expect, it } from 'vitest';
import { createCnf } from '../stack/cnf.ts';
import { agentsDown } from '../stack/faults.ts';
import { readJournal } from '../stack/journal.ts';
import { goneSince } from '../openwrt/checks/in-force.ts';
import { observePods, observeRules, ruleId } from '../stack/observe.ts';
import { apply, remove, waitForRules, waitGone, waitInSync } from '../stack/operator.ts';
import { idOf, zone } from '../stack/rules.ts';
import { witness } from '../stack/witness.ts';
import { e2eCluster } from './cluster.ts';

const PURPOSE = 'cnf-1';
/** A confirmation before the reload of the firewall shows as early by this much. */
const RELOAD_MS = 2_000;

describe('deletion on CNFs whose firewall takes two seconds to reload', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  const lan = zone('lan1', 'ovn-net1');
  const isLan = (options: Record<string, string | string[]>) => options['name'] === 'lan1';

  beforeEach(async () => {
    namespace = await cluster.createNamespace('delete');
    const cnf = { namespace, purpose: PURPOSE, replicas: 2, reloadMs: RELOAD_MS };
    await createCnf(cluster, cnf);
    await apply(cluster, namespace, lan);
    await waitInSync(cluster, namespace, [lan]);
  });

  /** By the watch for the CR, and by each device's journal for its section. */
  const expectGoneFromCnfsFirst = async (): Promise<void> => {
    const { goneAt } = await witness(cluster, namespace);
    for (const { name } of await observePods(cluster, namespace, PURPOSE)) {
      const journal = await readJournal(cluster, { namespace, pod: name });
      const since = goneSince(journal, 'firewall', isLan);
      expect(since).toBeLessThanOrEqual(goneAt(idOf(lan)));
    }
  };

  it('removes no finalizer before every firewall was reloaded without the zone', async () => {
    await remove(cluster, namespace, lan);
    await waitGone(cluster, namespace, [lan]);
    await expectGoneFromCnfsFirst();
  });

  it('keeps a CR that names a pod with a frozen agent, and removes it when the agent is back', async () => {
    const [first, second] = await observePods(cluster, namespace, PURPOSE);
    const restore = await agentsDown(cluster, namespace, PURPOSE, [first?.name ?? '']);
    await remove(cluster, namespace, lan);
    await waitForRules(
      cluster,
      namespace,
      { what: `blocked by ${first?.name}` },
      ([seen]) =>
        JSON.stringify(seen?.status ?? {}).includes(first?.name ?? '?') &&
        !JSON.stringify(seen?.status ?? {}).includes(second?.name ?? '?'),
    );
    await restore();
    await waitGone(cluster, namespace, [lan]);
    await expectGoneFromCnfsFirst();
  });

  it('re-created under the same name while the old one is being confirmed: the new one is whole', async () => {
    const [first] = await observePods(cluster, namespace, PURPOSE);
    const restore = await agentsDown(cluster, namespace, PURPOSE, [first?.name ?? '']);
    await remove(cluster, namespace, lan);
    await restore();
    await waitGone(cluster, namespace, [lan]);
    await apply(cluster, namespace, { ...lan, spec: { ...lan.spec, input: 'DROP' } });
    const [seen] = await waitInSync(cluster, namespace, [lan]);
    expect(seen?.status?.appliedVersion).toBe('1');
    expect(seen?.metadata.finalizers).toContain('sdewan.akraino.org/agents');
    expect((await observeRules(cluster, namespace)).map(ruleId)).toEqual([idOf(lan)]);
  });
});
