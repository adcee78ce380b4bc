/** Rules, CNFs and references may come and go in any order. */
import { beforeEach, describe, expect, it } from 'vitest';
import { holdsSeedRule, seedRules } from '../judge/seed-rules.ts';
import { createCnf, deleteCnf } from '../stack/cnf.ts';
import { applyManifest, removeSeedRules } from '../stack/manifests.ts';
import { observePods, readCnf } from '../stack/observe.ts';
import {
  apply,
  remove,
  scale,
  waitForPods,
  waitForRules,
  waitGone,
  waitInSync,
} from '../stack/operator.ts';
import { inAnyOrder, rejectRule, zone } from '../stack/rules.ts';
import { e2eCluster } from './cluster.ts';

const PURPOSE = 'cnf-1';

describe('in any order', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  const cnf = () => ({ namespace, purpose: PURPOSE, replicas: 1 });
  const lan = inAnyOrder(zone('lan1', 'ovn-net1'));
  const reject = inAnyOrder(rejectRule(1, 'lan1'));

  const sectionsOf = async (type: string): Promise<Record<string, string | string[]>[]> => {
    const [pod] = await observePods(cluster, namespace, PURPOSE);
    const config = await readCnf(cluster, { namespace, pod: pod?.name ?? '' });
    return (config.get('firewall') ?? [])
      .filter((section) => section.type === type)
      .map(({ options }) => options);
  };

  beforeEach(async () => {
    namespace = await cluster.createNamespace('order');
  });

  it('rules before the CNF', async () => {
    await applyManifest(cluster, namespace, 'seed-rules.yaml');
    await createCnf(cluster, cnf());
    await waitInSync(cluster, namespace, seedRules);
  });

  it('the CNF deleted, then its rules: they go at once', async () => {
    await createCnf(cluster, cnf());
    await applyManifest(cluster, namespace, 'seed-rules.yaml');
    await waitInSync(cluster, namespace, seedRules);
    await deleteCnf(cluster, namespace, PURPOSE);
    await waitForPods(cluster, namespace, PURPOSE, 0);
    await removeSeedRules(cluster, namespace);
    await waitForRules(
      cluster,
      namespace,
      { what: 'all rules gone', timeoutMs: 15_000 },
      (rules) => rules.length === 0,
    );
  });

  it('rules kept while the CNF is deleted and made again', async () => {
    await createCnf(cluster, cnf());
    await applyManifest(cluster, namespace, 'seed-rules.yaml');
    await waitInSync(cluster, namespace, seedRules);
    await deleteCnf(cluster, namespace, PURPOSE);
    await waitForPods(cluster, namespace, PURPOSE, 0);
    await createCnf(cluster, cnf());
    await waitInSync(cluster, namespace, seedRules);
    const [pod] = await observePods(cluster, namespace, PURPOSE);
    const config = await readCnf(cluster, { namespace, pod: pod?.name ?? '' });
    expect(seedRules.filter((each) => !holdsSeedRule(config, each))).toEqual([]);
  });

  it('scaled to zero and back, a spec changed meanwhile', async () => {
    await createCnf(cluster, cnf());
    await apply(cluster, namespace, lan);
    await waitInSync(cluster, namespace, [lan]);
    await scale(cluster, namespace, PURPOSE, 0);
    await waitForPods(cluster, namespace, PURPOSE, 0);
    await waitForRules(
      cluster,
      namespace,
      { what: 'not in sync without pods', timeoutMs: 30_000 },
      ([first]) => first?.status?.inSync === false,
    );
    await apply(cluster, namespace, { ...lan, spec: { ...lan.spec, input: 'DROP' } });
    await scale(cluster, namespace, PURPOSE, 1);
    const [seen] = await waitInSync(cluster, namespace, [lan]);
    expect(seen?.status?.appliedVersion).toBe('2');
    expect(await sectionsOf('zone')).toContainEqual(
      expect.objectContaining({ name: 'lan1', input: 'DROP' }),
    );
  });

  it('a rule before its zone: it waits, its status says for what, and it is applied when the zone is created', async () => {
    await createCnf(cluster, cnf());
    await apply(cluster, namespace, reject);
    await waitForRules(
      cluster,
      namespace,
      { what: 'waiting for lan1', timeoutMs: 30_000 },
      ([first]) => JSON.stringify(first?.status ?? {}).includes('lan1'),
    );
    await apply(cluster, namespace, lan);
    await waitInSync(cluster, namespace, [lan, reject]);
  });

  it('a zone deleted while a rule uses it: kept until the rule is gone', async () => {
    await createCnf(cluster, cnf());
    await apply(cluster, namespace, lan, reject);
    await waitInSync(cluster, namespace, [lan, reject]);
    await remove(cluster, namespace, lan);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await sectionsOf('zone')).toContainEqual(expect.objectContaining({ name: 'lan1' }));
    await remove(cluster, namespace, reject);
    await waitGone(cluster, namespace, [lan, reject]);
    expect(await sectionsOf('zone')).not.toContainEqual(expect.objectContaining({ name: 'lan1' }));
  });
});
