/** A roll-out replaces the pods of a CNF one by one, and never leaves fewer configured ones than its strategy allows. */
import { beforeAll, describe, expect, it } from 'vitest';
import { holdsSeedRule, seedRules } from '../judge/seed-rules.ts';
import { createCnf } from '../stack/cnf.ts';
import { applyManifest } from '../stack/manifests.ts';
import { observePods, readCnf } from '../stack/observe.ts';
import { waitForPods, waitInSync } from '../stack/operator.ts';
import { e2eCluster } from './cluster.ts';

const PURPOSE = 'cnf-1';
const REPLICAS = 2;

describe('a rolling update of a CNF', async () => {
  const cluster = await e2eCluster();
  let namespace = '';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('rollout');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: REPLICAS });
    await applyManifest(cluster, namespace, 'seed-rules.yaml');
    await waitInSync(cluster, namespace, seedRules);
  });

  /** Names of the Ready pods, and how many of them lack a rule at that moment. */
  const look = async (): Promise<{ ready: string[]; unconfigured: string[] }> => {
    const pods = await observePods(cluster, namespace, PURPOSE);
    const ready = pods.filter((pod) => pod.ready && !pod.terminating).map(({ name }) => name);
    const holds = await Promise.all(
      ready.map(async (pod) => {
        const config = await readCnf(cluster, { namespace, pod });
        return seedRules.every((rule) => holdsSeedRule(config, rule));
      }),
    );
    return { ready, unconfigured: ready.filter((_, index) => !holds[index]) };
  };

  it('keeps both replicas configured at every look, and ends with new ones', async () => {
    const strategy = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    const template = { metadata: { annotations: { 'test/rollout': 'second' } } };
    const before = new Set(
      (await observePods(cluster, namespace, PURPOSE)).map(({ name }) => name),
    );
    const patch = JSON.stringify({ spec: { strategy, template } });
    await cluster.kubectl(['patch', '-n', namespace, `deployment/${PURPOSE}`, '-p', patch]);
    const rollout = cluster.kubectl(
      ['rollout', 'status', '-n', namespace, `deployment/${PURPOSE}`, '--timeout=90s'],
      { timeoutMs: 95_000 },
    );
    const over = new AbortController();
    void rollout.finally(() => over.abort()).catch(() => undefined);
    const fewest: number[] = [];
    while (!over.signal.aborted) {
      const { ready, unconfigured } = await look();
      // A pod that began to end between the two looks has no files any more.
      const stillReady = new Set((await look()).ready);
      expect(unconfigured.filter((pod) => stillReady.has(pod))).toEqual([]);
      fewest.push(ready.length);
    }
    await rollout;
    expect(Math.min(...fewest)).toBeGreaterThanOrEqual(REPLICAS);
    const after = await waitForPods(cluster, namespace, PURPOSE, REPLICAS);
    expect(after.filter(({ name }) => before.has(name))).toEqual([]);
    expect((await look()).unconfigured).toEqual([]);
  });
});
