/**
 * Whether a staged set may have the traffic, and whether one that has it must lose it: its pods
 * against those of the set that serves. Pure.
 */
import { few } from '#shared/util/few.ts';
import type { FleetPod } from './pod.ts';

export type Judgement = {
  /** As many pods as there must be, each with its containers ready and a fresh report. */
  connected: boolean;
  /** And each has every rule, but for those that are excused. */
  configured: boolean;
  /** The pods that could have the traffic by themselves. */
  fit: readonly FleetPod[];
  /** In words; empty when configured. */
  waitsFor: readonly string[];
  /** Rules that the set is not to wait for: no pod of the serving set can have them either. */
  excused: readonly string[];
  /** What is wrong with pods that have the traffic, and is not wrong with the serving set. */
  trouble: string | undefined;
  /** Not enough is known of some pod to blame it. */
  unknown: boolean;
};

/**
 * What a pod has to come back when one of its containers ends: for the second time in a row the
 * kubelet waits ten seconds before it starts it again, and its agent makes a pass before it is
 * ready. Meanwhile the old set has the label again.
 */
export const RESTART_MS = 20_000;

/** `now`: wall-clock milliseconds. */
type Around = { replicas: number; now: number };

/** `old`: of the set that serves, `next`: of the staged one. */
export const judge = (
  next: readonly FleetPod[],
  old: readonly FleetPod[],
  { replicas, now }: Around,
): Judgement => {
  const excused = excusedBy(old);
  const pods = next.toSorted(byName);
  const late = pods.filter((pod) => !isConnected(pod));
  const fit = pods.filter((pod) => isConnected(pod) && lacking(pod, excused).length === 0);
  const enough = next.length >= replicas;
  const waitsFor = [
    ...(enough ? [] : [`${next.length} of ${replicas} pods are there`]),
    ...late.map((pod) => `${pod.name}: ${whyLate(pod)}`),
    ...rulesWaitedFor(pods.filter(isConnected), excused),
  ];
  return {
    connected: enough && late.length === 0,
    configured: enough && fit.length === next.length,
    fit,
    waitsFor,
    excused: [...excused]
      .filter((rule) => next.some(({ missing }) => missing.has(rule)))
      .toSorted(),
    trouble: troubleOf(pods.filter(hasTraffic), old, now),
    unknown: [...next, ...old].some(({ link }) => link === 'Unknown'),
  };
};

/** As if the set had every rule: people have said that it is to have the traffic. */
export const judgePromoted: typeof judge = (next, old, around) => ({
  ...judge(
    next.map((pod) => ({ ...pod, missing: new Map() })),
    old,
    around,
  ),
  excused: [...new Set(next.flatMap(({ missing }) => [...missing.keys()]))].toSorted(),
});

const hasTraffic = ({ gate }: FleetPod): boolean => gate === 'open';

const isConnected = ({ containersReady, link }: FleetPod): boolean =>
  containersReady && link === 'Connected';

const whyLate = ({ containersReady, link, notReady }: FleetPod): string => {
  if (!containersReady) return notReady;
  return link === 'Silent' ? 'its agent does not report' : 'its agent has not reported yet';
};

/** A rule of which no agent has spoken at today's revision is not excused: it is waited for. */
const excusedBy = (old: readonly FleetPod[]): ReadonlySet<string> => {
  const [first, ...others] = old.filter(({ link }) => link === 'Connected');
  const refused = [...(first?.missing ?? [])].filter(
    ([rule, { refused: is }]) => is && others.every(({ missing }) => missing.get(rule)?.refused),
  );
  return new Set(refused.map(([rule]) => rule));
};

/**
 * What neither set can have now, and what the serving set cannot have while the other has not come
 * to it, differ: the latter is waited for.
 */
const lacking = ({ missing }: FleetPod, excused: ReadonlySet<string>): string[] =>
  [...missing]
    .filter(([rule, { refused }]) => !refused || !excused.has(rule))
    .map(([rule]) => rule);

/** By rule, since one that is wrong is wrong on each pod. */
const rulesWaitedFor = (pods: readonly FleetPod[], excused: ReadonlySet<string>): string[] => {
  const found = pods.flatMap((pod) =>
    lacking(pod, excused).map((rule) => ({ ...lackOf(pod, rule), pod: pod.name })),
  );
  return [...Map.groupBy(found.toSorted(causesFirst), ({ what }) => what)].map(
    ([what, on]) => `${what} (on ${few(on.map(({ pod }) => pod))})`,
  );
};

type Lack = { what: string; reason: string };

const lackOf = ({ missing }: FleetPod, rule: string): Lack => {
  const reason = missing.get(rule)?.reason ?? '';
  return { what: `${rule}: ${reason}`, reason };
};

/** A rule that waits for another one tells less than that one does. */
const causesFirst = (one: Lack, other: Lack): number => {
  const [isEffect, isOther] = [one, other].map(({ reason }) => reason === 'WaitingForReference');
  return Number(isEffect) - Number(isOther) || (one.what < other.what ? -1 : 1);
};

const troubleOf = (
  pods: readonly FleetPod[],
  old: readonly FleetPod[],
  now: number,
): string | undefined => {
  const heard = old.filter(({ link }) => link === 'Connected');
  for (const pod of pods) {
    const isLost = now - (pod.notReadySince ?? now) >= RESTART_MS;
    if (isLost && old.some(({ ready }) => ready)) return `${pod.name}: ${pod.notReady}`;
    if (pod.link === 'Silent' && heard.length > 0) return `${pod.name}: its agent does not report`;
    if (pod.link !== 'Connected') continue;
    const [trouble] = [...pod.missing.keys()]
      .filter((rule) => heard.some(({ missing }) => !missing.has(rule)))
      .map((rule) => lackOf(pod, rule))
      .toSorted(causesFirst);
    if (trouble) return `${trouble.what} (on ${pod.name})`;
  }
  return undefined;
};

const byName = (one: FleetPod, other: FleetPod): number => (one.name < other.name ? -1 : 1);
