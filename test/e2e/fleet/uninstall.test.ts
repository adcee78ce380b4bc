/**
 * `sdewan uninstall` in each stage of a roll-out: nothing of the product is left, no pod is
 * touched, and all serve on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { TIMES } from '#shared/runtime/testing.ts';
import { agentsDown, type Restore } from '../../stack/faults.ts';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { installProduct } from '../../stack/install.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply } from '../../stack/operator.ts';
import { sdewan } from '../../stack/sdewan.ts';
import {
  applyFleet,
  policyOn,
  PURPOSE,
  serves,
  startTraffic,
  untilTraffic,
  waitForFleet,
  type FleetCnf,
} from './cnf.ts';
import { watchFleet } from './fleet-seen.ts';

const cluster = withOwnNamespaces(await connectCluster());

/** The other files of this suite need it. */
afterAll(async () => {
  const path = 'jsonpath={.items[*].metadata.deletionTimestamp}';
  await until('no kind is being deleted', async () =>
    (await cluster.kubectl(['get', 'crd', '-o', path])).stdout.trim() === '' ? true : undefined,
  );
  await installProduct(cluster);
  await cluster.kubectl(['api-resources', '--cached=false']);
});

const FOR_LONG = 600;
const NOBODYS_IMAGE = 'nobody:has-it';
/** What the second set is, beside the first one, for the roll-out to stay there. */
const STAGES: Readonly<Record<string, Partial<FleetCnf>>> = {
  Staged: { image: NOBODYS_IMAGE },
  Connected: { lateMs: -1 },
  HandedOver: { readinessGates: ['example.org/never'] },
  Soaking: { spec: { soakSeconds: FOR_LONG } },
  Failed: { lateMs: -1, spec: { progressDeadline: '10s', onFailure: 'Pause' } },
};
/**
 * The others: with one set only, and at last the one that stays only while an agent stands still.
 */
const ALONE: Readonly<Record<string, Partial<FleetCnf>>> = {
  Creating: { image: NOBODYS_IMAGE },
  Current: {},
};
const PASSING = 'Swapping';
/** For the pod to be known before it has every rule. */
const LATE_MS = 5_000;
/** Shorter than a set stays in that stage without its agent (TROUBLE_MS). */
const STANDS_STILL_MS = 8_000;

/** With steady traffic. By day these alone. */
const SERVED = new Set(['Connected', 'Soaking']);
const isByNight = TIMES > 1;

const begin = async (stage: string, first: Partial<FleetCnf>): Promise<FleetCnf> => {
  const namespace = await cluster.createNamespace(`uninstalled-${stage.toLowerCase()}`);
  await apply(cluster, namespace, policyOn('late', 'ovn-net3'));
  const cnf = { namespace, replicas: 1, lateMs: 0, rules: 0, version: '1', ...first };
  await applyFleet(cluster, cnf);
  return cnf;
};

const inStage = async (stage: string): Promise<string> => {
  const alone = ALONE[stage];
  const cnf = await begin(stage, alone ?? {});
  const { namespace } = cnf;
  if (alone === undefined) {
    await waitForFleet(cluster, namespace, 'the first set', serves(1));
    await applyFleet(cluster, { ...cnf, version: '2', ...STAGES[stage] });
  }
  await waitForFleet(cluster, namespace, `it is ${stage}`, (seen) => seen.stage === stage);
  return namespace;
};

type Passing = { namespace: string; stages: readonly string[]; goOn: Restore };

/** The agent of the new pod stands still before it has confirmed its distance. */
const inPassingStage = async (): Promise<Passing> => {
  const cnf = await begin(PASSING, {});
  const { namespace } = cnf;
  await waitForFleet(cluster, namespace, 'the first set', serves(1));
  const old = await observePods(cluster, namespace, PURPOSE);
  const { stages, onStage } = await watchFleet(cluster, namespace);
  await applyFleet(cluster, { ...cnf, version: '2', lateMs: LATE_MS });
  const [name = ''] = await until('its pod is there', async () => {
    const pods = await observePods(cluster, namespace, PURPOSE);
    const next = pods.filter(({ uid }) => !old.some((one) => one.uid === uid));
    return next.length > 0 ? next.map((pod) => pod.name) : undefined;
  });
  const stopped = Promise.withResolvers<Restore>();
  onStage((stage) => {
    if (stage === PASSING)
      agentsDown(cluster, namespace, PURPOSE, [name]).then(stopped.resolve, stopped.reject);
  });
  return { namespace, stages, goOn: await stopped.promise };
};

it('uninstalling in each stage leaves nothing of the product, and each pod as it was', async () => {
  const stages = Object.keys({ ...ALONE, ...STAGES }).filter(
    (stage) => isByNight || SERVED.has(stage),
  );
  // Two at a time: pods that start at once slow each other.
  const namespaces: string[] = [];
  for (let at = 0; at < stages.length; at += 2)
    namespaces.push(...(await Promise.all(stages.slice(at, at + 2).map(inStage))));
  const podsOf = async () =>
    Promise.all(
      namespaces.map(async (namespace) =>
        (await observePods(cluster, namespace, PURPOSE))
          .map(({ name, uid, ready, terminating }) => ({ name, uid, ready, terminating }))
          .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
      ),
    );
  const clients = await Promise.all(
    namespaces
      .filter((_, index) => SERVED.has(stages[index] ?? ''))
      .map(async (namespace) => {
        await untilTraffic(cluster, namespace);
        return startTraffic(cluster, namespace);
      }),
  );
  const passing = isByNight ? await inPassingStage() : undefined;
  if (passing) namespaces.push(passing.namespace);
  const before = await podsOf();
  expect(before.map((pods) => pods.length)).toEqual([
    ...stages.map((stage) => (stage in ALONE ? 1 : 2)),
    ...(passing ? [2] : []),
  ]);
  const wentOn = passing && sleep(STANDS_STILL_MS).then(passing.goOn);
  const { code, said } = await sdewan(cluster, 'uninstall', '--yes');
  expect([code, said]).toEqual([0, expect.stringContaining('done')]);
  const names = async (...args: string[]) =>
    (await cluster.kubectl(['get', ...args, '-o', 'name'])).stdout;
  expect(await names('crd')).not.toContain('sdewan');
  for (const namespace of namespaces) {
    expect(await names('deployment', '-n', namespace)).toContain(`/${PURPOSE}`);
    // The RoleBinding to roll CNFs is the operator's.
    const ours = (await names('rolebinding,configmap', '-n', namespace)).split('\n');
    expect(
      ours.filter((name) => name.includes('/sdewan') && !name.endsWith('/sdewan-fleet')),
    ).toEqual([]);
  }
  await wentOn;
  expect(passing?.stages.at(-1) ?? PASSING).toBe(PASSING);
  expect(await podsOf()).toEqual(before);
  const counted = await Promise.all(clients.map(({ stop }) => stop()));
  console.log(`uninstalling: of ${counted.map(({ requests }) => requests).join(', ')} requests`);
  // Without rules they say 503.
  expect(counted.flatMap(({ lost }) => lost).filter((why) => !why.startsWith('503 '))).toEqual([]);
  await cluster.kubectl(['delete', 'namespace', ...namespaces, '--timeout=500s']);
});
