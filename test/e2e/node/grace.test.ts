/**
 * The agent's end at any point of a transaction: every call that only a transaction makes hangs on
 * one pod each, before it is carried out or after, and then the agent is killed. What it leaves, on
 * OpenWRT and in Kubernetes, the next agent repairs.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createCnf } from '../../stack/cnf.ts';
import { observePods, PATIENCE_MS, readCnf, until } from '../../stack/observe.ts';
import { apply, remove, waitForPods, waitGone, waitInSync } from '../../stack/operator.ts';
import { rejectRule, type Rule } from '../../stack/rules.ts';
import { agentOf, countRules, getPod, nodeCluster, PURPOSE, zoneAndRules } from './cluster.ts';
import { measured } from './figures.ts';

/**
 * The grace of the main container, which uses all of it up; the agent is then given two seconds.
 */
const GRACE_SECONDS = 3;
const RULES = 12;
/** In the order in which a transaction makes them; one pod for each. */
const CALLS: readonly { object: string; method: string; contains?: string }[] = [
  { object: 'uci', method: 'add' },
  { object: 'file', method: 'write' },
  { object: 'uci', method: 'apply' },
  { object: 'file', method: 'exec', contains: 'amend' },
  { object: 'uci', method: 'confirm' },
];

const stateSchema = z.object({ faults: z.array(z.unknown()) });

describe('an agent that is killed in a transaction, whatever call was its last', async () => {
  const cluster = await nodeCluster();
  const [lan, first, ...rules] = zoneAndRules(RULES + 1);
  const halves = [rules.slice(0, RULES / 2), rules.slice(RULES / 2)] as const;
  let namespace = '';
  let round = 0;

  const faultsOf = async (pod: string): Promise<unknown[]> => {
    const { status } = await getPod(cluster, namespace, pod);
    const answer = await fetch(`http://${status.podIP}/_simulator/state`, {
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return stateSchema.parse(await answer.json()).faults;
  };

  const addFault = async (pod: string, fault: object): Promise<void> => {
    const { status } = await getPod(cluster, namespace, pod);
    const answer = await fetch(`http://${status.podIP}/_simulator/faults`, {
      method: 'POST',
      signal: AbortSignal.timeout(PATIENCE_MS),
      body: JSON.stringify({ ...fault, action: { kind: 'hang' }, times: 1 }),
    });
    expect(answer.status).toBe(200);
  };

  const podNames = async (): Promise<string[]> =>
    (await observePods(cluster, namespace, PURPOSE)).map(({ name }) => name);

  const holdExactly = (expected: readonly Rule[]): Promise<true> =>
    until(`exactly ${expected.length} rules on ${CALLS.length} pods`, async () => {
      const pods = await podNames();
      const wanted = expected.map(({ spec }) => String(spec['src_ip'])).sort();
      const held = await Promise.all(
        pods.map(async (pod) => {
          const sections = (await readCnf(cluster, { namespace, pod })).get('firewall') ?? [];
          const addresses = sections.map(({ options }) => String(options['src_ip']));
          return addresses.filter((address) => address.startsWith('10.1.')).sort();
        }),
      );
      const all = held.every((addresses) => addresses.join() === wanted.join());
      return all && pods.length === CALLS.length ? true : undefined;
    });

  beforeAll(async () => {
    namespace = await cluster.createNamespace('killed');
    await createCnf(cluster, {
      namespace,
      purpose: PURPOSE,
      replicas: CALLS.length,
      usesUpGrace: GRACE_SECONDS,
    });
    if (lan) await apply(cluster, namespace, lan, ...halves[1]);
    await waitInSync(cluster, namespace, halves[1]);
  });

  /**
   * Lets each pod's agent hang at its call of the transaction that exchanges one half of the rules
   * for the other. An agent that has been killed may have found its OpenWRT as it is to be, so each
   * makes a change before. Whether one amends the firewall or reloads it depends on what it has
   * seen of the table by then, so changes go on until one is amended.
   */
  const hang = async (when: 'before' | 'after') => {
    const [created, deleted] = round % 2 === 0 ? halves : [halves[1], halves[0]];
    round += 1;
    if (first) {
      await apply(cluster, namespace, first);
      await waitInSync(cluster, namespace, [first]);
      await remove(cluster, namespace, first);
      await waitGone(cluster, namespace, [first]);
    }
    const pods = await podNames();
    for (const [at, pod] of pods.entries()) {
      await addFault(pod, { ...CALLS[at], when });
    }
    await apply(cluster, namespace, ...created);
    await remove(cluster, namespace, ...deleted);
    const more: Rule[] = [];
    await until('every agent hangs', async () => {
      const waiting: string[] = [];
      for (const pod of pods) if ((await faultsOf(pod)).length > 0) waiting.push(pod);
      if (waiting.length === 0) return true;
      const held = await Promise.all(waiting.map((pod) => countRules(cluster, namespace, pod)));
      if (!held.includes(created.length + more.length)) return undefined;
      const next = rejectRule(RULES + 1 + more.length, 'lan1');
      more.push(next);
      await apply(cluster, namespace, next);
      return undefined;
    });
    if (more.length > 0) await remove(cluster, namespace, ...more);
    return { pods, created, deleted: [...deleted, ...more] };
  };

  const mended = async (created: readonly Rule[], deleted: readonly Rule[]): Promise<void> => {
    await waitForPods(cluster, namespace, PURPOSE, CALLS.length);
    await waitGone(cluster, namespace, deleted);
    await waitInSync(cluster, namespace, created);
    await holdExactly(created);
  };

  it.each(['before', 'after'] as const)('killed in its pod, %s the call', async (when) => {
    const { pods, created, deleted } = await hang(when);
    for (const pod of pods) await cluster.killContainer(agentOf(namespace, pod), 'SIGKILL');
    await measured(`agents killed ${when} a call, until mended`, () => mended(created, deleted));
    expect((await podNames()).sort()).toEqual([...pods].sort());
  });

  it.each(['before', 'after'] as const)(
    'is replaced with its pod, two seconds after SIGTERM, %s the call',
    async (when) => {
      const { pods, created, deleted } = await hang(when);
      await cluster.kubectl(['delete', 'pod', ...pods, '-n', namespace, '--wait=false']);
      await until('the pods gone', async () =>
        (await podNames()).some((name) => pods.includes(name)) ? undefined : true,
      );
      await measured(`pods deleted ${when} a call, until mended`, () => mended(created, deleted));
    },
  );
});
