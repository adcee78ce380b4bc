/**
 * Ten of Kubernetes' cases on containers whose packets pass a CNF's pod: from `kubectl apply` by
 * coordinator, agent and rpcd to the kernel.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CASES, deniedPairs, PODS, type Step } from '../../../kernel/policy/cases.ts';
import { nodeCluster } from '../cluster.ts';
import { createPodsBehindCnf, IS_REAL, type PodsBehindCnf } from './pods-behind-cnf.ts';

/** One of every sort of peer, port and step. */
const NUMBERS = new Set([2, 9, 11, 18, 19, 22, 28, 36, 49, 50]);
const SETTLES = { timeout: 300_000, interval: 500 };

const openwrt = IS_REAL ? 'a real OpenWRT' : 'a simulated OpenWRT';

describe(`packets between pods whose way leads through a CNF, ${openwrt}`, async () => {
  const cluster = await nodeCluster();
  let pods: PodsBehindCnf;
  beforeAll(async () => {
    pods = await createPodsBehindCnf(cluster);
  });
  afterAll(() => pods.close());

  const label = async (labels: Step['labels'] = {}, isGone = false): Promise<void> => {
    for (const [pod, own] of Object.entries(labels)) {
      const [namespace = '', name = ''] = pod.split('/');
      const words = Object.entries(own).map(([key, value]) =>
        isGone ? `${key}-` : `${key}=${value}`,
      );
      await cluster.kubectl(['label', 'pod', name, '-n', pods.namespaceOf(namespace), ...words]);
    }
  };
  const bring = async ({ policies }: Step): Promise<void> => {
    const wanted = policies(pods.blocks);
    const items = wanted.map(({ namespace, name, spec }) => ({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { namespace: pods.namespaceOf(namespace), name },
      spec,
    }));
    const list = { apiVersion: 'v1', kind: 'List', items };
    await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(list) });
    for (const name of new Set(PODS.map((pod) => pod.slice(0, 1)))) {
      const namespace = pods.namespaceOf(name);
      const own = new Set(wanted.filter((one) => one.namespace === name).map((one) => one.name));
      const { stdout } = await cluster.kubectl(['get', 'netpol', '-n', namespace, '-o', 'name']);
      const gone = stdout
        .split('\n')
        .filter((line) => line !== '' && !own.has(line.split('/')[1] ?? ''));
      if (gone.length > 0) await cluster.kubectl(['delete', '-n', namespace, ...gone]);
    }
  };

  it('pass before there is any policy', async () => {
    const probe = { protocol: 'TCP', port: 80, denied: '' } as const;
    await expect.poll(() => pods.denied(probe, new Set()), SETTLES).toEqual([]);
  });

  it.each(CASES.filter(({ number }) => NUMBERS.has(number)))(
    '$number: $title',
    async ({ steps }) => {
      for (const step of steps) {
        await label(step.labels);
        await bring(step);
        for (const probe of step.probes) {
          const expected = deniedPairs(probe.denied);
          await expect
            .poll(async () => {
              await pods.follow();
              return pods.denied(probe, expected);
            }, SETTLES)
            .toEqual([...expected].sort());
        }
      }
      for (const step of steps) await label(step.labels, true);
    },
  );
});
