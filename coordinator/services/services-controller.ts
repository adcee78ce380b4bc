/**
 * Exposes Services through CNFs: each that asks for it has a FirewallDNAT per port and address family. Whatever happens only marks; what all
 * Services ask for is computed anew, and each rule that is not as it should be is worked by itself. Nothing is done before
 * Services, rules and pods are known, since what is not known would be removed.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isInvalid, isNotFound } from '#shared/kube/errors.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import {
  identityOf,
  objectSchema,
  type KubeObject,
  type RuleObject,
} from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/reflector.ts';
import { SERVICE_UID_LABEL } from '#shared/names.ts';
import { jittered } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { createTrigger } from '#shared/runtime/trigger.ts';
import { WorkQueue } from '#shared/runtime/work-queue.ts';
import type { Rules } from '../rules/rules.ts';
import { claimsOf, type Claims, type CnfNamespaces, type ExposeOptions } from './claims.ts';
import { serviceOf, serviceResource, type Service } from './service.ts';
import { bringRule, isServiceRule } from './write.ts';

export type ServiceLoopDeps = {
  client: KubeClient;
  /** Services of this namespace only; undefined: of all. */
  namespace: string | undefined;
  options: ExposeOptions;
  rules: Pick<Rules, 'get' | 'unknown'>;
  cnfNamespaces: CnfNamespaces;
  /** Whether rules and pods are known. */
  isComplete: () => boolean;
  record: (event: RecordedEvent) => void;
  clock: Clock;
  log: Logger;
};

export type ServiceLoop = {
  /** A rule came, went or changed. */
  onRule: (uid: string) => void;
  /** CNFs came or went. */
  mark: () => void;
  run: (signal: AbortSignal) => Promise<void>;
};

type KeptService = KubeObject & { service: Service };

const COALESCE_MS = 100;
const LOOK_AGAIN_MS = 500;
const CONCURRENCY = 8;
/** After a refusal by the API server: a quota may have been raised, a policy changed. */
const REFUSED_RETRY_MS = 60_000;

const NO_CLAIMS: Claims = { wanted: new Map(), notes: new Map(), undecided: new Set() };

export const createServiceLoop = (deps: ServiceLoopDeps): ServiceLoop => {
  const { client, clock, log, rules } = deps;
  const services = new Reflector({
    client,
    clock,
    log,
    resource: { ...serviceResource, schema: keptServiceSchema },
    selection: { namespace: deps.namespace },
    onEvent: () => recompute.mark(),
    onState: () => recompute.mark(),
  });
  /** Uids of the FirewallDNATs that were made here. */
  const ours = new Set<string>();
  const said = new Map<string, string>();
  let claims = NO_CLAIMS;
  let present: ReadonlyMap<string, RuleObject> = new Map();

  const recompute = createTrigger({
    run: async () => {
      if (!services.hasSynced() || !deps.isComplete()) return LOOK_AGAIN_MS;
      const all = services.store.list().filter(isStaying);
      claims = claimsOf(
        all.map(({ service }) => service),
        deps.options,
        memoized(deps.cnfNamespaces),
      );
      present = new Map(
        [...ours].flatMap((uid) => {
          const object = rules.get(uid)?.object;
          return object ? [[keyOf(object), object] as const] : [];
        }),
      );
      for (const key of new Set([...claims.wanted.keys(), ...present.keys()])) queue.add(key);
      tell(all);
      return undefined;
    },
    delayMs: COALESCE_MS,
    clock,
    onError: (err) => log.error({ err }, 'Services not looked at'),
  });

  const work = async (key: string, signal: AbortSignal): Promise<number | undefined> => {
    const wanted = claims.wanted.get(key);
    const there = present.get(key);
    const owner = there?.metadata.labels?.[SERVICE_UID_LABEL] ?? '';
    if (!wanted && claims.undecided.has(owner)) return undefined;
    try {
      const outcome = await bringRule(client, wanted, there, signal);
      if (outcome === 'taken') throw new NotOurs(`FirewallDNAT ${key} was not made for it`);
      if (outcome !== 'nothing') log.info({ rule: `FirewallDNAT ${key}`, outcome }, 'service');
      return undefined;
    } catch (error) {
      if (!wanted || !isRefusal(error)) throw error;
      warn(wanted.service, messageOf(error));
      return jittered(REFUSED_RETRY_MS, 0.25);
    }
  };

  const queue = new WorkQueue<string>({
    work,
    concurrency: CONCURRENCY,
    clock,
    onError: (key, err, retryInMs) =>
      log.warn({ rule: `FirewallDNAT ${key}`, err, retryInMs }, 'Service not exposed as it asks'),
  });

  const warn = ({ uid }: Service, message: string): void => {
    const object = services.store.byUid(uid);
    if (object) deps.record({ object, type: 'Warning', reason: 'NotExposed', message });
  };

  /** Each word once, not with every look. */
  const tell = (all: readonly KeptService[]): void => {
    for (const object of all) {
      const { uid } = object.metadata;
      const notes = claims.notes.get(uid) ?? [];
      const words = JSON.stringify(notes);
      if ((said.get(uid) ?? '[]') === words) continue;
      said.set(uid, words);
      for (const note of notes) deps.record({ object, type: 'Warning', ...note });
    }
    const known = new Set(all.map(({ metadata }) => metadata.uid));
    for (const uid of said.keys()) if (!known.has(uid)) said.delete(uid);
  };

  return {
    onRule: (uid) => {
      const object = rules.get(uid)?.object;
      const isOurs = object !== undefined && isServiceRule(object);
      if (!isOurs && !ours.has(uid)) return;
      if (isOurs) ours.add(uid);
      else ours.delete(uid);
      recompute.mark();
    },
    mark: () => recompute.mark(),
    run: async (signal) => {
      await Promise.all([services.run(signal), recompute.start(signal), queue.run(signal)]);
    },
  };
};

/** The name that a rule has to have is somebody else's. */
class NotOurs extends Error {
  override name = 'NotOurs';
}

/** Trying again at once would not help. */
const isRefusal = (error: unknown): boolean =>
  error instanceof NotOurs || isInvalid(error) || isForbidden(error) || isNotFound(error);

const keyOf = ({ metadata }: RuleObject): string => `${metadata.namespace}/${metadata.name}`;

const isStaying = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp === undefined;

/** Many Services name the same few purposes. */
const memoized = (cnfNamespaces: CnfNamespaces): CnfNamespaces => {
  const known = new Map<string, readonly string[]>();
  return (purpose) => {
    const namespaces = known.get(purpose) ?? cnfNamespaces(purpose);
    known.set(purpose, namespaces);
    return namespaces;
  };
};

/** Services can be many. */
const keptServiceSchema = objectSchema.transform((object): KeptService => {
  const { apiVersion, kind, metadata } = identityOf(object);
  const { deletionTimestamp } = object.metadata;
  return {
    apiVersion,
    kind,
    metadata: { ...metadata, ...(deletionTimestamp !== undefined && { deletionTimestamp }) },
    service: serviceOf(object),
  };
});
