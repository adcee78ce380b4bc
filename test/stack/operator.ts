/**
 * What an operator does with kubectl, and waits for; the error of each wait says what did not
 * happen.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from 'kind-test-harness';
import {
  lookUntil,
  observePods,
  observeRules,
  PATIENCE_MS,
  ruleId,
  type ObservedPod,
  type ObservedRule,
} from './observe.ts';
import { idOf, type Rule } from './rules.ts';
import { witness } from './witness.ts';

export const apply = async (
  cluster: Cluster,
  namespace: string,
  ...objects: readonly object[]
): Promise<void> => {
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  await cluster.kubectl(['apply', '-n', namespace, '-f', '-'], {
    stdin: JSON.stringify(list),
    timeoutMs: PATIENCE_MS,
  });
};

export const remove = async (
  cluster: Cluster,
  namespace: string,
  ...rules: readonly Rule[]
): Promise<void> => {
  await cluster.kubectl([
    'delete',
    '-n',
    namespace,
    '--wait=false',
    ...rules.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`),
  ]);
};

export const scale = async (
  cluster: Cluster,
  namespace: string,
  purpose: string,
  replicas: number,
): Promise<void> => {
  await cluster.kubectl([
    'scale',
    '-n',
    namespace,
    `deployment/${purpose}`,
    `--replicas=${replicas}`,
  ]);
};

/** All of `rules` are there and in sync; gives what kubectl shows of them. */
export const waitInSync = (
  cluster: Cluster,
  namespace: string,
  rules: readonly (Rule | string)[],
): Promise<ObservedRule[]> => {
  const wanted = rules.map((each) => (typeof each === 'string' ? each : idOf(each)));
  return waitForRules(cluster, namespace, { what: `${wanted.length} rules in sync` }, (seen) => {
    const inSync = new Set(seen.filter(({ status }) => status?.inSync === true).map(ruleId));
    return wanted.every((id) => inSync.has(id));
  });
};

export const waitGone = async (
  cluster: Cluster,
  namespace: string,
  rules: readonly Rule[],
): Promise<void> => {
  const ids = new Set(rules.map(idOf));
  await waitForRules(cluster, namespace, { what: `${[...ids].join(', ')} gone` }, (seen) =>
    seen.every((each) => !ids.has(ruleId(each))),
  );
};

/** Waits until the rules of the namespace satisfy `holds`; the error lists what they were last. */
export const waitForRules = async (
  cluster: Cluster,
  namespace: string,
  { what }: { what: string },
  holds: (rules: ObservedRule[]) => boolean,
): Promise<ObservedRule[]> => {
  const next = await anythingNewIn(cluster, namespace);
  let last: ObservedRule[] = [];
  try {
    return await lookUntil({ what, next }, async () => {
      last = await observeRules(cluster, namespace);
      return holds(last) ? last : undefined;
    });
  } catch (error) {
    const seen = last.map((each) => `  ${ruleId(each)} ${JSON.stringify(each.status ?? {})}`);
    throw new Error(`${what}; last seen:\n${seen.join('\n')}`, { cause: error });
  }
};

/** Exactly `count` pods of the purpose, all Ready and none terminating. */
export const waitForPods = async (
  cluster: Cluster,
  namespace: string,
  purpose: string,
  count: number,
): Promise<ObservedPod[]> => {
  const what = `${count} ready pods of ${purpose}`;
  const next = await anythingNewIn(cluster, namespace);
  return lookUntil({ what, next }, async () => {
    const pods = await observePods(cluster, namespace, purpose);
    return pods.length === count && pods.every(({ ready, terminating }) => ready && !terminating)
      ? pods
      : undefined;
  });
};

/** Changes come in bursts: one look for each burst. */
const BURST_MS = 50;
/**
 * What the watch cannot tell, as a kind that was not there when it began, is looked for this often.
 */
const LOOK_ANYWAY_MS = 1_000;

/**
 * To be waited for between two looks: who looks because of the watch sees at least what it told.
 */
const anythingNewIn = async (cluster: Cluster, namespace: string): Promise<() => Promise<void>> => {
  const { next } = await witness(cluster, namespace);
  return async () => {
    await next(LOOK_ANYWAY_MS);
    await sleep(BURST_MS);
  };
};
