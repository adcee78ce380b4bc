/**
 * Watches CNFDeployments, their Deployments, pods and reports; owns the Deployment of each, the
 * gate and the label of its pods, its CNFSets and CNFs, and its status. Each look reads pods and
 * sets from the API server: which pods get the traffic is not decided by what a watch knew a moment
 * ago.
 */
import {
  againIn,
  createController,
  type ControllerDeps,
  type Outcome,
} from '#shared/kube/controller.ts';
import { identityOf, objectSchema, resourceV1, type KubeObject } from '#shared/kube/objects.ts';
import { find } from '#shared/kube/owned.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { KEPT_SELECTOR, PURPOSE_LABEL } from '#shared/names.ts';
import { cnfDeploymentResource, tooLarge } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { createBackoff, type Backoff } from '#shared/runtime/backoff.ts';
import type { CnfPod } from '../../sources/cnf-pod.ts';
import { fleetDeployments } from './apps.ts';
import { BROKEN_MS, brokenBy, TooLargeError } from './broken.ts';
import { keyOf, placeOf } from './deployment.ts';
import { createObservedController } from './mirror/observed.ts';
import { createMirror } from './mirror/writer.ts';
import { createRollOut, type RollOutDeps, type StandingOf } from './roll-out.ts';
import { brokenStatus } from './status.ts';
import { createStatusWriter } from './status-writer.ts';
import { createUnansweredWrites } from './unanswered.ts';

export type FleetDeps = ControllerDeps &
  RollOutDeps & {
    /** The only one to look after; undefined: all. */
    namespace: string | undefined;
    /** What agents have said of the rules; undefined until pods and rules are known. */
    standings: () => StandingOf | undefined;
  };

export type FleetController = {
  /** Something that a roll-out of the CNF may wait for has changed: a rule, a pod, or a report. */
  mark: (cnf: Pick<CnfPod, 'namespace' | 'purpose'>) => void;
  /** The agent of the pod has counted something, which nothing waits for. */
  markObserved: (pod: Pick<CnfPod, 'namespace' | 'name'>) => void;
  run: (signal: AbortSignal) => Promise<void>;
};

/** A CNFDeployment as the watch keeps it. */
type PlacedCnf = KubeObject & { purpose: string };

/** What changes together, as the pods of a set do, is one look. */
const COALESCE_MS = 200;
/** Between looks for rights, which an operator often gives a moment after the CNFDeployment. */
const RIGHTS_BACKOFF = { baseMs: 2_000, maxMs: 60_000 };
const CONCURRENCY = 4;

export const createFleetController = (deps: FleetDeps): FleetController => {
  const { client, clock, log, namespace, orders, record, rollOuts } = deps;
  /** Those whose rights are asked for again. */
  const lacking = new Map<string, Backoff>();
  const markObject = (object: KubeObject): void => controller.mark(keyOf(object));
  const { cnfs, cordoned, deployments } = createWatches(deps, markObject);
  const mirror = createMirror({
    client,
    clock,
    log,
    namespace,
    mark: (key) => controller.mark(key),
    markObserved: ({ metadata }) => observed.mark(metadata),
  });
  const observed = createObservedController({ ...deps, mirror });

  const writes = createUnansweredWrites();
  const statuses = createStatusWriter({ client, clock, writes });
  const rollOut = createRollOut({
    ...deps,
    cordoned,
    mirror,
    statuses,
    writes,
    mark: (key) => controller.mark(key),
  });

  const reconcile = async (
    key: string,
    standing: StandingOf,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const place = placeOf(key);
    if (cnfs.store.byName(place.namespace, place.name) === undefined) {
      for (const known of [statuses, writes, rollOut]) known.forget(key);
      lacking.delete(key);
      rollOuts.gone(key);
      orders.give(key, new Map());
      return againIn(await mirror.clear(key, signal));
    }
    const found = await find(client, cnfDeploymentResource, place, { signal });
    if (!found || found.metadata.deletionTimestamp !== undefined) return 'done';
    const cnf = statuses.withNoted(found);
    try {
      const size = tooLarge(cnf.spec.template);
      if (size !== undefined) throw new TooLargeError(size);
      const outcome = await rollOut.roll(cnf, standing, signal);
      lacking.delete(key);
      return outcome;
    } catch (error) {
      const broken = brokenBy(error, place.namespace);
      if (broken === undefined) throw error;
      const status = brokenStatus(cnf, { ...broken, now: clock.now() });
      await statuses.say(cnf, status, { tell: () => undefined, signal });
      record({ object: cnf, type: 'Warning', ...broken, once: true });
      return { failed: broken.reason, againInMs: againMs(key, broken) };
    }
  };

  const againMs = (key: string, { reason }: { reason: string }): number =>
    reason === 'Forbidden'
      ? lacking.getOrInsertComputed(key, () => createBackoff(RIGHTS_BACKOFF)).next()
      : BROKEN_MS;

  const controller = createController({
    ...deps,
    name: 'fleet',
    sources: [cnfs, deployments, cordoned, ...mirror.sources],
    facts: () => (cnfs.hasSynced() ? deps.standings() : undefined),
    markAll: () => {
      rollOuts.begin();
      orders.begin(clock.now());
      statuses.clear();
      writes.clear();
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
    markObserved: observed.mark,
    run: async (signal) => {
      await Promise.all([controller.run(signal), observed.run(signal)]);
    },
  };
};

const createWatches = (
  { client, clock, log, namespace }: FleetDeps,
  mark: (object: KubeObject) => void,
) => {
  const onEvent = ({ object }: { object: KubeObject }): void => mark(object);
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

  // Few: those that take no new pods.
  const cordoned = new Reflector({
    client,
    clock,
    log,
    resource: nodes,
    selection: { fieldSelector: 'spec.unschedulable=true' },
    onEvent: () => cnfs.store.list().forEach(mark),
  });
  return { cnfs, cordoned, deployments };
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
