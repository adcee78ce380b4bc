/**
 * Watches CNFDeployments, their Deployments, pods and reports; owns the Deployment of each, the gate and the label of its pods, its CNFSets and CNFs, and its
 * status.
 * Each look reads pods and sets from the API server: who gets the traffic is not decided by what a watch knew a moment ago.
 */
import { isDeepStrictEqual } from 'node:util';
import { isAllowed } from '#shared/kube/access.ts';
import { PAGE_SIZE, type KubeClient, type NewObject } from '#shared/kube/client.ts';
import {
  againIn,
  createController,
  type ControllerDeps,
  type Outcome,
} from '#shared/kube/controller.ts';
import { isConflict, isUnanswered, KubeError } from '#shared/kube/errors.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { replaceStatus } from '#shared/kube/fenced.ts';
import { identityOf, objectSchema, resourceV1, type KubeObject } from '#shared/kube/objects.ts';
import { find, isControlledBy } from '#shared/kube/owned.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { FLEET_ROLE, KEPT_SELECTOR, PURPOSE_LABEL, WEIGHT_ANNOTATION } from '#shared/names.ts';
import { createBackoff, type Backoff } from '#shared/runtime/backoff.ts';
import { few } from '#shared/util/few.ts';
import {
  cnfDeploymentResource,
  tooLarge,
  type CnfDeployment,
  type CnfDeploymentStatus,
} from '#shared/resources/cnf-deployment.ts';
import { cnfPodOf, type CnfPod } from '../../sources/cnf-pod.ts';
import { podResource } from '../../sources/workload.ts';
import {
  badWeightOf,
  fleetDeployments,
  fleetPodOf,
  fleetPods,
  fleetReplicaSets,
  isFinished,
  isLive,
  newestSet,
  replicaFailure,
  setOf,
  type FleetDeployment,
  type FleetPodObject,
  type FleetReplicaSet,
} from './apps.ts';
import { carryOutActions, replacePod } from './calls.ts';
import { cnfFactsOf, type CnfFacts } from './mirror/facts.ts';
import {
  askedTemplate,
  bakeSecondsOf,
  deploymentBody,
  hashOf,
  selectorOf,
  templateHash,
  templateOfSet,
  wantedSpec,
} from './deployment.ts';
import { durationMs } from './duration.ts';
import { fleetOrders, isNear, samePlaces } from './distances.ts';
import { distancesIn, memoryOf } from './remembered.ts';
import { canStay, healthStep, type Going, type HealthStep } from './replacement.ts';
import type { RollOutMetrics, SeenRollOut } from './metrics.ts';
import { FASTEST_MS, SLOWEST_MS, type FleetOrders } from './distance-answers.ts';
import type { MirrorView } from './mirror/objects.ts';
import { createMirror } from './mirror/writer.ts';
import type { FleetPod } from './pod.ts';
import { oursOf, sifting } from './owned-lists.ts';
import { isPromoted } from './promotion.ts';
import type { ReportedRules } from './reported.ts';
import {
  isSettled,
  steer,
  type Memory,
  type RollOutFacts,
  type RollOutStep,
  type Stage,
} from './decide.ts';
import { brokenStatus, fleetStatus, type RollOutView } from './status.ts';

export type FleetDeps = ControllerDeps & {
  client: KubeClient;
  /** The only one to look after; undefined: all. */
  namespace: string | undefined;
  /** What agents have said of the rules; undefined until pods and rules are known. */
  standings: () => ((pod: CnfPod) => ReportedRules) | undefined;
  orders: Pick<FleetOrders, 'agentsHeard' | 'begin' | 'give'>;
  /** Device -> addresses of a pod, by its uid. */
  addressesOf: (podUid: string) => ReadonlyMap<string, readonly string[]>;
  /** When the agent of a pod last reported to this replica, wall-clock milliseconds. */
  reportedAt: (podUid: string) => number | undefined;
  record: (event: RecordedEvent) => void;
  rollOuts: RollOutMetrics;
};

export type FleetController = {
  /** Something that a roll-out of the CNF may wait for has changed: one of its rules or pods, or what an agent says. */
  mark: (cnf: Pick<CnfPod, 'namespace' | 'purpose'>) => void;
  run: (signal: AbortSignal) => Promise<void>;
};

type WrittenDeployment = NonNullable<CnfDeploymentStatus['deployment']>;
type StandingOf = (pod: CnfPod) => ReportedRules;
/** A CNFDeployment as the watch keeps it. */
type PlacedCnf = KubeObject & { purpose: string };

/** What changes together, as the pods of a set do, is one look. */
const COALESCE_MS = 200;
/** Between looks while something is waited for: reports and rules mark, too. */
const ROLLING_MS = 500;
/** Until the controller of Deployments has come to what was written. */
const WRITTEN_MS = 100;
/** Between looks for a name that only people can give. */
const BROKEN_MS = 15_000;
/** The same for rights, which an operator often gives a moment after the CNFDeployment. */
const RIGHTS_BACKOFF = { baseMs: 2_000, maxMs: 60_000 };
/** Between two writes of a status in which only words and counts differ, at rest. */
const WORDS_MS = 2_000;
/** The same while a roll-out is under way, and for how long they must differ: most are others a moment later. */
const ROLLING_WORDS_MS = 10_000;
const BRIEF_MS = 1_000;
const CONCURRENCY = 4;
/** The CRD takes any field of a template: one that Kubernetes does not know would be dropped without a word. */
const STRICT = { fieldValidation: 'Strict' } as const;

export const createFleetController = (deps: FleetDeps): FleetController => {
  const { client, clock, log, namespace, orders, record, rollOuts } = deps;
  const saidAt = new Map<string, number>();
  /** Since when words and counts differ from those that were said last. */
  const differsSince = new Map<string, number>();
  /** What the status is to say of the Deployment with its next write. A Deployment that a coordinator wrote and did not get to say so of is written again. */
  const written = new Map<string, WrittenDeployment>();
  const unanswered = new Map<string, Unanswered>();
  /** Of those whose rights are asked for again. */
  const lacking = new Map<string, Backoff>();
  /** By CNFDeployment: of which pods an Event has told. */
  const badWeights = new Map<string, string>();

  const markObject = ({ metadata }: KubeObject): void =>
    controller.mark(`${metadata.namespace}/${metadata.name}`);
  const onEvent = ({ object }: { object: KubeObject }): void => markObject(object);
  const cnfs = new Reflector({
    client,
    clock,
    log,
    resource: placedCnfs,
    selection: { namespace },
    indices: { cnf: ({ metadata, purpose }) => [cnfKey(metadata.namespace, purpose)] },
    onEvent,
  });
  const deployments = new Reflector({
    client,
    clock,
    log,
    resource: placedDeployments,
    selection: { namespace, labelSelector: KEPT_SELECTOR },
    onEvent,
  });

  /** Few: those that take no new pods. */
  const cordoned = new Reflector({
    client,
    clock,
    log,
    resource: nodes,
    selection: { fieldSelector: 'spec.unschedulable=true' },
    onEvent: () => cnfs.store.list().forEach(markObject),
  });
  const mirror = createMirror({
    client,
    clock,
    log,
    namespace,
    mark: (key) => controller.mark(key),
  });

  const reconcile = async (
    key: string,
    standing: StandingOf,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const place = placeOf(key);
    if (cnfs.store.byName(place.namespace, place.name) === undefined) {
      for (const known of [saidAt, differsSince, unanswered, written, lacking]) known.delete(key);
      badWeights.delete(key);
      rollOuts.gone(key);
      orders.give(key, new Map());
      return againIn(await mirror.clear(key, signal));
    }
    const found = await find(client, cnfDeploymentResource, place, { signal });
    if (!found || found.metadata.deletionTimestamp !== undefined) return 'done';
    const deployment = written.get(key);
    const cnf = deployment ? { ...found, status: { ...found.status, deployment } } : found;
    try {
      const size = tooLarge(cnf.spec.template);
      if (size !== undefined) throw new TooLargeError(size);
      const outcome = await roll(cnf, standing, signal);
      lacking.delete(key);
      return outcome;
    } catch (error) {
      const broken = brokenBy(error, place.namespace);
      if (broken === undefined) throw error;
      const status = brokenStatus(cnf, { ...broken, now: clock.now() });
      await say(cnf, status, { tell: () => undefined, signal });
      record({ object: cnf, type: 'Warning', ...broken, once: true });
      return { failed: broken.reason, againInMs: againMs(key, broken) };
    }
  };

  const againMs = (key: string, { reason }: { reason: string }): number =>
    reason === 'Forbidden'
      ? lacking.getOrInsertComputed(key, () => createBackoff(RIGHTS_BACKOFF)).next()
      : BROKEN_MS;

  const roll = async (
    cnf: CnfDeployment,
    standing: StandingOf,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const found = await look(cnf, signal);
    const { present, sets, live, finished } = found;
    settle(cnf, found);
    const template = askedTemplate(cnf, present);
    const asked = templateHash(template);
    const memory = memoryOf(cnf, asked);
    const seen = live.map((pod) => factsOfPod(pod, standing));
    const order = orderOf(cnf, { template, memory, sets, present, seen });
    const isDue = order.isDue || order.waits;
    const superseded = order.supersedes && mustWait(cnf, { memory, present, seen });
    const isWritten = order.isDue && !superseded && !isToBeAdopted(cnf, present, { memory, seen });
    if (isWritten) {
      const deployment = await write(cnf, order.spec, { present, signal });
      written.set(keyOf(cnf), markOf(deployment, order));
      return { againInMs: WRITTEN_MS };
    }
    const wanted = present && newestSet(present, sets);
    if (!present || wanted === undefined) return { againInMs: WRITTEN_MS };
    tellOfWeights(cnf, live);
    const facts = { ...factsOf(cnf, seen), failure: replicaFailure(present) };
    const step = steer({ ...facts, now: clock.now(), wanted, superseded }, memory);
    const isPlaced = samePlaces(step.distances, distancesIn(cnf));
    if (isPlaced)
      await carryOutActions(step.actions, { client, pods: live, now: clock.now(), signal });
    const health = healthOfSet(cnf, seen, { step, isDue });
    const renewal = renewalOf(cnf, health, {
      isFailed: step.memory.failed !== undefined,
      pods: seen,
      nodesKnown: cordoned.hasSynced(),
    });
    const { failure } = facts;
    const view = { pods: seen, step, asked, failure, held: health.held, renewal };
    const sayInMs = await sayStep(cnf, { view, before: memory }, signal);
    giveOrders(cnf, live, { step, isSaid: sayInMs === undefined });
    const isAtOnce = followsAtOnce(step, { isPlaced, before: memory });
    const mirrored = { now: clock.now(), sets, pods: seen, finished, step, wanted };
    const mirrorMs = await writeMirror(cnf, mirrored, { isAtOnce, signal });
    await replace(cnf, health.replace, { live, signal });
    const renewedMs = isRenewed(cnf, renewal) ? WRITTEN_MS : undefined;
    const about = { isAtOnce, isDue, now: clock.now() };
    return soonest(renewedMs, nextLookMs(step, about), sayInMs, mirrorMs, limitMs(health));
  };

  /** Neither the label of a lost pod nor what comes after a call or a failure waits for it. */
  const writeMirror = async (
    cnf: CnfDeployment,
    view: MirrorView,
    { isAtOnce, signal }: { isAtOnce: boolean; signal: AbortSignal },
  ): Promise<number | undefined> =>
    isAtOnce || view.step.actions.length > 0 ? undefined : mirror.write(cnf, view, signal);

  /** After the status has them: whoever comes to lead tells the same. */
  const giveOrders = (
    cnf: CnfDeployment,
    live: readonly FleetPodObject[],
    { step, isSaid }: { step: RollOutStep; isSaid: boolean },
  ): void => {
    const nextReportMs = isSettled(step) ? SLOWEST_MS : FASTEST_MS;
    const uids = new Map(live.map(({ metadata }) => [metadata.name, metadata.uid]));
    const given = fleetOrders(
      live.map(({ metadata }) => metadata),
      isSaid ? step.distances : distancesIn(cnf),
      { nextReportMs, addressesOf: (pod) => deps.addressesOf(uids.get(pod) ?? '') },
    );
    orders.give(
      keyOf(cnf),
      new Map([...given].map(([pod, order]) => [uids.get(pod) ?? '', order])),
    );
  };

  const tellOfWeights = (cnf: CnfDeployment, live: readonly FleetPodObject[]): void => {
    const key = keyOf(cnf);
    const bad = live.filter((pod) => badWeightOf(pod) !== undefined);
    const seen = bad.map((pod) => `${pod.metadata.uid} ${badWeightOf(pod)}`).join('\n');
    if (seen === (badWeights.get(key) ?? '')) return;
    badWeights.set(key, seen);
    for (const pod of bad)
      record({
        object: { ...pod, apiVersion: 'v1', kind: podResource.kind },
        type: 'Warning',
        reason: 'WeightInvalid',
        message: `annotation ${WEIGHT_ANNOTATION} must be a whole number of at most eight digits, such as 10 or -10; it is taken as 0`,
        once: true,
      });
  };

  const limitMs = ({ lookAt }: HealthStep): number | undefined =>
    lookAt === undefined ? undefined : Math.max(0, lookAt - clock.now());

  const healthOfSet = (
    { spec }: CnfDeployment,
    seen: readonly CnfFacts[],
    { step, isDue }: { step: RollOutStep; isDue: boolean },
  ): HealthStep =>
    healthStep({
      now: clock.now(),
      createMs: durationMs(spec.createTimeout),
      healthMs: durationMs(spec.healthTimeout),
      replicas: spec.replicas,
      pods: seen.filter(({ set }) => set !== step.memory.failed?.set),
      current: step.memory.current,
      atRest: step.stage === 'Current' && !isDue && !spec.paused,
      agents: orders.agentsHeard(clock.monotonic()),
    });

  /** `follow` comes after the write, or after a later look that shows what became of it. */
  const andThen = async <R>(
    cnf: CnfDeployment,
    write: () => Promise<R>,
    { tookEffect, follow }: { tookEffect: Unanswered['tookEffect']; follow: (by?: R) => void },
  ): Promise<R> => {
    try {
      const by = await write();
      follow(by);
      return by;
    } catch (error) {
      if (isUnanswered(error)) unanswered.set(keyOf(cnf), { tookEffect, follow });
      throw error;
    }
  };

  const settle = (cnf: CnfDeployment, found: Found): void => {
    const key = keyOf(cnf);
    const lost = unanswered.get(key);
    unanswered.delete(key);
    if (lost?.tookEffect(cnf, found)) lost.follow();
  };

  const replace = async (
    cnf: CnfDeployment,
    going: Going | undefined,
    { live, signal }: { live: readonly FleetPodObject[]; signal: AbortSignal },
  ): Promise<void> => {
    const pod = live.find(({ metadata }) => metadata.uid === going?.uid);
    if (!going || !pod) return;
    await andThen(cnf, () => replacePod(pod, { client, signal }), {
      tookEffect: (_, found) => !found.live.some(({ metadata }) => metadata.uid === going.uid),
      follow: () => {
        rollOuts.replaced();
        const message = `pod ${going.pod} is replaced: ${going.why}`;
        record({ object: cnf, type: 'Warning', reason: 'PodReplaced', message });
      },
    });
  };

  const factsOfPod = (pod: FleetPodObject, standing: StandingOf): CnfFacts => {
    const target = cnfPodOf(pod);
    const { namespace: where, name, uid } = pod.metadata;
    const leaving = cordoned.store.byName('', pod.spec.nodeName ?? '') !== undefined;
    const around = { ...standing(target), notReady: target.notReady, leaving };
    return cnfFactsOf(pod, fleetPodOf(pod, around), {
      troubled: target.troubled,
      reportedAt: deps.reportedAt(uid),
      before: mirror.cnfOf(where, name),
      now: clock.now(),
    });
  };

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
    const sayInMs = await say(cnf, status, { tell, signal });
    rollOuts.looked(keyOf(cnf), seenOf(cnf, status, view));
    return sayInMs;
  };

  /** From the API server. @throws NameTakenError */
  const look = async (cnf: CnfDeployment, signal: AbortSignal): Promise<Found> => {
    const { namespace: where, name } = cnf.metadata;
    const present = await find(client, fleetDeployments, { namespace: where, name }, { signal });
    if (present && !isControlledBy(present, cnf)) throw new NameTakenError(present);
    const labelSelector = selectorOf(cnf);
    const selection = { namespace: where, labelSelector, pageSize: PAGE_SIZE, signal };
    const ownSets = sifting(fleetReplicaSets, (set) => !!present && isControlledBy(set, present));
    const sets = oursOf((await client.list(ownSets, selection)).items);
    // Of those that have ended there may be thousands: only names are kept, and only of those that a CNF is there for.
    const finished: string[] = [];
    const isOurs = (pod: FleetPodObject): boolean => {
      const { name: podName } = pod.metadata;
      if (isFinished(pod) && mirror.cnfOf(where, podName)) finished.push(podName);
      return isLive(pod) && sets.some((set) => isControlledBy(pod, set));
    };
    const live = oursOf((await client.list(sifting(fleetPods, isOurs), selection)).items);
    return { present, sets, live, finished };
  };

  const write = async (
    cnf: CnfDeployment,
    spec: object,
    { present, signal }: { present: FleetDeployment | undefined; signal: AbortSignal },
  ): Promise<FleetDeployment> => {
    await assertRight(cnf, present ? 'update' : 'create', signal);
    const body = deploymentBody(cnf, spec, present);
    if (!present) return create(body, signal);
    const { generation, uid } = present.metadata;
    const known = cnf.status?.deployment;
    const isSame = known?.uid === uid && known.written === hashOf(spec);
    const isTheirs = isSame && known.generation !== generation;
    const isAnother = (after: FleetDeployment | undefined): boolean =>
      after?.metadata.uid === uid && after.metadata.generation !== generation;
    return andThen(cnf, () => client.replace(fleetDeployments, body, { ...STRICT, signal }), {
      tookEffect: (_, found) => isAnother(found.present),
      follow: (after) => {
        if (!isTheirs || (after && !isAnother(after))) return;
        record({
          object: cnf,
          type: 'Warning',
          reason: 'DeploymentReverted',
          message: `the Deployment was changed by somebody else, and is as the CNFDeployment asks again: change spec of the CNFDeployment instead`,
        });
      },
    });
  };

  /** Before a template is sent: the API server answers a user without the right before it has read the body. @throws NoRightError */
  const assertRight = async (
    { metadata }: CnfDeployment,
    verb: string,
    signal: AbortSignal,
  ): Promise<void> => {
    const { group, plural: resource } = fleetDeployments;
    const asked = { verb, group, resource, namespace: metadata.namespace };
    if (!(await isAllowed(client, asked, signal)))
      throw new NoRightError(`it may not ${verb} ${resource}.${group} there`);
  };

  /** @throws DeniedError where a webhook does not let it be, e.g. since another CNF serves the purpose */
  const create = async (body: NewObject, signal: AbortSignal): Promise<FleetDeployment> => {
    try {
      return await client.create(fleetDeployments, body, { ...STRICT, signal });
    } catch (error) {
      if (isConflict(error) && error.reason !== 'AlreadyExists')
        throw new DeniedError(error.message, { cause: error });
      throw error;
    }
  };

  /** In how many milliseconds it is to be said, since only words and counts have changed; undefined: nothing is left to say. `tell`: what Events and figures have to say of it. */
  const say = async (
    cnf: CnfDeployment,
    status: CnfDeploymentStatus,
    { tell, signal }: { tell: () => void; signal: AbortSignal },
  ): Promise<number | undefined> => {
    const key = keyOf(cnf);
    const waitMs = written.has(key) ? 0 : wordsWaitMs(cnf, status);
    if (waitMs === undefined) differsSince.delete(key);
    if (waitMs !== 0) return waitMs;
    const fence = { client, resource: cnfDeploymentResource, object: cnf };
    await andThen(cnf, () => replaceStatus(fence, status, { signal }), {
      tookEffect: (after) => isDeepStrictEqual(after.status, status),
      follow: () => {
        written.delete(key);
        differsSince.delete(key);
        saidAt.set(key, clock.monotonic());
        tell();
      },
    });
    return undefined;
  };

  /** Undefined: nothing differs; 0: it is to be said now. */
  const wordsWaitMs = (cnf: CnfDeployment, status: CnfDeploymentStatus): number | undefined => {
    if (isDeepStrictEqual(status, cnf.status)) return undefined;
    if (!isDeepStrictEqual(withoutWords(status), withoutWords(cnf.status ?? {}))) return 0;
    const key = keyOf(cnf);
    const now = clock.monotonic();
    const since = differsSince.get(key) ?? now;
    differsSince.set(key, since);
    const last = saidAt.get(key) ?? -Infinity;
    const isResting = status.stage === 'Current' || status.stage === 'Failed';
    const dueAt = isResting ? last + WORDS_MS : Math.max(last + ROLLING_WORDS_MS, since + BRIEF_MS);
    return Math.max(0, dueAt - now);
  };

  const controller = createController({
    ...deps,
    name: 'fleet',
    sources: [cnfs, deployments, cordoned, ...mirror.sources],
    world: () => (cnfs.hasSynced() ? deps.standings() : undefined),
    markAll: () => {
      rollOuts.begin();
      orders.begin();
      written.clear();
      unanswered.clear();
      cnfs.store.list().forEach(markObject);
      // What is left of those that have gone meanwhile.
      for (const key of mirror.keys()) controller.mark(key);
    },
    reconcile,
    coalesceMs: COALESCE_MS,
    groupOf: (key) => placeOf(key).namespace,
    concurrency: CONCURRENCY,
    fieldsOf: (key) => ({ cnfDeployment: key }),
  });

  return {
    mark: ({ namespace: where, purpose = '' }) =>
      cnfs.store.by('cnf', cnfKey(where, purpose)).forEach(markObject),
    run: controller.run,
  };
};

const nodes = resourceV1(
  '',
  'nodes',
  'Node',
  objectSchema.transform((object): KubeObject => identityOf(object)),
);

/** A watch tells only that something has changed: what, is read. */
const placedDeployments = {
  ...fleetDeployments,
  schema: fleetDeployments.schema.transform((object): KubeObject => identityOf(object)),
};
const placedCnfs = {
  ...cnfDeploymentResource,
  schema: cnfDeploymentResource.schema.transform((object): PlacedCnf => ({
    ...identityOf(object),
    purpose: object.spec.template.metadata.labels[PURPOSE_LABEL] ?? '',
  })),
};

const cnfKey = (namespace: string, purpose: string): string => `${namespace}/${purpose}`;

class NameTakenError extends Error {
  constructor({ metadata: { name, ownerReferences = [] } }: FleetDeployment) {
    const owner = ownerReferences.find(({ controller }) => controller);
    super(
      owner
        ? `there is a Deployment ${name} that ${owner.kind} ${owner.name} controls: rename one of them`
        : `there is a Deployment ${name} that nothing controls: sdewan rollout adopt ${name} makes it that of the CNFDeployment, and its pods stay; or rename one of them`,
    );
  }
}

/** Of a template that was stored before it had a bound, or while no webhook was asked. */
class TooLargeError extends Error {}

/** The API server says so without having been sent anything. */
class NoRightError extends Error {}

/** What nobody has made cannot have changed: this conflict is one with something else. */
class DeniedError extends Error {}

const brokenBy = (
  error: unknown,
  namespace: string,
): { reason: string; message: string } | undefined => {
  if (error instanceof NameTakenError) return { reason: 'NameTaken', message: error.message };
  if (error instanceof TooLargeError) return { reason: 'TooLarge', message: error.message };
  if (error instanceof DeniedError) return { reason: 'Refused', message: error.message };
  if (!(error instanceof KubeError || error instanceof NoRightError)) return undefined;
  const { message } = error;
  const status = error instanceof KubeError ? error.status : FORBIDDEN;
  if (status === FORBIDDEN)
    return {
      reason: 'Forbidden',
      message: `the coordinator may not roll CNFs in namespace ${namespace}: bind ClusterRole ${FLEET_ROLE} there to its service account; ${message}`,
    };
  return status === INVALID || status === BAD_REQUEST ? { reason: 'Refused', message } : undefined;
};

const FORBIDDEN = 403;
const INVALID = 422;
const BAD_REQUEST = 400;

/** A write of which no answer came. */
type Unanswered = {
  tookEffect: (cnf: CnfDeployment, found: Found) => boolean;
  /** What is told of it. */
  follow: () => void;
};

type Found = {
  present: FleetDeployment | undefined;
  /** Of that Deployment. */
  sets: readonly FleetReplicaSet[];
  live: readonly FleetPodObject[];
  /** Names of pods that have ended, and that nobody has deleted; of those alone that a CNF is there for. */
  finished: readonly string[];
};

/** A Deployment that is not written before the set that serves is known: pods of another one get a gate from then on. */
const isToBeAdopted = (
  { status }: CnfDeployment,
  present: FleetDeployment | undefined,
  { memory, seen }: { memory: Memory; seen: readonly FleetPod[] },
): boolean =>
  present !== undefined &&
  status?.deployment?.uid !== present.metadata.uid &&
  memory.current === undefined &&
  seen.some(({ ready }) => ready);

/** A newer template waits until the staged set has the traffic no more, and Kubernetes knows it. */
const mustWait = (
  cnf: CnfDeployment,
  {
    memory,
    present,
    seen,
  }: { memory: Memory; present: FleetDeployment | undefined; seen: readonly FleetPod[] },
): boolean => !isPodByPod(cnf) && (mustGiveBack(seen, memory) || isCounted(seen, memory, present));

/** Pods of the staged set have the traffic, and the set before it can take it back. */
const mustGiveBack = (pods: readonly FleetPod[], { current, staged }: Memory): boolean =>
  pods.some(({ set, gate }) => gate === 'open' && set === staged?.set) &&
  pods.some(({ set, ready }) => ready && set === current);

/** Kubernetes still counts pods of the staged set: for a newer template it would take pods of the set before it instead. */
const isCounted = (
  pods: readonly FleetPod[],
  { staged }: Memory,
  present: FleetDeployment | undefined,
): boolean => {
  const others = pods.filter(({ ready, set }) => ready && set !== staged?.set);
  const { availableReplicas = 0 } = present?.status ?? {};
  return others.length > 0 && others.length < pods.length && availableReplicas > others.length;
};

const factsOf = (
  cnf: CnfDeployment,
  pods: readonly FleetPod[],
): Omit<RollOutFacts, 'failure' | 'now' | 'wanted' | 'superseded'> => ({
  replicas: cnf.spec.replicas,
  bakeMs: bakeSecondsOf(cnf.spec) * 1_000,
  deadlineMs: durationMs(cnf.spec.progressDeadline),
  paused: cnf.spec.paused,
  promoted: isPromoted(cnf),
  podByPod: isPodByPod(cnf),
  handOverMs: durationMs(cnf.spec.handOverTimeout),
  distances: distancesIn(cnf),
  pods,
});

type Order = {
  spec: object;
  written: string;
  template: string;
  isDue: boolean;
  /** Another template is written: not only other replicas or times. */
  supersedes: boolean;
  /** Pod by pod, Kubernetes first puts the pods of the proven set back in the place of those of a set that was not proven. */
  waits: boolean;
};

const isPodByPod = ({ spec }: CnfDeployment): boolean => spec.surge === 1;

/** What the Deployment should be, and whether it has to be written. */
const orderOf = (
  cnf: CnfDeployment,
  {
    template,
    memory,
    sets,
    present,
    seen,
  }: {
    template: ReturnType<typeof askedTemplate>;
    memory: Memory;
    sets: readonly FleetReplicaSet[];
    present: FleetDeployment | undefined;
    seen: readonly FleetPod[];
  },
): Order => {
  const proven = sets.find((set) => setOf(set) === memory.current);
  const back = proven && templateOfSet(proven);
  const goesBack = memory.failed !== undefined && cnf.spec.onFailure === 'Rollback';
  const asked = orderFor(cnf, (goesBack ? back : undefined) ?? template, present);
  const waits =
    asked.supersedes && isPodByPod(cnf) && back !== undefined && haveJoined(seen, memory);
  return waits ? { ...orderFor(cnf, back, present), waits } : { ...asked, waits };
};

const orderFor = (
  cnf: CnfDeployment,
  template: ReturnType<typeof askedTemplate>,
  present: FleetDeployment | undefined,
): Omit<Order, 'waits'> => {
  const spec = wantedSpec(cnf, template);
  const written = hashOf(spec);
  const known = cnf.status?.deployment;
  const isDue =
    known?.uid !== present?.metadata.uid ||
    known?.generation !== present?.metadata.generation ||
    known?.written !== written;
  const hash = templateHash(template);
  return { spec, written, template: hash, isDue, supersedes: isDue && known?.template !== hash };
};

/** Pods of a set that is not proven serve. */
const haveJoined = (pods: readonly FleetPod[], { current }: Memory): boolean =>
  pods.some(({ gate, set }) => gate === 'open' && set !== current);

const markOf = (
  { metadata: { uid, generation = 0 } }: FleetDeployment,
  { template, written }: Order,
): WrittenDeployment => ({ uid, generation, written, template });

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

/** One that failed is forgotten when the pod for whose sake it was can stay. `nodesKnown`: those that are cordoned are. */
const renewalOf = (
  { status }: CnfDeployment,
  { renew }: HealthStep,
  {
    isFailed,
    pods,
    nodesKnown,
  }: {
    isFailed: boolean;
    pods: readonly CnfFacts[];
    nodesKnown: boolean;
  },
): CnfDeploymentStatus['renewal'] => {
  if (renew) return { pod: renew.uid, reason: `pod ${renew.pod}: ${renew.why}` };
  const known = status?.renewal;
  const isOver = isFailed && known && nodesKnown && canStay(known.pod, pods);
  return isOver ? undefined : known;
};

const soonest = (...waits: readonly (number | undefined)[]): Outcome =>
  againIn(Math.min(...waits.map((ms) => ms ?? Infinity)));

const waitOf = ({ lookAt = Infinity, stage }: RollOutStep, now: number): number =>
  Math.max(0, Math.min(stage === 'Failed' ? BROKEN_MS : ROLLING_MS, lookAt - now));

/** Nothing rests on what is left out. Between Staged and Connected nothing is done either. */
const withoutWords = (status: CnfDeploymentStatus): object => {
  const { waitsFor: _waits, message: _message, excused: _excused, ...counts } = status;
  const { inSyncReplicas: _in, progressingReplicas: _is, unhealthyReplicas: _un, ...more } = counts;
  const { replicas: _replicas, readyReplicas: _ready, stage = '', stageTime, ...rest } = more;
  const isStaged = stage === 'Staged' || stage === 'Connected';
  return {
    ...rest,
    ...(!isStaged && { stage, stageTime }),
    distances: rest.distances?.filter(isNear).map(({ confirmed: _confirmed, ...placed }) => placed),
    conditions: rest.conditions?.map(({ type, status: is, lastTransitionTime }) => ({
      type,
      is,
      lastTransitionTime,
    })),
  };
};

const eventsOf = (
  cnf: CnfDeployment,
  { step, renewal }: Pick<RollOutView, 'step' | 'renewal'>,
  before: Memory,
): Omit<RecordedEvent, 'object'>[] => [
  ...ofStage(cnf, step, before),
  ...(renewal && isRenewed(cnf, renewal)
    ? [
        {
          type: 'Normal' as const,
          reason: 'SetRenewed',
          message: `new pods are made before others go: ${renewal.reason}`,
        },
      ]
    : []),
];

const isRenewed = ({ status }: CnfDeployment, renewal: CnfDeploymentStatus['renewal']): boolean =>
  renewal?.pod !== status?.renewal?.pod;

/** One for each change of stage. */
const ofStage = (
  { status }: CnfDeployment,
  { stage, memory, excused }: RollOutStep,
  before: Memory,
): Omit<RecordedEvent, 'object'>[] => {
  if (stage === status?.stage) return [];
  const { current = '', staged, failed } = memory;
  if (stage === 'Failed')
    return failed === undefined || before.failed !== undefined
      ? []
      : [
          {
            type: 'Warning',
            reason: 'RollOutFailed',
            message: `revision ${failed.set} has failed: ${failed.why}`,
          },
        ];
  const without = excused.length === 0 ? '' : `, without ${few(excused)}`;
  const message = `${SAID[stage]}: revision ${staged?.set ?? current}${without}`;
  return [{ type: 'Normal', reason: stage, message }];
};

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

const SAID: Readonly<Record<Exclude<Stage, 'Failed'>, string>> = {
  Creating: 'the first pods are made',
  Current: 'it serves, and no other set does',
  Staged: 'new pods are made, which have no traffic',
  Connected: 'each new pod runs, and waits for its rules',
  Swapping: 'each new pod has every rule, and is told that it is to have the traffic',
  HandedOver: 'each new pod has every rule and is given the traffic',
  Baking: 'the new pods have the traffic, and the old ones stay for a while',
};

const keyOf = ({ metadata: { namespace, name } }: CnfDeployment): string => `${namespace}/${name}`;

const placeOf = (key: string): { namespace: string; name: string } => {
  const at = key.indexOf('/');
  return { namespace: key.slice(0, at), name: key.slice(at + 1) };
};
