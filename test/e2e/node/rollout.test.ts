/**
 * A rolling update: a pod that says Ready has all its rules, and there are never fewer of them than
 * the strategy allows.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../../stack/cnf.ts';
import { until } from '../../stack/observe.ts';
import { apply, waitInSync } from '../../stack/operator.ts';
import { countRules, nodeCluster, PURPOSE, waitForRulesOnAll, zoneAndRules } from './cluster.ts';
import { measured } from './figures.ts';

const REPLICAS = 2;
const RULES = 200;
const READY = '.status.conditions[?(@.type=="Ready")]';
const SEEN = `{.metadata.name}|{${READY}.status}|{.metadata.deletionTimestamp}|{${READY}.message}{"\\n"}`;

type Seen = { pod: string; isReady: boolean; isTerminating: boolean; why: string };

const textOf = (states: readonly Seen[]): string =>
  states
    .map(({ pod, isReady, isTerminating, why }) => {
      const ready = isReady ? 'ready' : `not ready: ${why}`;
      return `${pod} ${isTerminating ? 'is being deleted' : ready}`;
    })
    .join('; ');

describe(`a rolling update with ${RULES} rules`, async () => {
  const cluster = await nodeCluster();
  const rules = zoneAndRules(RULES);
  let namespace = '';

  /**
   * Every state of every pod, in the order in which the API server tells it. Resolves when aborted.
   */
  const watchPods = async (onSeen: (seen: Seen) => void, signal: AbortSignal): Promise<void> => {
    const [file = '', ...prefix] = cluster.kubectlCommand;
    const selector = ['-n', namespace, '-l', `sdewanPurpose=${PURPOSE}`];
    const watch = spawn(
      file,
      [...prefix, 'get', 'pods', ...selector, '--watch', '-o', `jsonpath=${SEEN}`],
      {
        env: { ...process.env, KUBECONFIG: cluster.kubeconfig },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    signal.addEventListener('abort', () => watch.kill(), { once: true });
    for await (const line of createInterface(watch.stdout)) {
      const [pod = '', ready = '', deleted = '', why = ''] = line.split('|');
      onSeen({ pod, isReady: ready === 'True', isTerminating: deleted !== '', why });
    }
    if (!signal.aborted) throw new Error('the watch ended by itself');
  };

  beforeAll(async () => {
    namespace = await cluster.createNamespace('rollout');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: REPLICAS });
    await apply(cluster, namespace, ...rules);
    await waitInSync(cluster, namespace, rules);
  });

  it('configures each pod before it says Ready, and has two at any time', async () => {
    const states = new Map<string, Seen>();
    // A busy node finds a pod not ready for a moment, which is not the update's doing.
    const readyOnce = new Set<string>();
    const configured: Promise<{ pod: string; rules: number }>[] = [];
    const moments: { up: number; states: Seen[] }[] = [];
    const stop = new AbortController();
    const watching = watchPods((seen) => {
      const { pod, isReady, isTerminating } = seen;
      states.set(pod, seen);
      if (isReady && !isTerminating && !readyOnce.has(pod)) {
        readyOnce.add(pod);
        configured.push(
          countRules(cluster, namespace, pod).then((count) => ({ pod, rules: count })),
        );
      }
      const now = [...states.values()];
      const up = now.filter((each) => readyOnce.has(each.pod) && !each.isTerminating).length;
      moments.push({ up, states: now });
    }, stop.signal);
    // A watch begins with a list, one pod after the other: there is no counting before all of it
    // has come.
    await until('the watch knows both pods', async () =>
      moments.at(-1)?.up === REPLICAS ? true : undefined,
    );
    moments.length = 0;

    const deployment = ['-n', namespace, `deployment/${PURPOSE}`];
    await measured(`rolling update of ${REPLICAS} pods with ${RULES} rules each`, async () => {
      await cluster.kubectl(['rollout', 'restart', ...deployment]);
      await cluster.kubectl(['rollout', 'status', ...deployment, '--timeout=500s']);
    });
    await waitForRulesOnAll(cluster, namespace, { pods: REPLICAS, rules: RULES });
    await waitInSync(cluster, namespace, rules);
    stop.abort();
    await watching;

    const counts = await Promise.all(configured);
    expect(counts.map(({ rules: count }) => count)).toEqual(counts.map(() => RULES));
    expect(counts).toHaveLength(2 * REPLICAS);
    const tooFew = moments.filter(({ up }) => up < REPLICAS).map(({ states: now }) => textOf(now));
    expect(tooFew).toEqual([]);
  });
});
