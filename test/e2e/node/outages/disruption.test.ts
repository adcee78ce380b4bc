/**
 * What happens to pods, daemons and the coordinator on a cluster: rules and statuses are right
 * after each.
 */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../../../stack/cnf.ts';
import { coordinatorReady } from '../../../stack/faults.ts';
import { observePods, until } from '../../../stack/observe.ts';
import {
  apply,
  remove,
  scale,
  waitForPods,
  waitForRules,
  waitGone,
  waitInSync,
} from '../../../stack/operator.ts';
import { firstPod, nodeCluster, PURPOSE, waitForRulesOnAll, zoneAndRules } from '../cluster.ts';
import { measured } from '../figures.ts';

const RULES = 20;
const SYSTEM = 'sdewan-system';
const COORDINATOR = 'sdewan-coordinator';

describe('a CNF with twenty rules', async () => {
  const cluster = await nodeCluster();
  const [, ...rules] = zoneAndRules(RULES);
  const removed = rules.slice(0, 1);
  let namespace = '';
  let replicas = 2;

  const inSyncOn = async (pods: number): Promise<void> => {
    const count = `${pods}/${pods}`;
    await waitForRules(
      cluster,
      namespace,
      { what: `all rules in sync on ${pods}` },
      (seen) => seen.length === RULES + 1 && seen.every(({ status }) => status?.inSync === true),
    );
    // The count of pods follows within two seconds, when nothing else has changed.
    await until(`kubectl get sdewan shows ${count}`, async () => {
      const { stdout } = await cluster.kubectl(['get', 'sdewan', '-n', namespace, '--no-headers']);
      const lines = stdout.trim().split('\n');
      return lines.every((line) => line.includes(count)) || undefined;
    });
  };

  beforeAll(async () => {
    namespace = await cluster.createNamespace('disruption');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas });
    await apply(cluster, namespace, ...zoneAndRules(RULES));
    await inSyncOn(replicas);
  });

  /** A rule that goes and comes again: deletions are confirmed, and new rules arrive. */
  afterEach(async () => {
    await waitForRulesOnAll(cluster, namespace, { pods: replicas, rules: RULES });
    await inSyncOn(replicas);
    await remove(cluster, namespace, ...removed);
    await waitGone(cluster, namespace, removed);
    await waitForRulesOnAll(cluster, namespace, { pods: replicas, rules: RULES - 1 });
    await apply(cluster, namespace, ...removed);
    await waitInSync(cluster, namespace, removed);
  });

  it('scaled from two to ten', async () => {
    replicas = 10;
    await scale(cluster, namespace, PURPOSE, replicas);
    await measured('scaled from 2 to 10, until all ten hold the rules', () =>
      waitForRulesOnAll(cluster, namespace, { pods: 10, rules: RULES }),
    );
  });

  it('scaled from ten to one', async () => {
    replicas = 1;
    await scale(cluster, namespace, PURPOSE, replicas);
    expect(await waitForPods(cluster, namespace, PURPOSE, replicas)).toHaveLength(replicas);
  });

  it('recovers from a pod that is evicted, as kubectl drain does', async () => {
    const pod = await firstPod(cluster, namespace);
    const eviction = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: pod, namespace },
    };
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`;
    await cluster.kubectl(['create', '--raw', path, '-f', '-'], {
      stdin: JSON.stringify(eviction),
    });
    await goneAway(pod);
  });

  it('recovers from a pod that is force-deleted', async () => {
    const pod = await firstPod(cluster, namespace);
    await cluster.kubectl(['delete', 'pod', pod, '-n', namespace, '--grace-period=0', '--force']);
    await goneAway(pod);
  });

  // A kubelet that starts runs startup probes anew, and pods are not Ready until then: without
  // containerd that would be for ever.
  it.each(['containerd', 'kubelet'] as const)(
    'recovers when the %s is killed, a rule changed meanwhile, and it starts again',
    async (daemon) => {
      await cluster.node.stopDaemon(daemon);
      try {
        const changed = rules.slice(1, 2).map((rule) => ({
          ...rule,
          spec: { ...rule.spec, dest_port: daemon === 'kubelet' ? '81' : '82' },
        }));
        await apply(cluster, namespace, ...changed);
        // Neither agents nor coordinator need it.
        await waitInSync(cluster, namespace, changed);
      } finally {
        await cluster.node.startDaemon(daemon);
      }
    },
  );

  it('recovers when the coordinator pod is deleted', async () => {
    await cluster.kubectl([
      'delete',
      'pod',
      '-n',
      SYSTEM,
      '-l',
      `app=${COORDINATOR}`,
      '--wait=false',
    ]);
    await coordinatorReady(cluster);
  });

  it("recovers when the coordinator's Service is made again, with another address", async () => {
    const get = ['get', 'service', COORDINATOR, '-n', SYSTEM, '-o', 'json'];
    const { spec, metadata }: ServiceObject = JSON.parse((await cluster.kubectl(get)).stdout);
    const { clusterIP, clusterIPs: _, ...kept } = spec;
    const { name, labels } = metadata;
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: SYSTEM, labels },
      spec: kept,
    };
    await cluster.kubectl(['delete', 'service', COORDINATOR, '-n', SYSTEM]);
    await apply(cluster, SYSTEM, service);
    const after: ServiceObject = JSON.parse((await cluster.kubectl(get)).stdout);
    expect(after.spec.clusterIP).not.toBe(clusterIP);
  });

  const goneAway = (pod: string): Promise<true> =>
    until(`${pod} gone`, async () => {
      const pods = await observePods(cluster, namespace, PURPOSE);
      return pods.some(({ name }) => name === pod) ? undefined : true;
    });
});

type ServiceObject = {
  metadata: { name: string; labels: Record<string, string> };
  spec: { clusterIP: string; clusterIPs: string[] };
};
