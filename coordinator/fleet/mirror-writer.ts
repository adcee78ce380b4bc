/**
 * Watches CNFSets and CNFs and writes them: as few calls as there are differences, some seconds between two rounds for a CNFDeployment. They tell what is;
 * a roll-out that cannot write them goes on.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import { isConflict, isNotFound } from '#shared/kube/errors.ts';
import { replaceStatus } from '#shared/kube/fenced.ts';
import type { KubeObject, ResourceType } from '#shared/kube/objects.ts';
import { keep, type Desired } from '#shared/kube/owned.ts';
import { Reflector } from '#shared/kube/reflector.ts';
import type { CnfDeployment } from '#shared/resources/cnf-deployment.ts';
import { cnfSetResource, type CnfSet } from '#shared/resources/cnf-set.ts';
import { cnfResource, type CnfObject } from '#shared/resources/cnf.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { setOf } from './apps.ts';
import { wantedCnfOf, wantedSetOf, type MirrorView } from './mirror.ts';

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
/** After an error, e.g. while their CRDs are not there yet. */
const FAILED_MS = 15_000;

type Writer = Pick<KubeClient, 'create' | 'patch' | 'replace' | 'delete'>;

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

  /** Rounds of which nothing is left to write cost nothing; the first write of one that comes too soon ends it. */
  const round = async (
    key: string,
    write: (writer: Writer) => Promise<void>,
    signal: AbortSignal,
  ): Promise<number | undefined> => {
    if (!sets.hasSynced() || !cnfs.hasSynced()) return PACE_MS;
    const waitMs = (wroteAt.get(key) ?? -Infinity) + PACE_MS - clock.monotonic();
    const due = async <R>(call: () => Promise<R>): Promise<R> => {
      if (waitMs > 0) throw new TooSoonError();
      wroteAt.set(key, clock.monotonic());
      return call();
    };
    try {
      await write({
        create: (resource, body, call) => due(() => client.create(resource, body, call)),
        patch: (resource, at, call) => due(() => client.patch(resource, at, call)),
        replace: (resource, body, call) => due(() => client.replace(resource, body, call)),
        delete: (resource, at, call) => due(() => client.delete(resource, at, call)),
      });
      return undefined;
    } catch (err) {
      if (err instanceof TooSoonError) return waitMs;
      if (signal.aborted || isConflict(err) || isNotFound(err)) return PACE_MS;
      log.warn({ err, cnfDeployment: key }, 'failed to write CNFSets and CNFs, retrying');
      return FAILED_MS;
    }
  };

  const removeOthers = async (
    key: string,
    names: { sets: ReadonlySet<string>; cnfs: ReadonlySet<string> },
    call: { client: Writer; signal: AbortSignal },
  ): Promise<void> => {
    for (const cnf of cnfs.store.by('deployment', key))
      if (!names.cnfs.has(cnf.metadata.name))
        await keep({ ...call, resource: cnfResource }, undefined, cnf);
    for (const set of sets.store.by('deployment', key))
      if (!names.sets.has(set.metadata.name))
        await keep({ ...call, resource: cnfSetResource }, undefined, set);
  };

  const writeAll = async (
    cnf: CnfDeployment,
    view: MirrorView,
    call: { client: Writer; signal: AbortSignal },
  ): Promise<void> => {
    const { namespace: where, name } = cnf.metadata;
    const owners = new Map<string, CnfSet>();
    for (const replicaSet of view.sets) {
      const present = sets.store.byName(where, replicaSet.metadata.name);
      const wanted = wantedSetOf(cnf, replicaSet, present, view);
      const object = await put(cnfSetResource, wanted, present, call);
      if (object) owners.set(setOf(replicaSet), object);
    }
    for (const pod of view.pods) {
      const owner = owners.get(pod.set);
      if (!owner) continue;
      const present = cnfs.store.byName(where, pod.name);
      const wanted = wantedCnfOf(cnf, pod, present, {
        now: view.now,
        owner,
        distance: view.step.distances.get(pod.name)?.distance,
      });
      await put(cnfResource, wanted, present, call);
    }
    const names = {
      sets: new Set(view.sets.map(({ metadata }) => metadata.name)),
      cnfs: new Set(view.pods.map((pod) => pod.name)),
    };
    await removeOthers(`${where}/${name}`, names, call);
  };

  return {
    sources: [sets, cnfs],
    keys: () => [...sets.store.list(), ...cnfs.store.list()].map(deploymentOf),
    cnfOf: (where, pod) => cnfs.store.byName(where, pod),
    write: (cnf, view, signal) =>
      round(
        `${cnf.metadata.namespace}/${cnf.metadata.name}`,
        (writer) => writeAll(cnf, view, { client: writer, signal }),
        signal,
      ),
    clear: async (key, signal) => {
      const none = { sets: new Set<string>(), cnfs: new Set<string>() };
      const waitMs = await round(
        key,
        (writer) => removeOthers(key, none, { client: writer, signal }),
        signal,
      );
      if (waitMs === undefined) wroteAt.delete(key);
      return waitMs;
    },
  };
};

class TooSoonError extends Error {}

/** Gives the object as it is then; undefined: somebody was faster, and the next round looks again. */
const put = async <T extends KubeObject & { status?: object | undefined }>(
  resource: ResourceType<T>,
  { desired, status }: { desired: Desired; status: object },
  present: T | undefined,
  { client, signal }: { client: Writer; signal: AbortSignal },
): Promise<T | undefined> => {
  const { object } = await keep({ client, resource, signal }, desired, present);
  if (object === undefined || isDeepStrictEqual(object.status, status)) return object;
  return replaceStatus({ client, resource, object }, status, { signal });
};

const deploymentOf = ({ metadata, spec }: CnfSet | CnfObject): string =>
  `${metadata.namespace}/${spec.deployment}`;
