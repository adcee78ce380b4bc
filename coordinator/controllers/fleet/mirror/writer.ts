/**
 * Watches CNFSets and CNFs and writes them: as few calls as there are differences. They tell what
 * is; a roll-out that cannot write them goes on.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import { isOvertaken, keep, type WriteOutcome } from '#shared/kube/owned.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import type { CnfDeployment } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { cnfSetResource, type CnfSet } from '#shared/resources/other-kinds/cnf-set.ts';
import { cnfResource, type CnfObject } from '#shared/resources/other-kinds/cnf.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { atOnce } from '#shared/util/at-once.ts';
import { keyOf } from '../deployment.ts';
import { firstRollSet, type UserRequest } from '../requests.ts';
import {
  goesWithItsPod,
  observedInMs,
  wantedCnfOf,
  wantedSetOf,
  type MirrorView,
} from './objects.ts';
import { alike, createRounds, PACE_MS, pacesFor, TooSoonError, type Writer } from './rounds.ts';

export type MirrorDeps = {
  client: KubeClient;
  clock: Clock;
  log: Logger;
  /** The only one to look after; undefined: all. */
  namespace: string | undefined;
  /** A CNFSet or CNF of that CNFDeployment has changed. */
  mark: (key: string) => void;
  /** The agent of the CNF's pod has observed what is to be written later. */
  markObserved: (cnf: CnfObject) => void;
};

export type Mirror = {
  sources: readonly { run: (signal: AbortSignal) => Promise<void> }[];
  /** What there is is known. */
  isReady: () => boolean;
  /** The CNFDeployments with objects, as `namespace/name`. */
  keys: () => string[];
  cnfs: () => CnfObject[];
  /** The CNF of a pod, as it was written last. */
  cnfOf: (namespace: string, pod: string) => CnfObject | undefined;
  /** What users ask of the set with that hash, or of its CNFs. */
  rollSetOf: (cnf: CnfDeployment, set: string | undefined) => UserRequest | undefined;
  /** Milliseconds after which there is more to write; undefined: there is not. */
  write: (cnf: CnfDeployment, view: MirrorView, signal: AbortSignal) => Promise<number | undefined>;
  /** The CNFDeployment of that key is gone: removes what is left of it. The same answer. */
  clear: (key: string, signal: AbortSignal) => Promise<number | undefined>;
};

type Call = { client: Writer; signal: AbortSignal };

export const createMirror = (deps: MirrorDeps): Mirror => {
  const { client, clock, log, markObserved } = deps;
  const { cnfs, sets } = createWatches(deps);
  const isReady = (): boolean => sets.hasSynced() && cnfs.hasSynced();

  const rounds = createRounds({ client, clock, log, isReady });

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
    const { namespace: where } = cnf.metadata;
    const { current } = view.step.memory;
    let isBehind = false;
    const note = ({ outcome }: { outcome: WriteOutcome }): void => {
      isBehind ||= isOvertaken(outcome);
    };
    const ofSets = view.sets.map((replicaSet) => {
      const present = sets.store.byName(where, replicaSet.metadata.name);
      const desired = wantedSetOf(cnf, replicaSet, present, view);
      const write = async (call: Call) =>
        note(await keep({ ...call, resource: cnfSetResource }, desired, present));
      return { isNew: present === undefined, isPassing: true, write };
    });
    const ofPods = view.pods.map((pod) => {
      const present = cnfs.store.byName(where, pod.name);
      const distance = view.step.distances.get(pod.name)?.distance;
      const desired = wantedCnfOf(cnf, pod, present, { now: view.now, distance });
      const write = async (call: Call) =>
        note(await keep({ ...call, resource: cnfResource }, desired, present));
      return { isNew: present === undefined, isPassing: pod.set === current, write };
    });
    const all = [...ofSets, ...ofPods];
    const writeThose = (which: (one: (typeof all)[number]) => boolean, by: Writer) =>
      atOnce(all.filter(which), Infinity, ({ write }) => write({ client: by, signal: aborted }));
    await writeThose(({ isNew }) => isNew, writer);
    const isGone = (one: CnfObject): boolean =>
      !goesWithItsPod(one) || view.finished.includes(one.metadata.name);
    await removeOthers(keyOf(cnf), { view, isGone }, { client: writer, signal: aborted });
    // Last, as they may have to wait.
    await writeThose(({ isNew, isPassing }) => !isNew && !isPassing, writer);
    await writeThose(({ isNew, isPassing }) => !isNew && isPassing, passing);
    // The watch may tell of what was observed alone, which marks nothing.
    if (isBehind) throw new TooSoonError(PACE_MS);
  };

  return {
    sources: [sets, cnfs],
    isReady,
    cnfs: () => cnfs.store.list(),
    keys: () => [...sets.store.list(), ...cnfs.store.list()].map(deploymentOf),
    cnfOf: (where, pod) => cnfs.store.byName(where, pod),
    rollSetOf: (cnf, set) => {
      const key = keyOf(cnf);
      const all = [...sets.store.by('deployment', key), ...cnfs.store.by('deployment', key)];
      return firstRollSet(all, set);
    },
    write: async (cnf, view, signal) => {
      for (const pod of view.pods) {
        const present = cnfs.store.byName(cnf.metadata.namespace, pod.name);
        if (present && observedInMs(pod, present.status, view.now)) markObserved(present);
      }
      return rounds.round(
        keyOf(cnf),
        pacesFor(cnf, view),
        (writer, passing) => writeAll(cnf, view, { client: writer, passing, signal }),
        signal,
      );
    },
    clear: async (key, signal) => {
      const none = { view: { sets: [], pods: [] }, isGone: () => true };
      const waitMs = await rounds.round(
        key,
        alike,
        (writer) => removeOthers(key, none, { client: writer, signal }),
        signal,
      );
      if (waitMs === undefined) rounds.forget(key);
      return waitMs;
    },
  };
};

const createWatches = ({ client, clock, log, namespace, mark }: MirrorDeps) => {
  const common = {
    client,
    clock,
    log,
    selection: { namespace },
    indices: { deployment: (object: CnfSet | CnfObject) => [deploymentOf(object)] },
  };
  const sets = new Reflector<CnfSet>({
    ...common,
    resource: cnfSetResource,
    onEvent: ({ object }) => mark(deploymentOf(object)),
  });
  const cnfs = new Reflector<CnfObject>({
    ...common,
    resource: cnfResource,
    onEvent: ({ object, old }) => {
      if (!old || !isDeepStrictEqual(decidingOf(old), decidingOf(object)))
        mark(deploymentOf(object));
    },
  });
  return { cnfs, sets };
};

/** What agents observe decides nothing, and changes all the time. */
const decidingOf = ({ metadata, spec, status }: CnfObject): object => ({
  metadata: { ...metadata, resourceVersion: '', generation: 0 },
  spec,
  status: { ...status, ...UNOBSERVED },
});
const UNOBSERVED = { networks: 0, counters: 0, observedTime: 0, lastReport: 0 };

const deploymentOf = ({ metadata, spec }: CnfSet | CnfObject): string =>
  `${metadata.namespace}/${spec.deployment}`;
