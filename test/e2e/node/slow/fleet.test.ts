/**
 * A roll-out of a CNFDeployment under steady traffic that kube-proxy sends to its pods; what it
 * would lose without the gate; and the counters of a pod with a network namespace of its own.
 */
import * as z from 'zod';
import { describe, expect, it } from 'vitest';
import { countersSchema } from '#shared/protocol/counters.ts';
import { until } from '../../../stack/observe.ts';
import { apply } from '../../../stack/operator.ts';
import { applyFleet, serves, trafficRules, waitForFleet } from '../../fleet/cnf.ts';
import { rollFleet, rollPlain } from '../../fleet/rolled.ts';
import { firstPod, nodeCluster } from '../cluster.ts';

const REPLICAS = 2;

const countedSchema = z.object({ status: z.looseObject({ counters: countersSchema.optional() }) });
/** What `ip -s -j link` prints. */
const linksSchema = z.array(
  z.object({
    ifname: z.string(),
    stats64: z.object({
      rx: z.object({ bytes: z.number(), packets: z.number() }),
      tx: z.object({ bytes: z.number(), packets: z.number() }),
    }),
  }),
);

describe('a roll-out of a CNFDeployment with 200 rules', async () => {
  const cluster = await nodeCluster();

  it('loses no request, and never fewer pods than replicas are ready', async () => {
    const { requests, lost, servedBy, counted } = await rollFleet(cluster, { replicas: REPLICAS });
    expect(lost).toEqual([]);
    expect(requests).toBeGreaterThan(100);
    expect(servedBy.size).toBe(2 * REPLICAS);
    expect(counted.fewestReady).toBeGreaterThanOrEqual(REPLICAS);
  });

  it('loses requests without the gate', async () => {
    expect(await rollPlain(cluster, REPLICAS)).toBeGreaterThan(0);
  });
});

describe('a CNF on a node', async () => {
  const cluster = await nodeCluster();

  it('counts what the devices of its own network namespace have carried', async () => {
    const namespace = await cluster.createNamespace('counters');
    await apply(cluster, namespace, ...trafficRules());
    await applyFleet(cluster, { namespace, replicas: 1, version: '1', lateMs: 0 });
    await waitForFleet(cluster, namespace, 'it serves', serves(1));
    const pod = await firstPod(cluster, namespace);
    const links = async () => {
      const ip = ['ip', '-s', '-j', 'link'];
      const { stdout } = await cluster.node.inPodNetwork({ namespace, pod }, ip);
      const all = linksSchema.parse(JSON.parse(stdout)).filter(({ ifname }) => ifname !== 'lo');
      return all.map(({ ifname: name, stats64: { rx, tx } }) => ({
        name,
        counts: [rx.bytes, rx.packets, tx.bytes, tx.packets],
      }));
    };
    const path = `/apis/fleet.sdewan.akraino.org/v1alpha1/namespaces/${namespace}/cnfs/${pod}`;
    const counted = async () =>
      countedSchema.parse(await cluster.api.find(path)).status.counters?.interfaces;
    const first = await until('it has counters', counted);
    const before = await links();
    const counters = await until('the agent has counted again', async () => {
      const now = await counted();
      return JSON.stringify(now) === JSON.stringify(first) ? undefined : now;
    });
    const after = await links();
    const names = (all: readonly { name: string }[]) => all.map(({ name }) => name).toSorted();
    expect(names(counters)).toEqual(names(after));
    for (const { name, rxBytes, rxPackets, txBytes, txPackets } of counters) {
      const countsIn = (all: typeof after, index: number) =>
        all.find((link) => link.name === name)?.counts[index] ?? NaN;
      for (const [index, count] of [rxBytes, rxPackets, txBytes, txPackets].entries()) {
        expect(count).toBeGreaterThanOrEqual(countsIn(before, index));
        expect(count).toBeLessThanOrEqual(countsIn(after, index));
      }
    }
  });
});
