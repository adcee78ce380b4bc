/** `sdewan uninstall` in each stage in which a roll-out can stay: nothing of the product is left, no pod is touched, and all serve on. */
import { afterAll, expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { TIMES } from '#shared/runtime/testing.ts';
import { withOwnNamespaces } from '../stack/own-namespaces.ts';
import { installProduct } from '../stack/install.ts';
import { observePods, until } from '../stack/observe.ts';
import { apply } from '../stack/operator.ts';
import { sdewan } from '../stack/sdewan.ts';
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

const cluster = withOwnNamespaces(await connectCluster());

/** The other files of this suite need it. */
afterAll(async () => {
  const path = 'jsonpath={.items[*].metadata.deletionTimestamp}';
  await until('no kind is being deleted', 120_000, async () =>
    (await cluster.kubectl(['get', 'crd', '-o', path])).stdout.trim() === '' ? true : undefined,
  );
  await installProduct(cluster);
  await cluster.kubectl(['api-resources', '--cached=false']);
}, 240_000);

const FOR_LONG = 600;
const STAGES: Readonly<Record<string, Partial<FleetCnf> | undefined>> = {
  Current: undefined,
  Staged: { image: 'nobody:has-it' },
  Connected: { lateMs: -1 },
  HandedOver: { readinessGates: ['example.org/never'] },
  Baking: { spec: { bakeSeconds: FOR_LONG } },
  Failed: { lateMs: -1, spec: { progressDeadline: '10s', onFailure: 'Pause' } },
};

/** With steady traffic. By day these alone. */
const SERVED = new Set(['Connected', 'Baking']);

const inStage = async (stage: string, next: Partial<FleetCnf> | undefined): Promise<string> => {
  const namespace = await cluster.createNamespace(`uninstalled-${stage.toLowerCase()}`);
  const cnf = { namespace, replicas: 1, lateMs: 0, rules: 0 };
  await apply(cluster, namespace, policyOn('late', 'ovn-net3'));
  await applyFleet(cluster, { ...cnf, version: '1' });
  await waitForFleet(cluster, namespace, 'the first set', serves(1));
  if (next === undefined) return namespace;
  await applyFleet(cluster, { ...cnf, version: '2', ...next });
  await waitForFleet(cluster, namespace, `it is ${stage}`, (seen) => seen.stage === stage);
  return namespace;
};

it('uninstalling in each stage leaves nothing of the product, and each pod as it was', async () => {
  const stages = Object.keys(STAGES).filter((stage) => TIMES > 1 || SERVED.has(stage));
  // Two at a time: pods that start at once slow each other.
  const namespaces: string[] = [];
  for (let at = 0; at < stages.length; at += 2)
    namespaces.push(
      ...(await Promise.all(
        stages.slice(at, at + 2).map((stage) => inStage(stage, STAGES[stage])),
      )),
    );
  const podsOf = async () =>
    Promise.all(
      namespaces.map(async (namespace) =>
        (await observePods(cluster, namespace, PURPOSE))
          .map(({ name, uid, ready, terminating }) => ({ name, uid, ready, terminating }))
          .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
      ),
    );
  const before = await podsOf();
  expect(before.map((pods) => pods.length)).toEqual(
    stages.map((stage) => (stage === 'Current' ? 1 : 2)),
  );

  const clients = await Promise.all(
    namespaces
      .filter((_, index) => SERVED.has(stages[index] ?? ''))
      .map(async (namespace) => {
        await untilTraffic(cluster, namespace);
        return startTraffic(cluster, namespace);
      }),
  );
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
  expect(await podsOf()).toEqual(before);
  const counted = await Promise.all(clients.map(({ stop }) => stop()));
  console.log(`uninstalling: of ${counted.map(({ requests }) => requests).join(', ')} requests`);
  // Without rules they say 503.
  expect(counted.flatMap(({ lost }) => lost).filter((why) => !why.startsWith('503 '))).toEqual([]);
  await cluster.kubectl(['delete', 'namespace', ...namespaces, '--timeout=90s'], {
    timeoutMs: 95_000,
  });
}, 900_000);
