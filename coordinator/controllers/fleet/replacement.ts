/**
 * Which pod of a CNFDeployment is to be replaced, and when its set is rolled instead. From times
 * that outlive a coordinator: the pod's own, and that of the last report in its CNF. Pure.
 */
import { few } from '#shared/util/few.ts';
import { healthOf, isInSync, type CnfFacts } from './mirror/facts.ts';
import { hearsEnough, type AgentsHeard } from './distance-answers.ts';

export type HealthFacts = {
  /** Wall-clock milliseconds. */
  now: number;
  /** How long a pod may take to run with an agent that reports. 0: for ever. */
  createMs: number;
  /** How long one that did may be silent or not ready. 0: for ever. */
  healthMs: number;
  replicas: number;
  /** Live ones of all sets but one that has failed. */
  pods: readonly CnfFacts[];
  /** The set that serves. */
  current: string | undefined;
  /** One set serves, and nothing else is asked for. */
  atRest: boolean;
  agents: AgentsHeard;
};

/** A pod that has to go, and why. */
export type Going = { pod: string; uid: string; why: string };

export type HealthStep = {
  /** To be deleted: its ReplicaSet makes another one. */
  replace?: Going;
  /** The whole set is made anew first, since no other pod of it could take the traffic. */
  renew?: Going;
  /** Why a pod that is overdue stays. */
  held?: string;
  /** When the next limit is reached, even if nothing changes. */
  lookAt: number | undefined;
};

export const healthStep = (facts: HealthFacts): HealthStep => {
  const limits = facts.pods.flatMap((pod) => limitOf(pod, facts) ?? []);
  const overdue = limits.filter(({ at }) => at <= facts.now).toSorted((a, b) => a.at - b.at);
  const lookAt = limits.reduce<number | undefined>(
    (first, { at }) => (at > facts.now && at < (first ?? Infinity) ? at : first),
    undefined,
  );
  const [first] = overdue;
  const renew = drained(facts);
  return { ...(renew && { renew }), ...(first && decided(first, overdue, facts)), lookAt };
};

/** Nothing is wrong any more with the pod for whose sake a set was made anew, or it is gone. */
export const canStay = (uid: string, pods: readonly CnfFacts[]): boolean => {
  const pod = pods.find((one) => one.uid === uid);
  return (
    pod === undefined ||
    (!pod.leaving && pod.notReadySince === undefined && healthOf(pod) !== 'unhealthy')
  );
};

type Limit = { pod: CnfFacts; at: number; why: string };

const limitOf = (
  pod: CnfFacts,
  { createMs, healthMs }: Pick<HealthFacts, 'createMs' | 'healthMs'>,
): Limit | undefined => {
  if (!pod.provisioned) {
    // A new leader does not know yet whether it reports.
    if (createMs === 0 || pod.startsAt === undefined || pod.link === 'Unknown') return undefined;
    const why = `it did not run within spec.createTimeout: ${pod.notReady || 'its agent has not reported'}`;
    return { pod, at: pod.startsAt + createMs, why };
  }
  const since = Math.min(pod.silentSince ?? Infinity, pod.notReadySince ?? Infinity);
  if (healthMs === 0 || since === Infinity) return undefined;
  const what = pod.notReadySince === since ? pod.notReady : 'its agent does not report';
  return { pod, at: since + healthMs, why: `for longer than spec.healthTimeout: ${what}` };
};

const decided = (
  { pod, why }: Limit,
  overdue: readonly Limit[],
  facts: HealthFacts,
): Omit<HealthStep, 'lookAt'> => {
  const { heard, known } = facts.agents;
  if (!hearsEnough(facts.agents))
    return {
      held: `${pod.name} is not replaced while agents of only ${heard} of ${known} namespaces report: ${why}`,
    };
  const going = { pod: pod.name, uid: pod.uid, why };
  const isLast = pod.ready && !facts.pods.some((other) => isFitBeside(other, pod));
  if (isLast) return facts.atRest && pod.set === facts.current ? { renew: going } : {};
  // One at a time: the one before has to run.
  const late = new Set(overdue.map((one) => one.pod.name));
  const isStarting = facts.pods.some(({ name, provisioned }) => !provisioned && !late.has(name));
  const own = facts.pods.filter(({ set }) => set === pod.set);
  return isStarting || own.length < facts.replicas ? {} : { replace: going };
};

const isFitBeside = (other: CnfFacts, { name, set }: CnfFacts): boolean =>
  other.name !== name && other.set === set && other.ready && isInSync(other);

/** `kubectl drain` waits until another pod of the CNF is ready, and goes on by itself then. */
const drained = ({ atRest, current, pods }: HealthFacts): Going | undefined => {
  const own = pods.filter(({ set }) => set === current);
  const leaving = own.filter((pod) => pod.leaving).toSorted(byName);
  const [first] = leaving;
  const stays = own.some((pod) => !pod.leaving && pod.ready && isInSync(pod));
  if (!atRest || !first || stays) return undefined;
  const nodes = [...new Set(leaving.map(({ node }) => node))].toSorted();
  return {
    pod: first.name,
    uid: first.uid,
    why: `it is on a node that is cordoned: ${few(nodes)}`,
  };
};

const byName = (one: CnfFacts, other: CnfFacts): number => (one.name < other.name ? -1 : 1);
