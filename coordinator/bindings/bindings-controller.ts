/**
 * Keeps in each namespace with CNFs what their agents need: the rights to read rules, and the CA of the coordinator. Takes both
 * away when no CNF is left. Whatever happens only marks a namespace; the present state is read when it is worked.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import type { KubeObject } from '#shared/kube/objects.ts';
import { DEFAULT_READS_KEYS_ANNOTATION } from '#shared/names.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { WorkQueue } from '#shared/runtime/work-queue.ts';
import { namespaces } from '../admission/cnf/lookups.ts';
import { keepCaConfigMap } from './ca-config-map.ts';
import { desiredBindings } from './desired.ts';
import { keepRoleBinding } from './role-binding.ts';

export type NamespaceLoopDeps = {
  client: KubeClient;
  /** Service accounts of the CNF pods and workloads of a namespace. */
  accounts: (namespace: string) => readonly string[];
  /** PEM of the CAs to publish; undefined when somebody else brings them to the agents: then nothing of theirs is touched. */
  caBundle: (() => string) | undefined;
  clock: Clock;
  log: Logger;
};

export type NamespaceLoop = {
  /** Something has changed there. */
  mark: (namespace: string) => void;
  /**
   * A CNF is about to appear there: its CA should be there before it, although no watch has told of it yet. For a while the
   * namespace counts as having a CNF.
   */
  announce: (namespace: string) => void;
  /** Not to be called before pods and workloads are known: what is unknown would be taken away. */
  run: (signal: AbortSignal) => Promise<void>;
};

/** What comes together, e.g. the pods of a roll-out, is looked at once. */
const COALESCE_MS = 50;
/** From the review of a workload to the watch's word about it. */
const ANNOUNCED_FOR_MS = 60_000;
/** Somebody may have changed what we keep there. */
const LOOK_AGAIN_MS = 300_000;
const CONCURRENCY = 4;

export const createNamespaceLoop = (deps: NamespaceLoopDeps): NamespaceLoop => {
  const { client, clock, log } = deps;
  const announcedUntil = new Map<string, number>();

  const isAnnounced = (namespace: string): boolean => {
    const until = announcedUntil.get(namespace) ?? 0;
    if (until > clock.monotonic()) return true;
    announcedUntil.delete(namespace);
    return false;
  };

  const work = async (name: string, signal: AbortSignal): Promise<number | undefined> => {
    const namespace = await client.get(namespaces, { name }, { signal }).catch(orNothing);
    // Nothing can be created in a namespace that is going, and all of it goes.
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined)
      return undefined;
    const accounts = deps.accounts(name);
    const inUse = accounts.length > 0 || isAnnounced(name);
    const defaultReadsKeys =
      namespace.metadata.annotations?.[DEFAULT_READS_KEYS_ANNOTATION] === 'true';
    const bindings = desiredBindings({
      accounts,
      defaultReadsKeys,
    });
    const changes = await Promise.all([
      ...(deps.caBundle
        ? [keepCaConfigMap(client, name, inUse ? deps.caBundle() : undefined, signal)]
        : []),
      ...bindings.map((binding) => keepRoleBinding(client, name, binding, signal)),
    ]);
    if (changes.includes(true)) log.info({ namespace: name, accounts }, 'namespace served');
    return inUse ? LOOK_AGAIN_MS : undefined;
  };

  const queue = new WorkQueue<string>({
    work,
    concurrency: CONCURRENCY,
    clock,
    onError: (namespace, err, retryInMs) =>
      log.warn({ namespace, err, retryInMs }, 'namespace not served'),
  });

  return {
    mark: (namespace) => queue.add(namespace, COALESCE_MS),
    announce: (namespace) => {
      const known = isAnnounced(namespace);
      announcedUntil.set(namespace, clock.monotonic() + ANNOUNCED_FOR_MS);
      if (!known) queue.add(namespace);
    },
    run: (signal) => queue.run(signal),
  };
};

const orNothing = (error: unknown): KubeObject | undefined => {
  if (isNotFound(error)) return undefined;
  throw error;
};
