/** The seed's four unusual cases, each with the coordinator down, the agents down, and both. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf, deleteCnf } from '../../stack/cnf.ts';
import { agentsDown, coordinatorDown, type Restore } from '../../stack/faults.ts';
import { holdsSeedRule, seedRules } from '../../openwrt/checks/seed-rules.ts';
import { applyManifest, removeSeedRules } from '../../stack/manifests.ts';
import { observePods, observeRules, readCnf, until } from '../../stack/observe.ts';
import { waitForPods, waitForRules, waitInSync } from '../../stack/operator.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-1';
type Outage = { coordinator: boolean; agents: boolean };
const outages: [string, Outage][] = [
  ['the coordinator', { coordinator: true, agents: false }],
  ['the agents', { coordinator: false, agents: true }],
  ['both', { coordinator: true, agents: true }],
];

describe.each(outages)('%s down', async (_name, outage) => {
  const cluster = await e2eCluster();
  let namespace = '';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('unusual');
  });

  const during = async (work: () => Promise<void>): Promise<void> => {
    const restores: Restore[] = [];
    if (outage.coordinator) restores.push(await coordinatorDown(cluster));
    if (outage.agents) restores.push(await agentsDown(cluster, namespace, PURPOSE));
    try {
      await work();
    } finally {
      for (const restore of restores.reverse()) await restore();
    }
  };

  const restartsOf = async (pod: string): Promise<number> => {
    const path = 'jsonpath={.status.containerStatuses[0].restartCount}';
    const { stdout } = await cluster.kubectl(['get', 'pod', pod, '-n', namespace, '-o', path]);
    return Number(stdout);
  };

  const allHoldTheRules = (): Promise<true> =>
    until('every pod with all rules', async () => {
      const pods = await observePods(cluster, namespace, PURPOSE);
      const configs = await Promise.all(
        pods.map(({ name }) => readCnf(cluster, { namespace, pod: name })),
      );
      const isWhole = configs.every((each) => seedRules.every((rule) => holdsSeedRule(each, rule)));
      return isWhole ? true : undefined;
    });

  const expectOnAllPods = async (present: boolean): Promise<void> => {
    for (const { name } of await observePods(cluster, namespace, PURPOSE)) {
      const config = await readCnf(cluster, { namespace, pod: name });
      expect(seedRules.filter((rule) => holdsSeedRule(config, rule) !== present)).toEqual([]);
    }
  };

  it('CNF and rules created meanwhile: in sync afterwards', async () => {
    await during(async () => {
      await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 }, { wait: false });
      await applyManifest(cluster, namespace, 'seed-rules.yaml');
    });
    await waitInSync(cluster, namespace, seedRules);
    await expectOnAllPods(true);
  });

  it('shows in the status that the CNF is not ready for a while, and recovers', async () => {
    const [first] = await observePods(cluster, namespace, PURPOSE);
    const pod = first?.name ?? '';
    const restarts = await restartsOf(pod);
    await during(() => cluster.killContainer({ namespace, pod, container: 'sdewan' }, 'SIGKILL'));
    // The kubelet has to notice, then the agent: until then all looks well.
    await until(`${pod} restarted`, async () =>
      (await restartsOf(pod)) > restarts ? true : undefined,
    );
    await allHoldTheRules();
    await waitForPods(cluster, namespace, PURPOSE, 2);
    await waitInSync(cluster, namespace, seedRules);
    await expectOnAllPods(true);
  });

  it('brings back the rules of a CNF pod that is restarted meanwhile', async () => {
    const [pod] = await observePods(cluster, namespace, PURPOSE);
    await during(async () => {
      await cluster.kubectl([
        'delete',
        'pod',
        '-n',
        namespace,
        pod?.name ?? '',
        '--grace-period=1',
        '--wait=false',
      ]);
    });
    await waitForPods(cluster, namespace, PURPOSE, 2);
    await waitInSync(cluster, namespace, seedRules);
    await expectOnAllPods(true);
  });

  it('rules deleted meanwhile: they stay until confirmed, then go', async () => {
    await during(async () => {
      await removeSeedRules(cluster, namespace);
      expect(await observeRules(cluster, namespace)).toHaveLength(seedRules.length);
    });
    await waitForRules(
      cluster,
      namespace,
      { what: 'all rules gone' },
      (rules) => rules.length === 0,
    );
    await expectOnAllPods(false);
    await deleteCnf(cluster, namespace, PURPOSE);
  });
});
