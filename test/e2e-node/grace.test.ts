/**
 * A CNF whose OpenWRT uses up the grace period when its pod is deleted: the kubelet then gives the agent two seconds. Rules
 * change all the while, so that it is killed at whatever point of a transaction.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../stack/cnf.ts';
import { observePods, until } from '../stack/observe.ts';
import { apply, remove, waitForPods, waitGone, waitInSync } from '../stack/operator.ts';
import { firstPod, nodeCluster, PURPOSE, waitForRulesOnAll, zoneAndRules } from './cluster.ts';

const GRACE_SECONDS = 3;
/** Of the main container's end; the agent's comes within two seconds after it. */
const ROUNDS = [0, 1, 2];
const RULES = 30;

describe('pods that use up their grace period while rules change', async () => {
  const cluster = await nodeCluster();
  const [lan, ...rules] = zoneAndRules(RULES);
  const half = RULES / 2;
  let namespace = '';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('grace');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 });
    await apply(cluster, namespace, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'cnf-1-entrypoint' },
      data: { 'entrypoint.sh': "trap '' TERM\nopenwrt\n" },
    });
    const template = { spec: { terminationGracePeriodSeconds: GRACE_SECONDS } };
    await cluster.kubectl([
      'patch',
      '-n',
      namespace,
      `deployment/${PURPOSE}`,
      '-p',
      JSON.stringify({ spec: { template } }),
    ]);
    await until('the old pod gone', 180_000, async () => {
      const { stdout } = await cluster.kubectl([
        'get',
        'pods',
        '-n',
        namespace,
        '-o',
        'jsonpath={.items[*].spec.terminationGracePeriodSeconds}',
      ]);
      return stdout.trim() === String(GRACE_SECONDS) ? true : undefined;
    });
    await waitForPods(cluster, namespace, PURPOSE, 1);
    if (lan) await apply(cluster, namespace, lan);
    await apply(cluster, namespace, ...rules.slice(0, half));
    await waitInSync(cluster, namespace, rules.slice(0, half), 120_000);
  });

  it.each(ROUNDS)('round %s: the next agent mends whatever was left', async (round) => {
    const [deleted, created] =
      round % 2 === 0
        ? [rules.slice(0, half), rules.slice(half)]
        : [rules.slice(half), rules.slice(0, half)];
    const pod = await firstPod(cluster, namespace);
    await cluster.kubectl(['delete', 'pod', pod, '-n', namespace, '--wait=false']);
    await sleep(round * 700);
    // In threes, so that the agent writes again and again until its end.
    for (let index = 0; index < half; index += 3) {
      await remove(cluster, namespace, ...deleted.slice(index, index + 3));
      await apply(cluster, namespace, ...created.slice(index, index + 3));
    }
    await waitGone(cluster, namespace, deleted, 120_000);
    await waitInSync(cluster, namespace, created, 120_000);
    await waitForRulesOnAll(cluster, namespace, { pods: 1, rules: half });
    const [after] = await observePods(cluster, namespace, PURPOSE);
    expect(after?.name).not.toBe(pod);
  });
});
