/** Pods of a CNF are replaced one after the other: its rules are in sync again without a word to anybody. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../stack/cnf.ts';
import { observePods, until } from '../stack/observe.ts';
import { apply, waitInSync } from '../stack/operator.ts';
import { rejectRule, zone } from '../stack/rules.ts';
import { e2eCluster } from '../e2e/cluster.ts';

const PURPOSE = 'cnf-1';
const lan = zone('lan1', 'ovn-net1', PURPOSE);
const rules = [lan, ...[1, 2, 3].map((index) => rejectRule(index, 'lan1', PURPOSE))];

describe('a rolling update of a CNF', async () => {
  const cluster = await e2eCluster();
  let namespace = '';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('rolling');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 });
    await apply(cluster, namespace, ...rules);
    await waitInSync(cluster, namespace, rules);
  });

  /** Of rules: reason, rule, message and how often. */
  const eventsOnRules = async (): Promise<string[]> => {
    const columns =
      'KIND:.involvedObject.kind,NAME:.involvedObject.name,REASON:.reason,COUNT:.count,MESSAGE:.message';
    const format = `custom-columns=${columns}`;
    const get = ['get', 'events', '-n', namespace, '--no-headers', '-o', format];
    const { stdout } = await cluster.kubectl(get);
    const kinds = new Set(rules.map(({ kind }) => kind));
    return stdout
      .split('\n')
      .filter((line) => kinds.has(line.split(/ +/)[0] ?? ''))
      .sort();
  };

  it('makes no Event on any rule', async () => {
    const before = await until('each rule has its Event', 30_000, async () => {
      const events = await eventsOnRules();
      return events.length === rules.length ? events : undefined;
    });
    const [pod] = await observePods(cluster, namespace, PURPOSE);
    await cluster.kubectl(['rollout', 'restart', '-n', namespace, `deployment/${PURPOSE}`]);
    await cluster.kubectl(
      ['rollout', 'status', '-n', namespace, `deployment/${PURPOSE}`, '--timeout=120s'],
      { timeoutMs: 130_000 },
    );
    await waitInSync(cluster, namespace, rules);
    // A roll-out is done while its old pods still end.
    await until('the old pods are gone', 60_000, async () => {
      const after = await observePods(cluster, namespace, PURPOSE);
      return after.some(({ name }) => name === pod?.name) ? undefined : after;
    });
    expect(await eventsOnRules()).toEqual(before);
  });
});
