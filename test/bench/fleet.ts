/**
 * What a roll-out of a CNFDeployment costs: `node test/bench/fleet.ts [--rolls 5] [--soak 3]
 * [--list]`, 200 rules, 1 and 3 replicas, 200 requests a second. Requests lost; by one watch the
 * time from every rule being applied to each new pod having the traffic, and the share of a
 * roll-out that is not the start of pods, their first pass or the soak; by the API server's audit
 * log the coordinator's writes, with --list those of the last roll-out and of all Deployments one
 * by one. And how soon a set that fails is gone.
 */
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { KubeObject } from 'kind-test-harness';
import * as z from 'zod';
import { HANDED_OVER_GATE } from '#shared/names.ts';
import {
  applyFleet,
  serves,
  startTraffic,
  TRAFFIC_IMAGE,
  trafficRules,
  untilTraffic,
  waitForFleet,
} from '../e2e/fleet/cnf.ts';
import { trafficImage } from '../e2e/fleet/traffic-image.ts';
import { podsPath } from '../stack/collections.ts';
import { installProduct } from '../stack/install.ts';
import { until } from '../stack/observe.ts';
import { apply } from '../stack/operator.ts';
import { startAudited, total } from './audited.ts';

const { values } = parseArgs({
  options: {
    rolls: { type: 'string', default: '5' },
    soak: { type: 'string', default: '3' },
    list: { type: 'boolean', default: false },
  },
});
const ROLLS = Number(values.rolls);
const SOAK_SECONDS = Number(values.soak);
const DEADLINE_SECONDS = 20;

const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    deletionTimestamp: z.string().optional(),
  }),
  status: z.object({
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).optional(),
  }),
});
const generationSchema = z.object({ metadata: z.object({ generation: z.number() }) });
const fleetSchema = generationSchema.extend({
  status: z.object({ stage: z.string().optional(), stageTime: z.string().optional() }).default({}),
});

const { cluster, writes, journal, stop } = await startAudited({ [TRAFFIC_IMAGE]: trafficImage });

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
const percentile = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.ceil(share * times.length) - 1] ?? NaN;

const noteOnce = (at: Map<number, number>, generation: number): void => {
  if (!at.has(generation)) at.set(generation, performance.now());
};
const lastOf = (at: ReadonlyMap<number, number>): number => Math.max(...at.values());

const list = (since: number, of = /./): void => {
  for (const { at, verb, code, resource, name, fields } of journal())
    if (at >= since && of.test(resource))
      console.log(
        `${seconds(at - since)} ${verb} ${resource} ${name} ${code}: ${fields.join(' ')}`,
      );
};

const measure = async (replicas: number): Promise<void> => {
  const namespace = await cluster.createNamespace('fleet');
  const cnf = { namespace, replicas, lateMs: 0, spec: { soakSeconds: SOAK_SECONDS } };
  /** By what the one watch of each shows. */
  const stageAt = new Map<string, number>();
  let stageNow: string | undefined;
  /** When the CNFDeployment was changed last, and its Deployment. */
  const askedAt = new Map<number, number>();
  const writtenAt = new Map<number, number>();
  const gatesAt: number[] = [];
  const opened = new Set<string>();
  /** When each pod whose gate is open was ready. */
  const readyAt = new Map<string, number>();
  const pods = new Map<string, boolean>();
  await cluster.api.watch<KubeObject>(
    `/apis/fleet.sdewan.akraino.org/v1alpha1/namespaces/${namespace}/cnfdeployments`,
    {
      onChange: (object) => {
        const { metadata, status } = fleetSchema.parse(object);
        const { stage } = status;
        noteOnce(askedAt, metadata.generation);
        if (stage === undefined || stage === stageNow) return;
        stageNow = stage;
        if (!stageAt.has(stage)) stageAt.set(stage, performance.now());
      },
      onDelete: () => {},
    },
  );
  await cluster.api.watch<KubeObject>(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    onChange: (object) => noteOnce(writtenAt, generationSchema.parse(object).metadata.generation),
    onDelete: () => {},
  });
  await cluster.api.watch<KubeObject>(podsPath(namespace), {
    onChange: (object) => {
      const { metadata, status } = podSchema.parse(object);
      pods.set(metadata.uid, metadata.deletionTimestamp === undefined);
      const isTrue = (wanted: string): boolean =>
        status.conditions?.some(({ type, status: is }) => type === wanted && is === 'True') ??
        false;
      const isOpen = isTrue(HANDED_OVER_GATE);
      if (isOpen && isTrue('Ready') && !readyAt.has(metadata.uid))
        readyAt.set(metadata.uid, performance.now());
      if (!isOpen || opened.has(metadata.uid)) return;
      opened.add(metadata.uid);
      gatesAt.push(performance.now());
    },
    onDelete: ({ metadata }) => pods.delete(metadata.uid),
  });
  const stay = (): string[] =>
    [...pods]
      .filter(([, stays]) => stays)
      .map(([uid]) => uid)
      .toSorted();
  await apply(cluster, namespace, ...trafficRules());
  await applyFleet(cluster, { ...cnf, version: '0' });
  await waitForFleet(cluster, namespace, 'the first set', serves(replicas));
  await untilTraffic(cluster, namespace);

  const gates: number[] = [];
  const shares: number[] = [];
  const counts: number[] = [];
  const events: number[] = [];
  let [requests, lost] = [0, 0];
  for (let roll = 1; roll <= ROLLS; roll += 1) {
    await sleep(5_000);
    const begunAt = Date.now();
    const before = total(writes());
    const { currentRevision } = await waitForFleet(cluster, namespace, 'at rest', serves(replicas));
    const traffic = await startTraffic(cluster, namespace);
    stageAt.clear();
    gatesAt.length = 0;
    await applyFleet(cluster, { ...cnf, version: String(roll) });
    await waitForFleet(cluster, namespace, 'the next set', serves(replicas, currentRevision));
    await until('its pods alone are there', async () =>
      stay().length === replicas ? true : undefined,
    );
    const counted = await traffic.stop();
    requests += counted.requests;
    lost += counted.lost.length;
    const at = (stage: string): number => stageAt.get(stage) ?? NaN;
    gates.push(...gatesAt.map((one) => one - at('Swapping')));
    const parts = {
      asked: lastOf(writtenAt) - lastOf(askedAt),
      handed: at('Soaking') - at('Swapping'),
      kubelet: Math.max(...readyAt.values()) - Math.max(...gatesAt),
      // Kubernetes counts in whole seconds, and may take the old pods earlier.
      taken: Math.max(0, at('Current') - at('Soaking') - SOAK_SECONDS * 1_000),
    };
    shares.push(parts.asked + parts.handed + parts.taken);
    console.log(
      `roll-out ${roll}: ${seconds(parts.asked)} until its Deployment is written, ${seconds(parts.handed)} from every rule applied until each pod serves (of it ${seconds(parts.kubelet)} from its gate to ready, by the kubelet), ${seconds(parts.taken)} after the soak`,
    );
    await sleep(5_000);
    const after = total(writes());
    counts.push(after.writes - before.writes);
    events.push(after.events - before.events);
    if (values.list && roll === ROLLS) list(begunAt);
  }
  console.log(
    `${replicas} replicas, ${ROLLS} roll-outs: ${lost} of ${requests} requests lost; in sync to gate p50 ${seconds(percentile(gates, 0.5))}, p99 ${seconds(percentile(gates, 0.99))}; ` +
      `own share p50 ${seconds(percentile(shares, 0.5))}, slowest ${seconds(Math.max(...shares))}; writes p50 ${percentile(counts, 0.5)}, most ${Math.max(...counts)} (8 + 5n is ${8 + 5 * replicas}), and at most ${Math.max(...events)} Events; load ${loadavg()[0]?.toFixed(1)}`,
  );

  const before = stay();
  const spec = { soakSeconds: SOAK_SECONDS, progressDeadline: `${DEADLINE_SECONDS}s` };
  stageAt.clear();
  await applyFleet(cluster, { ...cnf, version: 'bad', lateMs: -1, spec });
  await waitForFleet(cluster, namespace, 'it is given up', ({ stage }) => stage === 'Failed');
  const backAt = await until('the old set alone is there', async () =>
    stay().join() === before.join() ? performance.now() : undefined,
  );
  const deadlineAt = (stageAt.get('Staged') ?? NaN) + DEADLINE_SECONDS * 1_000;
  console.log(
    `${replicas} replicas: ${seconds(backAt - deadlineAt)} from the deadline to the old set alone, with the same pods`,
  );
  await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
};

try {
  await installProduct(cluster);
  const begunAt = Date.now();
  for (const replicas of [1, 3]) await measure(replicas);
  if (values.list) list(begunAt, /^deployments$/);
  console.log(`writes of the coordinators in all of it: ${JSON.stringify(writes())}`);
} finally {
  await stop();
}
