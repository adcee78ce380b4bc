/**
 * Watches CNFSets and CNFs and writes them: as few calls as there are differences, some seconds between two rounds for a CNFDeployment. They tell what is;
 * a roll-out that cannot write them goes on.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { isOutdated } from '#shared/kube/errors.ts';
import { keep } from '#shared/kube/owned.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import type { CnfDeployment } from '#shared/resources/cnf-deployment.ts';
import { cnfSetResource, type CnfSet } from '#shared/resources/cnf-set.ts';
import { cnfResource, type CnfObject } from '#shared/resources/cnf.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { atOnce } from '#shared/util/at-once.ts';
import { goesWithItsPod, wantedCnfOf, wantedSetOf, type MirrorView } from './objects.ts';
import { isSettled } from '../decide.ts';

export type MirrorDeps = {
  client: KubeClient;
  clock: Clock;
  log: Logger;
  /** The only one to look after; undefined: all. */
  namespace: string | undefined;
  /** A CNFSet or CNF of that CNFDeployment has changed. */
  mark: (key: string) => void;
};

export type Mirror = {
  sources: readonly { run: (signal: AbortSignal) => Promise<void> }[];
  /** Of which CNFDeployments there are objects, as `namespace/name`. */
  keys: () => string[];
  /** The CNF of a pod, as it was written last. */
  cnfOf: (namespace: string, pod: string) => CnfObject | undefined;
  /** Milliseconds after which there is more to write; undefined: there is not. */
  write: (cnf: CnfDeployment, view: MirrorView, signal: AbortSignal) => Promise<number | undefined>;
  /** The CNFDeployment of that key is gone: removes what is left of it. The same answer. */
  clear: (key: string, signal: AbortSignal) => Promise<number | undefined>;
};

/** Between two rounds of writes for a CNFDeployment. */
const PACE_MS = 2_000;
/** The same while a roll-out is under way, and for how long a stage must last to be written: each is in the status of the CNFDeployment at once. */
const ROLLING_MS = 10_000;
/** The same for what the end of a bake changes anyway. Most are shorter: spec.bakeSeconds is 30 by default. */
const BAKING_MS = 60_000;
/** After an error, e.g. while their CRDs are not there yet. */
const FAILED_MS = 15_000;

type Call = { client: Writer; signal: AbortSignal };
type Writer = Pick<KubeClient, 'create' | 'patch' | 'delete'>;
/** Milliseconds until objects that are there may be changed; `passing`: those that the end of a bake changes anyway. */
type Paces = { changes: number; passing: number };

export const createMirror = ({ client, clock, log, namespace, mark }: MirrorDeps): Mirror => {
  const wroteAt = new Map<string, number>();
  const common = {
    client,
    clock,
    log,
    selection: { namespace },
    onEvent: ({ object }: { object: CnfSet | CnfObject }) => mark(deploymentOf(object)),
    indices: { deployment: (object: CnfSet | CnfObject) => [deploymentOf(object)] },
  };
  const sets = new Reflector<CnfSet>({ ...common, resource: cnfSetResource });
  const cnfs = new Reflector<CnfObject>({ ...common, resource: cnfResource });

  /**
   * Rounds of which nothing is left to write cost nothing; the first write of one that comes too soon ends it. `pacesOf`: by how long ago the last
   * write was.
   */
  const round = async (
    key: string,
    pacesOf: (sinceMs: number) => Paces,
    write: (writer: Writer, passing: Writer) => Promise<void>,
    signal: AbortSignal,
  ): Promise<number | undefined> => {
    if (!sets.hasSynced() || !cnfs.hasSynced()) return PACE_MS;
    const sinceMs = clock.monotonic() - (wroteAt.get(key) ?? -Infinity);
    const [paceInMs, { changes, passing }] = [paced(sinceMs), pacesOf(sinceMs)];
    const due = async <R>(inMs: number, call: () => Promise<R>): Promise<R> => {
      if (inMs > 0) throw new TooSoonError(inMs);
      wroteAt.set(key, clock.monotonic());
      return call();
    };
    const writerIn = (changeInMs: number): Writer => ({
      create: (resource, body, call) => due(paceInMs, () => client.create(resource, body, call)),
      patch: (resource, at, call) => due(changeInMs, () => client.patch(resource, at, call)),
      delete: (resource, at, call) => due(paceInMs, () => client.delete(resource, at, call)),
    });
    try {
      await write(writerIn(changes), writerIn(passing));
      return undefined;
    } catch (err) {
      if (err instanceof TooSoonError) return err.waitMs;
      if (signal.aborted || isOutdated(err)) return PACE_MS;
      log.warn({ err, cnfDeployment: key }, 'failed to write CNFSets and CNFs, retrying');
      return FAILED_MS;
    }
  };

  /** `isGone`: of CNFs that no pod is there for. */
  const removeOthers = async (
    key: string,
    {
      view,
      isGone,
    }: { view: Pick<MirrorView, 'sets' | 'pods'>; isGone: (cnf: CnfObject) => boolean },
    call: Call,
  ): Promise<void> => {
    const pods = new Set(view.pods.map(({ name }) => name));
    const replicaSets = new Set(view.sets.map(({ metadata }) => metadata.name));
    for (const cnf of cnfs.store.by('deployment', key))
      if (!pods.has(cnf.metadata.name) && isGone(cnf))
        await keep({ ...call, resource: cnfResource }, undefined, cnf);
    for (const set of sets.store.by('deployment', key))
      if (!replicaSets.has(set.metadata.name))
        await keep({ ...call, resource: cnfSetResource }, undefined, set);
  };

  const writeAll = async (
    cnf: CnfDeployment,
    view: MirrorView,
    { client: writer, passing, signal: aborted }: Call & { passing: Writer },
  ): Promise<void> => {
    const { namespace: where, name } = cnf.metadata;
    const { current } = view.step.memory;
    const ofSets = view.sets.map((replicaSet) => {
      const present = sets.store.byName(where, replicaSet.metadata.name);
      const desired = wantedSetOf(cnf, replicaSet, present, view);
      const write = (call: Call) => keep({ ...call, resource: cnfSetResource }, desired, present);
      return { isNew: present === undefined, isPassing: true, write };
    });
    const ofPods = view.pods.map((pod) => {
      const present = cnfs.store.byName(where, pod.name);
      const distance = view.step.distances.get(pod.name)?.distance;
      const desired = wantedCnfOf(cnf, pod, present, { now: view.now, distance });
      const write = (call: Call) => keep({ ...call, resource: cnfResource }, desired, present);
      return { isNew: present === undefined, isPassing: pod.set === current, write };
    });
    const all = [...ofSets, ...ofPods];
    const writeThose = (which: (one: (typeof all)[number]) => boolean, by: Writer) =>
      atOnce(all.filter(which), Infinity, ({ write }) => write({ client: by, signal: aborted }));
    await writeThose(({ isNew }) => isNew, writer);
    const isGone = (one: CnfObject): boolean =>
      !goesWithItsPod(one) || view.finished.includes(one.metadata.name);
    await removeOthers(`${where}/${name}`, { view, isGone }, { client: writer, signal: aborted });
    // Last, as they may have to wait.
    await writeThose(({ isNew, isPassing }) => !isNew && !isPassing, writer);
    await writeThose(({ isNew, isPassing }) => !isNew && isPassing, passing);
  };

  return {
    sources: [sets, cnfs],
    keys: () => [...sets.store.list(), ...cnfs.store.list()].map(deploymentOf),
    cnfOf: (where, pod) => cnfs.store.byName(where, pod),
    write: (cnf, view, signal) =>
      round(
        `${cnf.metadata.namespace}/${cnf.metadata.name}`,
        (sinceMs) => (isSettled(view.step) ? alike(paced(sinceMs)) : rolling(cnf, view, sinceMs)),
        (writer, passing) => writeAll(cnf, view, { client: writer, passing, signal }),
        signal,
      ),
    clear: async (key, signal) => {
      const none = { view: { sets: [], pods: [] }, isGone: () => true };
      const waitMs = await round(
        key,
        (sinceMs) => alike(paced(sinceMs)),
        (writer) => removeOthers(key, none, { client: writer, signal }),
        signal,
      );
      if (waitMs === undefined) wroteAt.delete(key);
      return waitMs;
    },
  };
};

class TooSoonError extends Error {
  readonly waitMs: number;
  constructor(waitMs: number) {
    super();
    this.waitMs = waitMs;
  }
}

const paced = (sinceMs: number): number => PACE_MS - sinceMs;

const alike = (inMs: number): Paces => ({ changes: inMs, passing: inMs });

const rolling = ({ status }: CnfDeployment, { now, step }: MirrorView, sinceMs: number): Paces => {
  const begun = status?.stage === step.stage && status.stageTime;
  const lastsMs = begun ? now - Date.parse(begun) : 0;
  const changes = ROLLING_MS - Math.min(sinceMs, lastsMs);
  return { changes, passing: step.stage === 'Baking' ? BAKING_MS - lastsMs : changes };
};

const deploymentOf = ({ metadata, spec }: CnfSet | CnfObject): string =>
  `${metadata.namespace}/${spec.deployment}`;
