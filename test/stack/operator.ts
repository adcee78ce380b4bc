/** What an operator does with kubectl, and waits for; each wait says what did not come true. */
import type { Cluster } from 'kind-test-harness';
import { observePods, observeRules, ruleId, until, type ObservedRule } from './observe.ts';
import { idOf, type Rule } from './rules.ts';

/** Containers take longer to start than processes, and a node's daemons share the machine with them. */
const patienceMs = ({ backend }: Cluster): number => (backend === 'process' ? 60_000 : 180_000);

export const apply = async (
  cluster: Cluster,
  namespace: string,
  ...objects: readonly object[]
): Promise<void> => {
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  await cluster.kubectl(['apply', '-n', namespace, '-f', '-'], {
    stdin: JSON.stringify(list),
    timeoutMs: patienceMs(cluster),
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
  timeoutMs = patienceMs(cluster),
): Promise<ObservedRule[]> => {
  const wanted = rules.map((each) => (typeof each === 'string' ? each : idOf(each)));
  return waitForRules(
    cluster,
    namespace,
    { what: `${wanted.length} rules in sync`, timeoutMs },
    (seen) => {
      const inSync = new Set(seen.filter(({ status }) => status?.inSync === true).map(ruleId));
      return wanted.every((id) => inSync.has(id));
    },
  );
};

export const waitGone = async (
  cluster: Cluster,
  namespace: string,
  rules: readonly Rule[],
  timeoutMs = patienceMs(cluster),
): Promise<void> => {
  const ids = new Set(rules.map(idOf));
  await waitForRules(
    cluster,
    namespace,
    { what: `${[...ids].join(', ')} gone`, timeoutMs },
    (seen) => seen.every((each) => !ids.has(ruleId(each))),
  );
};

/** Waits until the rules of the namespace satisfy `holds`; the error lists what they were last. */
export const waitForRules = async (
  cluster: Cluster,
  namespace: string,
  { what, timeoutMs = patienceMs(cluster) }: { what: string; timeoutMs?: number },
  holds: (rules: ObservedRule[]) => boolean,
): Promise<ObservedRule[]> => {
  let last: ObservedRule[] = [];
  try {
    return await until(what, timeoutMs, async () => {
      last = await observeRules(cluster, namespace);
      return holds(last) ? last : undefined;
    });
  } catch (error) {
    const seen = last.map((each) => `  ${ruleId(each)} ${JSON.stringify(each.status ?? {})}`);
    throw new Error(`${what}; last seen:\n${seen.join('\n')}`, { cause: error });
  }
};

/** Exactly `count` pods of the purpose, all Ready and none terminating. */
export const waitForPods = (cluster: Cluster, namespace: string, purpose: string, count: number) =>
  until(`${count} ready pods of ${purpose}`, patienceMs(cluster), async () => {
    const pods = await observePods(cluster, namespace, purpose);
    return pods.length === count && pods.every(({ ready, terminating }) => ready && !terminating)
      ? pods
      : undefined;
  });
