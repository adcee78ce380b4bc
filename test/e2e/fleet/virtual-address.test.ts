/**
 * A virtual address in a roll-out: by the journals of both pods, keepalived of the new one is
 * preferred only when it has every rule.
 */
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply } from '../../stack/operator.ts';
import { rejectRule, rule, zone } from '../../stack/rules.ts';
import { applyFleet, PURPOSE, serves, waitForFleet } from './cnf.ts';
import { journalOf, prioritiesIn, type Journal } from './journal.ts';

const cluster = withOwnNamespaces(await connectCluster());
const ADDRESS = '192.168.1.1/24';
const RULES = 20;

const onlyPod = async (namespace: string, but?: string): Promise<string> =>
  until('there is one pod', async () => {
    const names = (await observePods(cluster, namespace, PURPOSE)).map(({ name }) => name);
    const [name, ...others] = names.filter((one) => one !== but);
    return others.length === 0 ? name : undefined;
  });

const distinct = (numbers: readonly number[]): number[] =>
  numbers.filter((one, index) => one !== numbers[index - 1]);

const configuredAt = (journal: Journal): number =>
  journal.find(
    ({ package: of, text = '' }) =>
      of === 'firewall' && text.split("option target 'REJECT'").length > RULES,
  )?.ms ?? Infinity;

it('follows from the old set to the new one, after the new pod has every rule', async () => {
  const namespace = await cluster.createNamespace('address');
  const cnf = { namespace, replicas: 1, lateMs: 0, rules: 0 };
  await apply(
    cluster,
    namespace,
    zone('lan1', 'ovn-net1'),
    ...Array.from({ length: RULES }, (_, index) => rejectRule(index, 'lan1')),
    rule('VirtualAddress', 'gateway', { network: 'ovn-net1', addresses: [ADDRESS] }),
  );
  await applyFleet(cluster, { ...cnf, version: '1' });
  const first = await waitForFleet(cluster, namespace, 'the first set', serves(1));
  const old = await onlyPod(namespace);

  // Long enough for the journal of the old pod to be read.
  const spec = { soakSeconds: 600 };
  await applyFleet(cluster, { ...cnf, version: '2', spec });
  await waitForFleet(
    cluster,
    namespace,
    'each agent has confirmed its distance',
    ({ stage, distances = [] }) =>
      stage === 'Soaking' &&
      distances.length === 2 &&
      distances.every(
        ({ confirmed, distance, pod }) => confirmed && distance === (pod === old ? 3 : 0),
      ),
  );
  const next = await onlyPod(namespace, old);
  const [before, after] = [
    await journalOf(cluster, namespace, old),
    await journalOf(cluster, namespace, next),
  ];
  // A pod without another order is at distance 3.
  expect(distinct(prioritiesIn(before).map(({ priority }) => priority)).slice(-2)).toEqual([
    200, 140,
  ]);
  expect(distinct(prioritiesIn(after).map(({ priority }) => priority))).toEqual([140, 200]);
  const preferredAt = prioritiesIn(after).find(({ priority }) => priority === 200)?.ms ?? 0;
  expect(preferredAt).toBeGreaterThanOrEqual(configuredAt(after));

  await applyFleet(cluster, { ...cnf, version: '2', spec: { soakSeconds: 0 } });
  await waitForFleet(cluster, namespace, 'the second set', serves(1, first.currentRevision));
  await until('the old pod is gone', async () =>
    (await onlyPod(namespace)) === next ? true : undefined,
  );
  const last = await journalOf(cluster, namespace, next);
  expect(prioritiesIn(last).at(-1)?.priority).toBe(200);
  const [text = ''] = last
    .flatMap(({ package: of, text: one }) =>
      of === 'keepalived' && one !== undefined ? [one] : [],
    )
    .slice(-1);
  expect(text).toContain(`option address '${ADDRESS}'`);
});
