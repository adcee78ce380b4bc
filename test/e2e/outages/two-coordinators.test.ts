/**
 * The leader of two coordinators is killed and frozen, again and again, under twenty changes a
 * second, while CNF pods are deleted: it is replaced in time, pods come back, no rule leaves early,
 * and one that was frozen writes nothing when it goes on. Once each; at night thirty times. Both
 * are also rolled, and drained off the only node: no change is refused meanwhile.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { TIMES } from '#shared/runtime/testing.ts';
import { createCnf } from '../../stack/cnf.ts';
import { coordinatorReady } from '../../stack/faults.ts';
import { SYSTEM_NAMESPACE } from '../../stack/installation.ts';
import { observePods, podOf, readCnf, until } from '../../stack/observe.ts';
import { apply, waitForRules, waitInSync } from '../../stack/operator.ts';
import { rule, zone } from '../../stack/rules.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-1';
const REPLICAS = 2;
const RULES = 20;
const ROUNDS = Math.min(TIMES, 30);
/**
 * From what happens to the leader to another one that leads: the Lease, and how long a pod takes at
 * most where nothing is wrong.
 */
const LEASE_MS = 10_000;
/** Longer than the Lease. */
const FROZEN_MS = 14_000;
const CHANGE_EVERY_MS = 50;
const LEAST_CHANGES = 20;
const COORDINATORS = 'app=sdewan-coordinator';

const leaseSchema = objectSchema.extend({
  spec: z.object({ holderIdentity: z.string(), leaseTransitions: z.number() }),
});
const leases: ResourceType<z.infer<typeof leaseSchema>> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  schema: leaseSchema,
};
const rules: ResourceType = {
  group: 'batch.sdewan.akraino.org',
  version: 'v1alpha1',
  plural: 'firewallrules',
  kind: 'FirewallRule',
  schema: objectSchema,
};

const podsSchema = z.object({ items: z.array(z.unknown()) });
const lineSchema = z.object({
  time: z.union([z.number(), z.string()]),
  msg: z.string(),
  tookMs: z.number().default(0),
});
const WRITES =
  /^(status of a rule changed|finalizer of a rule removed|asked the controller of a CNF)/;

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

describe('of two coordinators, the one that leads is lost', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let client: KubeClient;
  /** By how much all may take longer on a machine that does much else. */
  let spareMs = 0;

  beforeAll(async () => {
    namespace = await cluster.createNamespace('two');
    client = createKubeClient({ config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }) });
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: REPLICAS });
    await apply(cluster, namespace, zone('lan1', 'ovn-net1'), ...names.map((name) => ruleOf(name)));
    await waitInSync(cluster, namespace, ids());
    const usual = [await losePod(), await losePod()];
    await waitInSync(cluster, namespace, ids());
    spareMs = Math.max(5_000, 3 * Math.max(...usual));
  });
  afterAll(async () => {
    await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
    await client.close();
  });

  const names = Array.from({ length: RULES }, (_, index) => `rule-${index}`);
  const ids = () => names.map((name) => `FirewallRule/${name}`);
  const ruleOf = (name: string) =>
    rule('FirewallRule', name, { src: 'lan1', proto: 'tcp', dest_port: '80', target: 'REJECT' });

  const lease = () =>
    client.get(leases, { namespace: SYSTEM_NAMESPACE, name: 'sdewan-coordinator' });
  const signal = (pod: string, name: NodeJS.Signals) =>
    cluster.killContainer({ namespace: SYSTEM_NAMESPACE, pod, container: 'coordinator' }, name);

  /**
   * Twenty a second at most, until it is stopped and there were enough. @throws where one is
   * refused
   */
  const change = async (stop: AbortSignal): Promise<void> => {
    let changes = 0;
    while (!stop.aborted || changes < LEAST_CHANGES) {
      const name = names[changes % RULES] ?? '';
      const body = { spec: { dest_port: String(1_000 + changes) } };
      const patching = client.patch(rules, { namespace, name }, { patch: { type: 'merge', body } });
      await Promise.all([patching, pause(CHANGE_EVERY_MS)]);
      changes += 1;
    }
  };

  /** One pod of the CNF goes; gives how long there were too few. */
  const losePod = async (): Promise<number> => {
    const live = (await observePods(cluster, namespace, PURPOSE)).find((pod) => !pod.terminating);
    const name = live?.name ?? '';
    await cluster.kubectl(['delete', 'pod', name, '-n', namespace, '--wait=false']);
    const startedAt = performance.now();
    await until('another pod in its place', async () => {
      const pods = await observePods(cluster, namespace, PURPOSE);
      return pods.filter(({ terminating }) => !terminating).length === REPLICAS || undefined;
    });
    return performance.now() - startedAt;
  };

  const takenOver = async (transitions: number): Promise<number> => {
    const startedAt = performance.now();
    await until('another term', async () => {
      const { spec } = await lease();
      return spec.leaseTransitions > transitions || undefined;
    });
    return performance.now() - startedAt;
  };

  /**
   * What a coordinator has begun to write since then: the answer to what was under way is read
   * after a freeze.
   */
  const writesOf = async (pod: string, since: number): Promise<string[]> => {
    const logs = ['logs', pod, '-n', SYSTEM_NAMESPACE, '-c', 'coordinator'];
    const lines = (await cluster.kubectl(logs)).stdout.split('\n').filter((line) => line !== '');
    return lines
      .map((line) => lineSchema.parse(JSON.parse(line)))
      .filter(
        ({ time, msg, tookMs }) => new Date(time).getTime() - tookMs > since && WRITES.test(msg),
      )
      .map(({ msg }) => msg);
  };

  /** A rule is deleted, and looked for on each CNF in the moment in which it is gone. */
  const deleteOne = async (name: string): Promise<readonly string[]> => {
    await client.delete(rules, { namespace, name });
    await waitForRules(cluster, namespace, { what: `${name} gone` }, (all) =>
      all.every(({ metadata }) => metadata.name !== name),
    );
    const holders: string[] = [];
    for (const pod of await observePods(cluster, namespace, PURPOSE)) {
      if (!pod.ready || pod.terminating) continue;
      const config = await readCnf(cluster, { namespace, pod: pod.name });
      if (config.get('firewall')?.some(({ name: section }) => section === sectionOf(name)))
        holders.push(pod.name);
    }
    return holders;
  };
  const sectionOf = (name: string): string => `sdewan_rule_${name.replaceAll('-', '_')}`;

  it.each(
    Array.from({ length: ROUNDS }, (_, round) => round + 1).flatMap((round) => [
      { how: 'killed', round },
      { how: 'frozen', round },
    ]),
  )('$how, round $round', async ({ how }) => {
    await coordinatorReady(cluster);
    const doomed = `doomed-${how}`;
    await apply(cluster, namespace, ruleOf(doomed));
    await waitInSync(cluster, namespace, [`FirewallRule/${doomed}`]);
    const { spec } = await lease();
    const leader = spec.holderIdentity;
    const stop = new AbortController();
    let wokenAt = Infinity;
    const changing = change(stop.signal);
    await signal(leader, how === 'killed' ? 'SIGKILL' : 'SIGSTOP');
    const losing = losePod();
    const deleting = deleteOne(doomed);
    const takenOverMs = await takenOver(spec.leaseTransitions);
    if (how === 'frozen') {
      await pause(Math.max(0, FROZEN_MS - takenOverMs));
      wokenAt = Date.now();
      await signal(leader, 'SIGCONT');
    }
    const podsBackMs = await losing;
    expect(await deleting).toEqual([]);
    stop.abort();
    await changing;
    expect(takenOverMs).toBeLessThan(LEASE_MS + spareMs);
    expect(podsBackMs).toBeLessThan(LEASE_MS + spareMs);
    await waitInSync(cluster, namespace, ids());
    expect(await writesOf(leader, wokenAt)).toEqual([]);
  });

  /** Names of those that are there to stay. */
  const coordinators = async (): Promise<Set<string>> => {
    const get = ['get', 'pods', '-n', SYSTEM_NAMESPACE, '-l', COORDINATORS, '-o', 'json'];
    const { items } = podsSchema.parse(JSON.parse((await cluster.kubectl(get)).stdout));
    const staying = items.map(podOf).filter(({ terminating }) => !terminating);
    return new Set(staying.map(({ name }) => name));
  };

  it.each([
    {
      what: 'a rolling update',
      replace: async () => {
        const deployment = ['deployment/sdewan-coordinator', '-n', SYSTEM_NAMESPACE];
        await cluster.kubectl(['rollout', 'restart', ...deployment]);
      },
    },
    {
      what: 'a drain of the only node',
      replace: async () => {
        const node = (await cluster.kubectl(['get', 'nodes', '-o', 'name'])).stdout.trim();
        const options = ['--ignore-daemonsets', '--delete-emptydir-data', '--force'];
        try {
          await cluster.kubectl([
            'drain',
            node,
            `--pod-selector=${COORDINATORS}`,
            ...options,
            '--timeout=500s',
          ]);
        } finally {
          await cluster.kubectl(['uncordon', node]);
        }
      },
    },
  ])('$what refuses no change, and CNF pods come back', async ({ replace }) => {
    await coordinatorReady(cluster);
    const before = await coordinators();
    const stop = new AbortController();
    const changing = change(stop.signal);
    const replacing = replace();
    const podsBackMs = await losePod();
    await replacing;
    await coordinatorReady(cluster);
    stop.abort();
    await changing;
    expect(podsBackMs).toBeLessThan(LEASE_MS + spareMs);
    const after = await coordinators();
    expect([...before].filter((name) => after.has(name))).toEqual([]);
    await waitInSync(cluster, namespace, ids());
  });
});
