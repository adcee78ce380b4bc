/** One look at a CNFDeployment: it is read, and its next step is decided, taken and told. */
import { againIn, type Outcome } from '#shared/kube/controller.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import type { KubeObject } from '#shared/kube/objects.ts';
import type { Reflector } from '#shared/kube/informer/reflector.ts';
import type { Counters } from '#shared/protocol/counters.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { FleetOrder, ServedRestart } from '#shared/protocol/report.ts';
import type {
  CnfDeployment,
  CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { cnfPodOf, type CnfPod } from '../../sources/cnf-pod.ts';
import {
  fleetPodOf,
  newestSet,
  replicaFailure,
  revisionNumberOf,
  setOf,
  type FleetPodObject,
} from './apps.ts';
import { BROKEN_MS } from './broken.ts';
import { carryOutActions, replacePod } from './calls.ts';
import { isSettled, steer, type Memory, type RollOutFacts, type RollOutStep } from './decide.ts';
import { soakSecondsOf, keyOf, templateHash } from './deployment.ts';
import { isPodByPod, isToBeAdopted, markOf, mustWait, orderOf } from './chosen-template.ts';
import { FASTEST_MS, SLOWEST_MS, type FleetOrders } from './distance-answers.ts';
import { fleetOrders, samePlaces } from './distances.ts';
import { durationMs } from './duration.ts';
import { createWeightEvents, eventsOf, isRenewed, podReplaced, updateBegun } from './events.ts';
import type { RollOutMetrics, SeenRollOut } from './metrics.ts';
import { cnfFactsOf, type CnfFacts } from './mirror/facts.ts';
import type { MirrorView } from './mirror/objects.ts';
import type { Mirror } from './mirror/writer.ts';
import { look, writeDeployment } from './objects.ts';
import type { FleetPod } from './pod.ts';
import { isPromoted } from './promotion.ts';
import { distancesIn, memoryOf } from './remembered.ts';
import { canStay, healthStep, type Going, type HealthStep } from './replacement.ts';
import type { ReportedRules } from './reported.ts';
import { askedRenewal, clearServed, restartsOf, type Restarts } from './requests.ts';
import { fleetStatus, updatedStatus, type RollOutView } from './status.ts';
import type { StatusWriter } from './status-writer.ts';
import type { UnansweredWrites } from './unanswered.ts';
import { lookAtUpdates, type UpdateDeps } from './updates/look.ts';

export type RollOutDeps = Pick<UpdateDeps, 'lookUps'> & {
  client: KubeClient;
  clock: Clock;
  orders: Pick<FleetOrders, 'agentsHeard' | 'begin' | 'give'>;
  /** Device -> addresses of a pod, by its uid. */
  addressesOf: (podUid: string) => ReadonlyMap<string, readonly string[]>;
  countersOf: (podUid: string) => Counters | undefined;
  /** The request of a user that the agent of a pod has served last. */
  restartedBy: (podUid: string) => ServedRestart | undefined;
  log: Logger;
  /** That of the agent of a pod, as it has reported. */
  versionOf: (podUid: string) => string | undefined;
  /** When the agent of a pod last reported to this replica, wall-clock milliseconds. */
  reportedAt: (podUid: string) => number | undefined;
  /** Why a pod has no addresses of managed networks yet; undefined: it waits for none. */
  addressWaitOf: (podUid: string) => string | undefined;
  record: (event: RecordedEvent) => void;
  rollOuts: RollOutMetrics;
};

/** With what its controller watches and writes. */
type Parts = RollOutDeps &
  UpdateDeps & {
    /** Nodes that take no new pods. */
    cordoned: Reflector<KubeObject>;
    mirror: Mirror;
    statuses: StatusWriter;
    writes: UnansweredWrites;
  };

export type StandingOf = (pod: CnfPod) => ReportedRules;

/** Between looks while something is waited for: reports and rules mark, too. */
const ROLLING_MS = 500;
/** Until the controller of Deployments has come to what was written. */
const WRITTEN_MS = 100;

export const createRollOut = (parts: Parts) => {
  const { client, clock, cordoned, mirror, record, rollOuts, statuses, writes } = parts;
  const weights = createWeightEvents(record);

  const roll = async (
    cnf: CnfDeployment,
    standing: StandingOf,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const found = await look(cnf, { client, mirror, signal });
    const { present, sets, live, finished } = found;
    writes.settle(cnf, found);
    const update = lookAtUpdates(cnf, found, { ...parts, signal });
    const { template } = update;
    if (update.isNew) {
      await statuses.say(cnf, updatedStatus(cnf, update, clock.now()), {
        tell: () => updateBegun(cnf, update).forEach(record),
        signal,
      });
      return { againInMs: WRITTEN_MS };
    }
    const asked = templateHash(template);
    const memory = memoryOf(cnf, asked);
    const seen = live.map((pod) => factsOfPod(parts, pod, standing));
    const order = orderOf(cnf, { template, memory, sets, present, seen });
    const isDue = order.isDue || order.waits;
    const superseded = order.supersedes && mustWait(cnf, { memory, present, seen });
    const isWritten = order.isDue && !superseded && !isToBeAdopted(cnf, present, { memory, seen });
    if (isWritten) {
      const writing = { client, present, record, writes, signal };
      const deployment = await writeDeployment(cnf, order.spec, writing);
      statuses.note(cnf, markOf(deployment, order));
      return { againInMs: WRITTEN_MS };
    }
    const wanted = present && newestSet(present, sets);
    if (!present || wanted === undefined) return { againInMs: WRITTEN_MS };
    weights.tell(keyOf(cnf), live);
    const facts = { ...factsOf(cnf, seen), failure: replicaFailure(present) };
    const step = steer({ ...facts, now: clock.now(), wanted, superseded }, memory);
    const isPlaced = samePlaces(step.distances, distancesIn(cnf));
    if (isPlaced)
      await carryOutActions(step.actions, { client, pods: live, now: clock.now(), signal });
    const health = healthOfSet(parts, cnf, { seen, step, isDue });
    const byUser = askedRenewal(cnf, mirror.rollSetOf(cnf, step.memory.current), {
      atRest: isAtRest(cnf, step, isDue),
      now: clock.now(),
    });
    const renewal = renewalOf(cnf, health, {
      byUser: byUser.renewal,
      isFailed: step.memory.failed !== undefined,
      pods: seen,
      nodesKnown: cordoned.hasSynced(),
    });
    const { failure } = facts;
    const revisions = new Map(sets.map((set) => [setOf(set), revisionNumberOf(set)]));
    const { rollSetTime } = byUser;
    const told = { failure, held: health.held, renewal, rollSetTime, revisions, update };
    const view = { pods: seen, step, asked, ...told };
    const sayInMs = await sayStep(cnf, { view, before: memory }, signal);
    const restarts = restartsOf(live, mirror);
    giveOrders(parts, cnf, { live, step, restarts, isSaid: sayInMs === undefined });
    const usersMs = await clearServed(parts, byUser, restarts, signal);
    const isAtOnce = followsAtOnce(step, { isPlaced, before: memory });
    const mirrored = { now: clock.now(), sets, pods: seen, finished, step, wanted };
    const mirrorMs = await writeMirror(cnf, mirrored, { isAtOnce, signal });
    await replace(parts, cnf, health.replace, { live, signal });
    const renewedMs = isRenewed(cnf, renewal) ? WRITTEN_MS : undefined;
    const now = clock.now();
    const lookMs = soonest(nextLookMs(step, { isAtOnce, isDue, now }), limitMs(health, now));
    return againIn(soonest(renewedMs, lookMs, sayInMs, mirrorMs, usersMs, update.lookInMs));
  };

  /** Neither the label of a lost pod nor what comes after a call or a failure waits for it. */
  const writeMirror = async (
    cnf: CnfDeployment,
    view: MirrorView,
    { isAtOnce, signal }: { isAtOnce: boolean; signal: AbortSignal },
  ): Promise<number | undefined> =>
    isAtOnce || view.step.actions.length > 0 ? undefined : mirror.write(cnf, view, signal);

  const sayStep = async (
    cnf: CnfDeployment,
    { view, before }: { view: Omit<RollOutView, 'now' | 'deployment'>; before: Memory },
    signal: AbortSignal,
  ): Promise<number | undefined> => {
    const deployment = cnf.status?.deployment;
    const status = fleetStatus(cnf, { ...view, now: clock.now(), deployment });
    const tell = (): void => {
      if (isGivenUp(view.step, before)) rollOuts.failed();
      for (const event of eventsOf(cnf, view, before)) record({ object: cnf, ...event });
    };
    const sayInMs = await statuses.say(cnf, status, { tell, signal });
    rollOuts.looked(keyOf(cnf), seenOf(cnf, status, view));
    return sayInMs;
  };

  return { roll, forget: weights.forget };
};

const replace = async (
  { client, record, rollOuts, writes }: Parts,
  cnf: CnfDeployment,
  going: Going | undefined,
  { live, signal }: { live: readonly FleetPodObject[]; signal: AbortSignal },
): Promise<void> => {
  const pod = live.find(({ metadata }) => metadata.uid === going?.uid);
  if (!going || !pod) return;
  await writes.andThen(cnf, () => replacePod(pod, { client, signal }), {
    tookEffect: (_, found) => !found.live.some(({ metadata }) => metadata.uid === going.uid),
    follow: () => {
      rollOuts.replaced();
      record(podReplaced(cnf, going));
    },
  });
};

const factsOfPod = (
  { addressesOf, addressWaitOf, clock, cordoned, countersOf, mirror, reportedAt, versionOf }: Parts,
  pod: FleetPodObject,
  standing: StandingOf,
): CnfFacts => {
  const cnfPod = cnfPodOf(pod);
  const { namespace: where, name, uid } = pod.metadata;
  const leaving = cordoned.store.byName('', pod.spec.nodeName ?? '') !== undefined;
  const notReady = addressWaitOf(uid) ?? cnfPod.notReady;
  const around = { ...standing(cnfPod), notReady, leaving };
  return cnfFactsOf(pod, fleetPodOf(pod, around), {
    agentVersion: versionOf(uid),
    networks: addressesOf(uid),
    counters: countersOf(uid),
    troubled: cnfPod.troubled,
    reportedAt: reportedAt(uid),
    before: mirror.cnfOf(where, name),
    now: clock.now(),
  });
};

/** One set serves, and no other is asked for. */
const isAtRest = (
  { spec }: Pick<CnfDeployment, 'spec'>,
  { stage }: RollOutStep,
  isDue: boolean,
): boolean => stage === 'Current' && !isDue && !spec.paused;

const healthOfSet = (
  { clock, orders }: Parts,
  { spec }: CnfDeployment,
  { seen, step, isDue }: { seen: readonly CnfFacts[]; step: RollOutStep; isDue: boolean },
): HealthStep =>
  healthStep({
    now: clock.now(),
    createMs: durationMs(spec.createTimeout),
    healthMs: durationMs(spec.healthTimeout),
    replicas: spec.replicas,
    pods: seen.filter(({ set }) => set !== step.memory.failed?.set),
    current: step.memory.current,
    atRest: isAtRest({ spec }, step, isDue),
    agents: orders.agentsHeard(clock.monotonic()),
  });

/** After the status has them: the next leader tells the same. */
const giveOrders = (
  { addressesOf, orders }: Parts,
  cnf: CnfDeployment,
  {
    live,
    step,
    restarts,
    isSaid,
  }: {
    live: readonly FleetPodObject[];
    step: RollOutStep;
    restarts: Restarts;
    isSaid: boolean;
  },
): void => {
  const nextReportMs = isSettled(step) ? SLOWEST_MS : FASTEST_MS;
  const uids = new Map(live.map(({ metadata }) => [metadata.name, metadata.uid]));
  const given = fleetOrders(
    live.map(({ metadata }) => metadata),
    isSaid ? step.distances : distancesIn(cnf),
    { nextReportMs, addressesOf: (pod) => addressesOf(uids.get(pod) ?? '') },
  );
  const withRestart = ([pod, order]: readonly [string, FleetOrder]): [string, FleetOrder] => {
    const uid = uids.get(pod) ?? '';
    const restart = restarts.get(uid)?.order;
    return [uid, { ...order, ...(restart && { restart }) }];
  };
  orders.give(keyOf(cnf), new Map([...given].map(withRestart)));
};

const limitMs = ({ lookAt }: HealthStep, now: number): number | undefined =>
  lookAt === undefined ? undefined : Math.max(0, lookAt - now);

const factsOf = (
  cnf: CnfDeployment,
  pods: readonly FleetPod[],
): Omit<RollOutFacts, 'failure' | 'now' | 'wanted' | 'superseded'> => ({
  replicas: cnf.spec.replicas,
  soakMs: soakSecondsOf(cnf.spec) * 1_000,
  deadlineMs: durationMs(cnf.spec.progressDeadline),
  paused: cnf.spec.paused,
  promoted: isPromoted(cnf),
  podByPod: isPodByPod(cnf),
  handOverMs: durationMs(cnf.spec.handOverTimeout),
  distances: distancesIn(cnf),
  pods,
});

const isGivenUp = ({ memory }: RollOutStep, before: Memory): boolean =>
  memory.failed !== undefined && before.failed === undefined;

const followsAtOnce = (
  step: RollOutStep,
  { isPlaced, before }: { isPlaced: boolean; before: Memory },
): boolean => !isPlaced || isGivenUp(step, before);

/** Milliseconds; undefined: at rest. */
const nextLookMs = (
  step: RollOutStep,
  { isAtOnce, isDue, now }: { isAtOnce: boolean; isDue: boolean; now: number },
): number | undefined => {
  if (isAtOnce) return 0;
  // What comes after a call is decided by what it has left.
  if (step.actions.length > 0) return WRITTEN_MS;
  const isAtRest = step.stage === 'Current' && step.lookAt === undefined && !isDue;
  return isAtRest ? undefined : waitOf(step, now);
};

/** One that failed is forgotten when its pod can stay. `nodesKnown`: cordoned ones are known. */
const renewalOf = (
  { status }: CnfDeployment,
  { renew }: HealthStep,
  {
    byUser,
    isFailed,
    pods,
    nodesKnown,
  }: {
    byUser: CnfDeploymentStatus['renewal'];
    isFailed: boolean;
    pods: readonly CnfFacts[];
    nodesKnown: boolean;
  },
): CnfDeploymentStatus['renewal'] => {
  if (renew) return { pod: renew.uid, reason: `pod ${renew.pod}: ${renew.why}` };
  if (byUser) return byUser;
  const known = status?.renewal;
  const isOver = isFailed && known && nodesKnown && canStay(known.pod, pods);
  return isOver ? undefined : known;
};

const soonest = (...waits: readonly (number | undefined)[]): number =>
  Math.min(...waits.map((ms) => ms ?? Infinity));

const waitOf = ({ lookAt = Infinity, stage }: RollOutStep, now: number): number =>
  Math.max(0, Math.min(stage === 'Failed' ? BROKEN_MS : ROLLING_MS, lookAt - now));

const seenOf = (
  { metadata, spec }: CnfDeployment,
  { stageTime = '' }: CnfDeploymentStatus,
  { pods, step }: Pick<RollOutView, 'pods' | 'step'>,
): SeenRollOut => ({
  namespace: metadata.namespace,
  purpose: spec.template.metadata.labels[PURPOSE_LABEL] ?? '',
  stage: step.stage,
  since: Date.parse(stageTime),
  serves:
    spec.replicas === 0 || pods.some(({ active, ready, unheard }) => active && ready && !unheard),
});
