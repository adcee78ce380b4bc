/**
 * What a roll-out of a CNFDeployment does next, out of what is known at this moment and the little
 * that was remembered. Kubernetes makes and removes the pods of both sets; decided here is when
 * those of the staged set may have the traffic, and when they lose it again. Pure: the same facts
 * give the same decision, whichever coordinator looks, and a step that was cut off is taken again
 * by the next look.
 */
import { few } from '#shared/util/few.ts';
import {
  deletionCostOf,
  distancesOf,
  isConfirmed,
  isFit,
  nearestIn,
  type Distances,
} from './distances.ts';
import { judge, judgePromoted, type Judgement } from './set-health.ts';
import type { FleetPod } from './pod.ts';

export const STAGES = [
  /** No set has had a pod that was ready. */
  'Creating',
  /** One set, which serves. */
  'Current',
  /** There is a new set, of which not each pod runs with an agent that reports. */
  'Staged',
  /** Each pod of the new set does, and not each has every rule. */
  'Connected',
  /**
   * The new set has every rule, and distances have been swapped; not each agent has said that it
   * has its own in force.
   */
  'Swapping',
  /** The new set has every rule and is given the traffic; not each of its pods is Ready yet. */
  'HandedOver',
  /** Each pod of the new set has the traffic; the old set stays for a while. */
  'Soaking',
  /** The new set was given up. */
  'Failed',
] as const;
export type Stage = (typeof STAGES)[number];

export type RollOutFacts = {
  /** Wall-clock milliseconds. */
  now: number;
  replicas: number;
  /** Set of the Deployment's template; undefined while Kubernetes has not said which. */
  wanted: string | undefined;
  /** A newer template waits until the staged set has no traffic any more. */
  superseded: boolean;
  soakMs: number;
  deadlineMs: number;
  paused: boolean;
  /** People give the staged set the traffic, whatever rules it has. */
  promoted: boolean;
  /**
   * There is no room for two sets: each new pod that has every rule serves beside the old ones,
   * before there are as many as there must be.
   */
  podByPod: boolean;
  /** How long the old set has to confirm its distances. */
  handOverMs: number;
  /** What Kubernetes says of pods that it cannot make. */
  failure: string | undefined;
  /** As they were written last: what agents are told. */
  distances: Distances;
  pods: readonly FleetPod[];
};

/**
 * What the status keeps from one look to the next, and from one coordinator to the next. Times are
 * wall-clock milliseconds.
 */
export type Memory = {
  /** The set that was proven last: it serves. */
  current?: string;
  staged?: StagedSet;
  failed?: FailedSet;
};

export type StagedSet = {
  set: string;
  since: number;
  /** When distances were swapped. */
  swappedAt?: number;
  handedOverAt?: number;
  /** Since when each of its pods is Ready. */
  readyAt?: number;
  /** Since when something is wrong with it that is not wrong with the current set. */
  troubledAt?: number;
};

export type FailedSet = { set: string; why: string };

export type Action =
  | { do: 'activate' | 'deactivate' | 'open' | 'close'; pod: string }
  /** How late a scale-down is to take it. */
  | { do: 'rate'; pod: string; cost: number };

export type RollOutStep = {
  stage: Stage;
  memory: Memory;
  /** As they are to be. Where they differ from what is written, nothing else is done before. */
  distances: Distances;
  /** In this order: a look that ends in between leaves the CNF with traffic. */
  actions: readonly Action[];
  /** What the roll-out waits for, in words; empty at rest. */
  waitsFor: readonly string[];
  /** Rules for which it does not wait. */
  excused: readonly string[];
  /** When something is due even if nothing changes. */
  lookAt: number | undefined;
};

/** What is wrong for less than that, while a set soaks, comes with any change of a rule. */
export const TROUBLE_MS = 10_000;

/**
 * For how long after the soak the old pods are looked for, which Kubernetes takes then: so their
 * end and that of the roll-out are one change of the status.
 */
export const TAKEN_MS = 2_000;

/**
 * Before and after the soak of a pod ends, Kubernetes may be taking an old pod for it, by what it
 * knew of the gates a moment ago. Who took the traffic from the new pods then would leave none that
 * has it.
 */
const TAKING_MS = { before: 3_000, after: TAKEN_MS };

/** Nothing is handed over. */
export const isSettled = ({ stage }: Pick<RollOutStep, 'stage'>): boolean =>
  stage === 'Current' || stage === 'Failed';

export const steer = (facts: RollOutFacts, before: Memory): RollOutStep => {
  const { leading, ...step } = decide(facts, before);
  const known = { before: facts.distances, now: facts.now };
  return { ...step, distances: distancesOf(facts.pods, leading, known) };
};

/** `leading`: the set whose pods are the nearest. */
type Decision = Omit<RollOutStep, 'distances'> & { leading: string | undefined };

const decide = (facts: RollOutFacts, before: Memory): Decision => {
  const current = before.current ?? firstToServe(facts.pods);
  if (current === undefined) return creating(facts, before);
  const { wanted } = facts;
  const { failed } = before;
  if (wanted === undefined || wanted === current)
    return serving(facts, current, { current, ...(failed && { failed }) });
  const staged = before.staged?.set === wanted ? before.staged : { set: wanted, since: facts.now };
  const old = facts.pods.filter(({ set }) => set === current);
  const next = facts.pods.filter(({ set }) => set === wanted);
  const judgement = (facts.promoted ? judgePromoted : judge)(next, old, facts);
  const takenUntil = takenUntilIn(next, facts);
  return rolling({ facts, current, staged, failed, old, next, judgement, takenUntil });
};

/** The set with most of the traffic, of a Deployment adopted in the middle of a roll-out. */
const firstToServe = (pods: readonly FleetPod[]): string | undefined => {
  const ready = Map.groupBy(
    pods.filter((pod) => pod.ready),
    ({ set }) => set,
  );
  const [most] = [...ready].toSorted(
    ([a, some], [b, others]) => others.length - some.length || (a < b ? -1 : 1),
  );
  return most?.[0];
};

/** Nothing serves, so nothing is held back. */
const creating = ({ pods, replicas, wanted }: RollOutFacts, memory: Memory): Decision => ({
  stage: 'Creating',
  leading: wanted,
  memory,
  actions: opened(pods),
  waitsFor: [
    `0 of ${replicas} pods are ready`,
    ...pods
      .filter(({ startsAt }) => startsAt === undefined)
      .map(({ name, notReady }) => `${name}: ${notReady}`),
  ],
  excused: [],
  lookAt: undefined,
});

const serving = (facts: RollOutFacts, current: string, memory: Memory): Decision => {
  const { pods } = facts;
  const own = pods.filter(({ set }) => set === current);
  const others = pods.filter(({ set }) => set !== current);
  return {
    stage: memory.failed === undefined ? 'Current' : 'Failed',
    leading: current,
    memory,
    actions: [
      ...given(own, facts),
      ...takenFrom(others, own, closedBy(memory.failed?.set, own, facts)),
      ...rated(own, facts),
    ],
    waitsFor: [],
    excused: [],
    lookAt: labelWaitsUntil(own, facts),
  };
};

type RollOut = {
  facts: RollOutFacts;
  current: string;
  staged: StagedSet;
  failed: FailedSet | undefined;
  old: readonly FleetPod[];
  next: readonly FleetPod[];
  judgement: Judgement;
  /** Undefined: Kubernetes is not about to take an old pod. */
  takenUntil: number | undefined;
};

const rolling = (rollOut: RollOut): Decision => {
  const { facts, failed, next, old, staged } = rollOut;
  if (failed?.set === staged.set) return givenUp(rollOut, failed);
  const canGiveBack = old.some(({ ready }) => ready) && rollOut.takenUntil === undefined;
  if (facts.superseded && canGiveBack) return takenBack(rollOut);
  if (isHandedOver(rollOut)) return handingOver(rollOut);
  if (next.every(({ gate }) => gate === 'none')) return ungated(rollOut);
  if (facts.podByPod && next.length < facts.replicas) return joining(rollOut);
  return (facts.paused ? undefined : swapping(rollOut)) ?? staying(rollOut);
};

/** Its gates tell it too, of a coordinator that ended before it could say so. */
const isHandedOver = ({ facts, next, staged }: RollOut): boolean =>
  staged.handedOverAt !== undefined ||
  (!facts.podByPod && next.some(({ gate }) => gate === 'open'));

/** Undefined: the set lacks a rule, and does so for longer than a change of distances takes. */
const swapping = (rollOut: RollOut): Decision | undefined => {
  const { facts, judgement, old } = rollOut;
  const { handOverMs } = facts;
  const staged = swapTimes(rollOut);
  if (staged === undefined) return undefined;
  const isAsked = rollOut.staged.swappedAt !== undefined;
  const swapped = { ...rollOut, staged };
  const dueAt = staged.swappedAt + handOverMs;
  const late = lateToConfirm(swapped, dueAt);
  if (judgement.configured && isAsked && late.length === 0) return handingOver(swapped);
  if (isOverdue(swapped)) return fail(swapped, judgement.waitsFor[0] ?? unconfirmed(late));
  return {
    ...underWay(swapped, 'Swapping'),
    leading: staged.set,
    actions: given(old, facts),
    waitsFor: [...judgement.waitsFor, ...(late.length > 0 ? [unconfirmed(late)] : [])],
    lookAt: Math.min(deadlineOf(swapped), dueAt),
  };
};

const swapTimes = ({
  facts: { now },
  judgement,
  staged: { set, since, swappedAt, troubledAt = now },
}: RollOut): (StagedSet & { swappedAt: number }) | undefined => {
  if (judgement.configured) return { set, since, swappedAt: swappedAt ?? now };
  const isBrief = swappedAt !== undefined && now < troubledAt + TROUBLE_MS;
  return isBrief ? { set, since, swappedAt, troubledAt } : undefined;
};

/** Those of the new set must; those of the old one have time, after the new ones have. */
const lateToConfirm = ({ facts, next, old }: RollOut, dueAt: number): readonly FleetPod[] => {
  const { now, distances } = facts;
  const isLate = (pod: FleetPod): boolean => !isConfirmed(pod, distances);
  const late = next.filter(isLate);
  if (late.length > 0 || now >= dueAt) return late;
  return old.filter((pod) => isFit(pod) && isLate(pod));
};

const unconfirmed = (pods: readonly FleetPod[]): string =>
  `the agent has not confirmed its distance yet on ${few(pods.map(({ name }) => name).toSorted())}`;

const staying = (rollOut: RollOut): Decision => {
  const { facts, judgement, old } = rollOut;
  const { waitsFor } = judgement;
  const deadline = deadlineOf(rollOut);
  if (isOverdue(rollOut)) return fail(rollOut, whyOverdue(rollOut, 'the deadline has passed'));
  // No pod has the traffic: those that can take it do, pod by pod.
  const alone = old.some(({ ready }) => ready) || facts.paused ? [] : judgement.fit;
  return {
    ...underWay(
      { ...rollOut, staged: beforeSwap(rollOut) },
      judgement.connected ? 'Connected' : 'Staged',
    ),
    actions: [...given(old, facts), ...given(alone, facts)],
    waitsFor: pausedFirst(facts, waitsFor),
    lookAt: facts.paused ? undefined : deadline,
  };
};

const beforeSwap = ({ staged: { set, since } }: RollOut): StagedSet => ({ set, since });

/** For Recreate, and pods that were made when nothing served: they get traffic by Kubernetes. */
const ungated = (rollOut: RollOut): Decision => {
  const { facts, judgement, next, old } = rollOut;
  const isReady = areReady(next, facts.replicas);
  if (isReady && judgement.configured && old.length === 0) return proven(rollOut);
  const { waitsFor } = judgement;
  if (isOverdue(rollOut)) return fail(rollOut, whyOverdue(rollOut, unready(next, facts.replicas)));
  return {
    ...underWay(rollOut, judgement.connected ? 'Connected' : 'Staged'),
    leading: old.length > 0 ? rollOut.current : rollOut.staged.set,
    actions: [...given(old, facts), ...given(next, facts)],
    waitsFor: judgement.configured ? [unready(next, facts.replicas)] : waitsFor,
    lookAt: facts.paused ? undefined : deadlineOf(rollOut),
  };
};

/**
 * Pod by pod: Kubernetes takes an old pod for each new one that has served for spec.soakSeconds.
 * The label and the near distances stay with the old set until the last new pod is there.
 */
const joining = (rollOut: RollOut): Decision => {
  const { facts, judgement, next, old, takenUntil } = rollOut;
  const { fit, trouble, waitsFor } = judgement;
  const { set, since, troubledAt = facts.now } = rollOut.staged;
  const staged = { set, since, ...(trouble !== undefined && { troubledAt }) };
  const known = { ...rollOut, staged };
  const troubleDueAt = trouble === undefined ? Infinity : troubledAt + TROUBLE_MS;
  if (takenUntil === undefined) {
    if (facts.now >= troubleDueAt) return fail(known, trouble ?? '');
    if (isOverdue(known)) return fail(known, whyOverdue(known, 'the deadline has passed'));
  }
  return {
    ...underWay(known, fit.length === next.length ? 'HandedOver' : 'Staged'),
    actions: [...given(old, facts), ...(facts.paused ? [] : joined(rollOut))],
    waitsFor: pausedFirst(facts, waitsFor),
    lookAt: takenUntil ?? Math.min(deadlineOf(known), troubleDueAt),
  };
};

const joined = (rollOut: RollOut): Action[] => [
  ...(rollOut.old.some(({ ready }) => ready) ? [] : labelled(rollOut.judgement.fit, rollOut.facts)),
  ...opened(openable(rollOut)),
];

const pausedFirst = ({ paused }: RollOutFacts, waitsFor: readonly string[]): readonly string[] =>
  paused ? ['spec.paused is true', ...waitsFor] : waitsFor;

const handingOver = (rollOut: RollOut): Decision => {
  const { facts, judgement, next, old } = rollOut;
  const { trouble } = judgement;
  const staged = timesOf(rollOut);
  const known = { ...rollOut, staged };
  const why = whyUndone(known);
  if (why !== undefined) return fail(known, why);
  const { readyAt } = staged;
  const isReady = readyAt !== undefined;
  const dueAt = isReady ? readyAt + facts.soakMs + TAKEN_MS : deadlineOf(rollOut);
  if (isReady && trouble === undefined && (facts.now >= dueAt || old.length === 0))
    return proven(known);
  const what = isReady
    ? `both sets stay for spec.soakSeconds, ${facts.soakMs / 1_000} s`
    : unready(next, facts.replicas);
  return {
    ...underWay(known, isReady ? 'Soaking' : 'HandedOver'),
    leading: staged.set,
    // Make before break.
    actions: [
      ...labelled(judgement.fit, facts),
      ...opened(openable(rollOut)),
      ...rated(openable(rollOut), facts),
      ...(isReady ? takenFrom(old, next, undefined) : given(old, facts)),
    ],
    waitsFor: trouble === undefined ? [what] : [trouble, what],
    lookAt: Math.min(dueAt, undoneAt(known)),
  };
};

/** At the earliest. */
const undoneAt = ({ takenUntil, staged: { troubledAt } }: RollOut): number =>
  takenUntil ?? (troubledAt ?? Infinity) + TROUBLE_MS;

const takenUntilIn = (
  next: readonly FleetPod[],
  { soakMs, now }: Pick<RollOutFacts, 'soakMs' | 'now'>,
): number | undefined => {
  const ends = next.flatMap(({ readySince }) =>
    readySince === undefined ? [] : [readySince + soakMs],
  );
  const near = ends.filter((end) => now >= end - TAKING_MS.before && now < end + TAKING_MS.after);
  return near.length > 0 ? Math.max(...near) + TAKING_MS.after : undefined;
};

const whyUndone = (rollOut: RollOut): string | undefined => {
  const { facts, judgement, next, staged, takenUntil } = rollOut;
  const { readyAt, troubledAt = Infinity } = staged;
  if (takenUntil !== undefined) return undefined;
  if (facts.now >= troubledAt + TROUBLE_MS) return judgement.trouble;
  if (readyAt === undefined && isOverdue(rollOut))
    return judgement.waitsFor[0] ?? unready(next, facts.replicas);
  return undefined;
};

const timesOf = ({ facts: { now, replicas }, judgement, next, staged }: RollOut): StagedSet => {
  const { set, since, swappedAt, handedOverAt = now, readyAt = now, troubledAt = now } = staged;
  return {
    set,
    since,
    ...(swappedAt !== undefined && { swappedAt }),
    handedOverAt,
    ...(areReady(next, replicas) && { readyAt }),
    ...(judgement.trouble !== undefined && { troubledAt }),
  };
};

/** A newer template is there: the old set has all of the traffic again before it is tried. */
const takenBack = (rollOut: RollOut): Decision => {
  const { facts, old, next, staged } = rollOut;
  return {
    ...underWay({ ...rollOut, staged: beforeSwap(rollOut) }, 'Staged'),
    actions: [...given(old, facts), ...takenFrom(next, old, staged.set)],
    waitsFor: ['a newer template, for which the set before it loses the traffic'],
    lookAt: undefined,
  };
};

const proven = ({ facts, staged: { set } }: RollOut): Decision =>
  serving(facts, set, { current: set });

const fail = (rollOut: RollOut, why: string): Decision =>
  givenUp(rollOut, { set: rollOut.staged.set, why });

const givenUp = (rollOut: RollOut, failed: FailedSet): Decision => {
  const { facts, old, next, staged, takenUntil } = rollOut;
  return {
    ...underWay({ ...rollOut, failed }, 'Failed'),
    actions:
      takenUntil === undefined
        ? [...given(old, facts), ...takenFrom(next, old, closedBy(staged.set, old, facts))]
        : [],
    waitsFor: [],
    lookAt: takenUntil,
  };
};

const underWay = (
  { current, staged, failed, judgement }: RollOut,
  stage: Stage,
): Pick<Decision, 'stage' | 'leading' | 'memory' | 'excused'> => ({
  stage,
  leading: current,
  memory: { current, staged, ...(failed && { failed }) },
  excused: judgement.excused,
});

const deadlineOf = ({ facts, staged }: RollOut): number => staged.since + facts.deadlineMs;

/** No pod is blamed on half of the facts. */
const isOverdue = (rollOut: RollOut): boolean =>
  rollOut.facts.now >= deadlineOf(rollOut) && !rollOut.facts.paused && !rollOut.judgement.unknown;

/** Kubernetes knows more of pods that are not there. */
const whyOverdue = ({ facts, judgement, next }: RollOut, otherwise: string): string =>
  (next.length < facts.replicas ? facts.failure : undefined) ?? judgement.waitsFor[0] ?? otherwise;

const areReady = (pods: readonly FleetPod[], replicas: number): boolean =>
  pods.length >= replicas && pods.every(({ ready }) => ready);

/** The label that Services may select by comes first, then the gate. */
const given = (pods: readonly FleetPod[], facts: Placing): Action[] => [
  ...labelled(pods, facts),
  ...opened(pods),
];

type Placing = Pick<RollOutFacts, 'now' | 'distances' | 'handOverMs'>;

/** The nearest has the label. One that has it and is well keeps it until the nearest confirms. */
const labelled = (pods: readonly FleetPod[], { now, distances, handOverMs }: Placing): Action[] => {
  const nearest = nearestIn(pods, distances);
  if (nearest === undefined) return [];
  const others = pods.filter((pod) => pod !== nearest);
  if (nearest.active) return nearest.ready ? deactivated(others) : [];
  return labelWaitsUntil(pods, { now, distances, handOverMs }) === undefined
    ? [{ do: 'activate', pod: nearest.name }]
    : [];
};

const labelWaitsUntil = (
  pods: readonly FleetPod[],
  { now, distances, handOverMs }: Placing,
): number | undefined => {
  const nearest = nearestIn(pods, distances);
  const placed = nearest && distances.get(nearest.name);
  if (nearest === undefined || placed === undefined) return undefined;
  const isHeld = pods.some((pod) => pod !== nearest && pod.active && isFit(pod));
  const dueAt = placed.since + handOverMs;
  const waits = isHeld && !nearest.active && !isConfirmed(nearest, distances) && now < dueAt;
  return waits ? dueAt : undefined;
};

const rated = (pods: readonly FleetPod[], { distances }: Placing): Action[] =>
  pods
    .map((pod) => ({ pod, cost: deletionCostOf(pod, distances) }))
    .filter(({ pod, cost }) => pod.deletionCost !== cost)
    .map(({ pod: { name }, cost }) => ({ do: 'rate', pod: name, cost }));

const opened = (pods: readonly FleetPod[]): Action[] =>
  pods.filter(({ gate }) => gate === 'closed').map(({ name }) => ({ do: 'open', pod: name }));

const deactivated = (pods: readonly FleetPod[]): Action[] =>
  pods.filter(({ active }) => active).map(({ name }) => ({ do: 'deactivate', pod: name }));

/** Only where others have it already; `closed`: the set that may not be ready either. */
const takenFrom = (
  pods: readonly FleetPod[],
  others: readonly FleetPod[],
  closed: string | undefined,
): Action[] => {
  if (!others.some(({ ready }) => ready)) return [];
  const shut = pods.filter(({ gate, set }) => gate === 'open' && set === closed);
  return [
    ...(others.some(({ ready, active }) => ready && active) ? deactivated(pods) : []),
    ...shut.map(({ name }): Action => ({ do: 'close', pod: name })),
  ];
};

/** While others serve, each pod of the staged set says first that it has its distance in force. */
const openable = ({ facts, judgement, old }: RollOut): readonly FleetPod[] =>
  old.some(({ ready }) => ready)
    ? judgement.fit.filter((pod) => isConfirmed(pod, facts.distances))
    : judgement.fit;

/** Pod by pod, a set that has failed serves on until the pods of the other one are back. */
const closedBy = (
  failed: string | undefined,
  others: readonly FleetPod[],
  { podByPod, replicas }: Pick<RollOutFacts, 'podByPod' | 'replicas'>,
): string | undefined =>
  podByPod && others.filter(({ ready }) => ready).length < replicas ? undefined : failed;

const unready = (pods: readonly FleetPod[], replicas: number): string => {
  const late = pods.filter(({ ready }) => !ready).map(({ name }) => name);
  const share = `${pods.length - late.length} of ${replicas} pods are ready`;
  return late.length === 0 ? share : `${share}, not ${few(late.toSorted())}`;
};
