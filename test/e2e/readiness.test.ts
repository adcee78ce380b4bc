import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../stack/cnf.ts';
import { cnfHangs } from '../stack/faults.ts';
import { observePods, observeRules } from '../stack/observe.ts';
import { apply, waitForRules, waitInSync } from '../stack/operator.ts';
import { zone } from '../stack/rules.ts';
import { e2eCluster } from './cluster.ts';

describe('status follows the readiness of the pods', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  const lan = zone('lan1', 'ovn-net1');

  beforeAll(async () => {
    namespace = await cluster.createNamespace('ready');
    await createCnf(cluster, { namespace, purpose: 'cnf-1', replicas: 2 });
    await apply(cluster, namespace, lan);
    await waitInSync(cluster, namespace, [lan]);
  });

  it('keeps appliedTime over heartbeats', async () => {
    const [before] = await observeRules(cluster, namespace);
    await new Promise((resolve) => setTimeout(resolve, 15_000));
    const [after] = await observeRules(cluster, namespace);
    expect(after?.status?.appliedTime).toBe(before?.status?.appliedTime);
  });

  it('a pod that is not Ready takes inSync, appliedVersion and appliedTime away, and is named', async () => {
    const [pod] = await observePods(cluster, namespace, 'cnf-1');
    const name = pod?.name ?? '';
    const restore = await cnfHangs(cluster, namespace, name);
    const [seen] = await waitForRules(
      cluster,
      namespace,
      { what: 'not in sync', timeoutMs: 60_000 },
      ([first]) => {
        return first?.status?.inSync === false;
      },
    );
    expect(seen?.status?.appliedVersion).toBeUndefined();
    expect(seen?.status?.appliedTime).toBeUndefined();
    expect(JSON.stringify(seen?.status)).toContain(name);
    await restore();
    await waitInSync(cluster, namespace, [lan]);
  });
});
