/**
 * What is known of a pod of a CNFDeployment, over what a roll-out asks: where it is, since when,
 * and how long it has been like that. Pure.
 */
import type { Counters } from '#shared/protocol/counters.ts';
import {
  MAX_IMAGES,
  type CnfObject,
  type CnfObjectStatus,
} from '#shared/resources/other-kinds/cnf.ts';
import type { FleetPodObject } from '../apps.ts';
import type { FleetPod } from '../pod.ts';

/** Device -> addresses. */
export type Networks = ReadonlyMap<string, readonly string[]>;

export type CnfFacts = FleetPod & {
  uid: string;
  /** '' while it is on none. */
  node: string;
  images: readonly string[];
  /** That of its agent; undefined: not known. */
  agentVersion: string | undefined;
  /** Device -> addresses of its OpenWRT; empty: not known. */
  networks: Networks;
  counters: Counters | undefined;
  /** It does not become ready by itself soon. */
  troubled: boolean;
  /** It has run once, with an agent that reports; what comes after that is no start. */
  provisioned: boolean;
  /**
   * When its agent last reported, to this coordinator or to one before; wall-clock milliseconds, as
   * are the other times.
   */
  reportedAt: number | undefined;
  /** Since when its agent is silent; undefined: it is not, or it is not known yet. */
  silentSince: number | undefined;
};

/** What is known of the pod elsewhere: by its kubelet, this coordinator, and those before. */
export type PodKnown = {
  agentVersion: string | undefined;
  networks: Networks;
  counters: Counters | undefined;
  troubled: boolean;
  /** The time of the last report to this coordinator. */
  reportedAt: number | undefined;
  before: CnfObject | undefined;
  now: number;
};

export const cnfFactsOf = (pod: FleetPodObject, seen: FleetPod, known: PodKnown): CnfFacts => {
  const { uid } = pod.metadata;
  // That of another pod of its name says nothing of this one.
  const before = known.before?.status?.podUID === uid ? known.before.status : undefined;
  return {
    ...seen,
    uid,
    node: pod.spec.nodeName ?? '',
    images: imagesOf(pod),
    agentVersion: known.agentVersion,
    networks: known.networks,
    counters: known.counters,
    troubled: known.troubled,
    provisioned: conditionOf(before, 'Provisioned')?.status === 'True' || runs(seen),
    reportedAt: known.reportedAt ?? momentOf(before?.lastReport),
    silentSince: seen.link === 'Silent' ? silenceOf(before, known) : undefined,
  };
};

const conditionOf = (status: CnfObjectStatus | undefined, type: string) =>
  status?.conditions?.find((one) => one.type === type);

const imagesOf = ({ spec: { containers = [], initContainers = [] } }: FleetPodObject): string[] =>
  [...initContainers, ...containers].flatMap(({ image }) => image ?? []).slice(0, MAX_IMAGES);

/** The kubelet says ready only after the first pass of the agent. */
const runs = ({ ready, containersReady, link }: FleetPod): boolean =>
  ready || (containersReady && link === 'Connected');

const silenceOf = (
  before: CnfObjectStatus | undefined,
  { reportedAt, now }: Pick<PodKnown, 'reportedAt' | 'now'>,
): number => {
  const { status, lastTransitionTime } = conditionOf(before, 'Connected') ?? {};
  const since = status === 'False' ? momentOf(lastTransitionTime) : undefined;
  return reportedAt ?? since ?? now;
};

const momentOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Date.parse(text);

export type Health = 'ready' | 'progressing' | 'unhealthy';

export const healthOf = ({ link, provisioned, ready, troubled }: CnfFacts): Health => {
  if (troubled || (link === 'Silent' && provisioned)) return 'unhealthy';
  return ready ? 'ready' : 'progressing';
};

export const isInSync = ({ link, missing }: FleetPod): boolean =>
  link === 'Connected' && missing.size === 0;
