/** A CNFDeployment's CNFSets and CNFs, as they should be: revisions, and how pods are. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { OwnerReference } from '#shared/kube/objects.ts';
import { apiVersionOf } from '#shared/kube/path.ts';
import type { Desired } from '#shared/kube/owned.ts';
import { MANAGED_BY, PURPOSE_LABEL } from '#shared/names.ts';
import type {
  CnfDeployment,
  FleetCondition,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { CnfSet, CnfSetSpec, CnfSetStatus } from '#shared/resources/other-kinds/cnf-set.ts';
import type { CnfObject, CnfObjectStatus, CnfSpec } from '#shared/resources/other-kinds/cnf.ts';
import { few } from '#shared/util/few.ts';
import { given } from '#shared/util/given.ts';
import { timestamp, truncated } from '../../../rule-status/wording.ts';
import { fleetPods, revisionNumberOf, setOf, type FleetReplicaSet } from '../apps.ts';
import { healthOf, isInSync, type CnfFacts, type Networks } from './facts.ts';
import { ownerOf } from '../deployment.ts';
import type { RollOutStep } from '../decide.ts';

const MAX_TEXT = 1_024;
/** What agents observe can change all the time. */
const OBSERVED_MS = 60_000;
const MAX_NAMED = 3;

export type MirrorView = {
  now: number;
  sets: readonly FleetReplicaSet[];
  pods: readonly CnfFacts[];
  /** Pods that have ended and are still there. */
  finished: readonly string[];
  step: RollOutStep;
  /** The set that the Deployment asks for. */
  wanted: string;
};

export type WantedSet = Desired & { fields: { spec: CnfSetSpec; status: CnfSetStatus } };
export type WantedCnf = Desired & { fields: { spec: CnfSpec; status: CnfObjectStatus } };

export const wantedSetOf = (
  cnf: CnfDeployment,
  replicaSet: FleetReplicaSet,
  before: CnfSet | undefined,
  view: MirrorView,
): WantedSet => {
  const set = setOf(replicaSet);
  const spec: CnfSetSpec = {
    deployment: cnf.metadata.name,
    // That of a set which is asked for again is a new one.
    revision: before?.spec.revision ?? revisionNumberOf(replicaSet),
    templateHash: set,
  };
  return {
    metadata: {
      namespace: cnf.metadata.namespace,
      name: replicaSet.metadata.name,
      labels: labelsOf(cnf),
      ownerReferences: [ownerOf(cnf)],
    },
    fields: { spec, status: setStatusOf(set, before?.status, view) },
  };
};

const setStatusOf = (
  set: string,
  before: CnfSetStatus | undefined,
  view: MirrorView,
): CnfSetStatus => {
  const own = view.pods.filter((pod) => pod.set === set);
  const healths = own.map(healthOf);
  const countOf = (health: string): number => healths.filter((one) => one === health).length;
  const became = becameOf(set, before, view);
  return {
    ...became,
    since: (before?.stage === became.stage && before?.since) || timestamp(view.now),
    replicas: own.length,
    ready: countOf('ready'),
    progressing: countOf('progressing'),
    unhealthy: countOf('unhealthy'),
    inSync: own.filter(isInSync).length,
  };
};

type Became = Pick<CnfSetStatus, 'stage' | 'outcome' | 'message'>;

const becameOf = (
  set: string,
  before: CnfSetStatus | undefined,
  { step, wanted }: MirrorView,
): Became => {
  const { current, staged, failed } = step.memory;
  if (failed?.set === set)
    return { stage: 'Failed', outcome: 'Failed', message: truncated(failed.why, MAX_TEXT) };
  if (set === current) return { stage: 'Current', outcome: 'Proven' };
  const isTried = set === wanted && (current === undefined || set === staged?.set);
  return isTried ? triedAs(step, before) : leftAs(before);
};

const triedAs = ({ stage, waitsFor: [first] }: RollOutStep, before?: CnfSetStatus): Became => ({
  stage,
  // One that has served before is tried again.
  ...(before?.outcome === 'Proven' && { outcome: before.outcome }),
  ...(first !== undefined && { message: truncated(first, MAX_TEXT) }),
});

/** What has become of a set that the roll-out is not about any more. */
const leftAs = (before: CnfSetStatus | undefined): Became => {
  if (before === undefined) return { stage: 'Replaced' };
  const { outcome = 'Superseded', message } = before;
  if (outcome === 'Failed')
    return { stage: 'Failed', outcome, ...(message !== undefined && { message }) };
  return { stage: outcome === 'Proven' ? 'Replaced' : 'Superseded', outcome };
};

export const wantedCnfOf = (
  cnf: CnfDeployment,
  pod: CnfFacts,
  before: CnfObject | undefined,
  { now, distance }: { now: number; distance: number | undefined },
): WantedCnf => {
  const spec: CnfSpec = {
    deployment: cnf.metadata.name,
    templateHash: pod.set,
    ...(distance !== undefined && { distance }),
    weight: pod.weight,
  };
  return {
    metadata: {
      namespace: cnf.metadata.namespace,
      name: pod.name,
      labels: labelsOf(cnf),
      ownerReferences: [ownerOfCnf(pod)],
    },
    fields: { spec, status: cnfStatusOf(pod, before?.status, { now, distance }) },
  };
};

/** Kubernetes removes it with its pod. */
const ownerOfCnf = ({ name, uid }: CnfFacts): OwnerReference => ({
  apiVersion: apiVersionOf(fleetPods),
  kind: fleetPods.kind,
  name,
  uid,
  controller: true,
});

/** What Kubernetes removes by itself. */
export const goesWithItsPod = ({ metadata: { ownerReferences = [] } }: CnfObject): boolean =>
  ownerReferences.length > 0 && ownerReferences.every(({ kind }) => kind === fleetPods.kind);

const labelsOf = ({ spec }: CnfDeployment): Record<string, string> => ({
  ...MANAGED_BY,
  [PURPOSE_LABEL]: spec.template.metadata.labels[PURPOSE_LABEL] ?? '',
});

/** Times that go on by themselves are written with the next change only. */
const cnfStatusOf = (
  pod: CnfFacts,
  known: CnfObjectStatus | undefined,
  view: { now: number; distance: number | undefined },
): CnfObjectStatus => {
  const before = known?.podUID === pod.uid ? known : undefined;
  const conditions = conditionsOf(pod, before, view);
  const wrong = conditions.find(({ status }) => status === 'False');
  const status: CnfObjectStatus = {
    phase: phaseOf(pod),
    ...(pod.node !== '' && { node: pod.node }),
    podUID: pod.uid,
    images: pod.images.map((image) => truncated(image, MAX_TEXT)),
    ...agentVersionOf(pod, before),
    ...lastEventOf(conditions),
    ...observedOf(pod, before, view.now),
    ...(pod.actual !== undefined && { actualDistance: pod.actual }),
    ...(pod.reportedAt !== undefined && { lastReport: timestamp(pod.reportedAt) }),
    conditions,
    ...(wrong !== undefined && { message: truncated(wrong.message, MAX_TEXT) }),
  };
  const { lastReport: _then, ...was } = before ?? {};
  const { lastReport: _now, ...is } = status;
  return before && pod.link !== 'Silent' && isDeepStrictEqual(was, is) ? before : status;
};

/** What is not known yet is as the coordinator before has seen it. */
const agentVersionOf = (
  { agentVersion }: CnfFacts,
  before: CnfObjectStatus | undefined,
): Pick<CnfObjectStatus, 'agentVersion'> =>
  given({ agentVersion: agentVersion ?? before?.agentVersion });

/** What the agent of a pod observes: it decides nothing. */
export type Observed = Pick<CnfFacts, 'uid' | 'networks' | 'counters'>;

const lastEventOf = (conditions: readonly FleetCondition[]): Pick<CnfObjectStatus, 'lastEvent'> => {
  const [last] = conditions.toSorted(
    (one, other) => Date.parse(other.lastTransitionTime) - Date.parse(one.lastTransitionTime),
  );
  return last ? { lastEvent: { reason: last.reason, time: last.lastTransitionTime } } : {};
};

/**
 * Until what the agent of the pod observes may be written, milliseconds; undefined: that is written
 * already. What was not known before is written at once.
 */
export const observedInMs = (
  pod: Observed,
  status: CnfObjectStatus | undefined,
  now: number,
): number | undefined => {
  const before = status?.podUID === pod.uid ? status : undefined;
  const { networks, counters } = observedIn(pod);
  const pairs = [
    [networks, before?.networks],
    [counters, before?.counters],
  ] as const;
  const others = pairs.filter(([is, was]) => is !== undefined && !isDeepStrictEqual(is, was));
  if (others.length === 0) return undefined;
  const at = before?.observedTime;
  if (at === undefined || others.some(([, was]) => was === undefined)) return 0;
  return Math.max(0, Date.parse(at) + OBSERVED_MS - now);
};

/** Undefined: not known. */
const observedIn = ({
  networks,
  counters,
}: Observed): Pick<CnfObjectStatus, 'networks' | 'counters'> =>
  given({ networks: networks.size === 0 ? undefined : listed(networks), counters });

export const observedOf = (
  pod: Observed,
  before: CnfObjectStatus | undefined,
  now: number,
): Pick<CnfObjectStatus, 'networks' | 'counters' | 'observedTime'> => {
  const { networks, counters, observedTime } = before ?? {};
  const written = given({ networks, counters, observedTime });
  return observedInMs(pod, before, now) === 0
    ? { ...written, ...observedIn(pod), observedTime: timestamp(now) }
    : written;
};

const listed = (networks: Networks): NonNullable<CnfObjectStatus['networks']> =>
  [...networks]
    .map(([device, addresses]) => ({ device, addresses: addresses.toSorted() }))
    .toSorted((one, other) => (one.device < other.device ? -1 : 1));

const phaseOf = ({ containersReady, troubled }: CnfFacts): CnfObjectStatus['phase'] => {
  if (troubled) return 'Crashing';
  return containersReady ? 'Running' : 'Creating';
};

type Said = Pick<FleetCondition, 'status' | 'reason' | 'message'> & { since?: number };

const conditionsOf = (
  pod: CnfFacts,
  before: CnfObjectStatus | undefined,
  { now, distance }: { now: number; distance: number | undefined },
): FleetCondition[] => {
  const was = (type: string) => before?.conditions?.find((one) => one.type === type);
  const said: [string, Said | undefined][] = [
    ['Created', createdOf(pod)],
    ['Ready', readyOf(pod)],
    // What is not known yet is as the coordinator before has seen it.
    ['Connected', pod.link === 'Unknown' ? undefined : connectedOf(pod)],
    ['InSync', pod.link === 'Unknown' ? undefined : inSyncOf(pod)],
    ['Distance', pod.link === 'Unknown' ? undefined : distanceSaid(pod, distance)],
    ['Provisioned', provisionedOf(pod)],
  ];
  return said.flatMap(([type, one]) => {
    const last = was(type);
    if (one === undefined) return last ?? [];
    const { since = now, ...condition } = one;
    const lastTransitionTime =
      last?.status === one.status ? last.lastTransitionTime : timestamp(since);
    return [{ type, ...condition, lastTransitionTime }];
  });
};

const createdOf = ({ createdAt, node, notReady }: CnfFacts): Said =>
  node === ''
    ? { status: 'False', reason: 'NotScheduled', message: notReady, since: createdAt }
    : { status: 'True', reason: 'Scheduled', message: '', since: createdAt };

const readyOf = ({ containersReady, gate, notReady, ready }: CnfFacts): Said => {
  if (ready) return { status: 'True', reason: 'PodReady', message: '' };
  return containersReady && gate === 'closed'
    ? { status: 'False', reason: 'Staged', message: 'its set does not have the traffic' }
    : { status: 'False', reason: 'PodNotReady', message: notReady };
};

const connectedOf = ({ link, provisioned, silentSince }: CnfFacts): Said => {
  if (link === 'Connected') return { status: 'True', reason: 'Reports', message: '' };
  const message = provisioned ? 'its agent does not report' : 'its agent has not reported yet';
  return {
    status: 'False',
    reason: provisioned ? 'AgentSilent' : 'AgentStarting',
    message,
    ...(silentSince !== undefined && { since: silentSince }),
  };
};

const inSyncOf = ({ link, missing }: CnfFacts): Said => {
  if (link !== 'Connected') return { status: 'Unknown', reason: 'NotConnected', message: '' };
  const rules = [...missing].map(([rule, { reason }]) => `${rule}: ${reason}`).toSorted();
  const [first] = missing.values();
  return first === undefined
    ? { status: 'True', reason: 'Applied', message: '' }
    : { status: 'False', reason: first.reason, message: few(rules, MAX_NAMED) };
};

const distanceSaid = ({ actual, link }: CnfFacts, distance: number | undefined): Said => {
  if (link !== 'Connected') return { status: 'Unknown', reason: 'NotConnected', message: '' };
  return actual === distance
    ? { status: 'True', reason: 'Confirmed', message: '' }
    : {
        status: 'False',
        reason: 'NotConfirmed',
        message: 'its agent has not confirmed its distance',
      };
};

const provisionedOf = ({ provisioned }: CnfFacts): Said =>
  provisioned
    ? { status: 'True', reason: 'Provisioned', message: '' }
    : { status: 'False', reason: 'Creating', message: 'it has not run with an agent yet' };
