/**
 * Watches Services, the FirewallDNATs made for them, and CNF pods; owns these FirewallDNATs, one per port and address family of a Service that
 * asks to be exposed; writes them, and Events on Services. What all Services ask for together is computed anew after any change, and
 * each rule that is not as it should be is reconciled by itself.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import {
  createController,
  type Controller,
  type ControllerDeps,
  type Outcome,
} from '#shared/kube/controller.ts';
import { isForbidden, isInvalid, isNotFound } from '#shared/kube/errors.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import {
  identityOf,
  objectSchema,
  type KubeObject,
  type RuleObject,
} from '#shared/kube/objects.ts';
import { isOvertaken } from '#shared/kube/owned.ts';
import { Reflector } from '#shared/kube/reflector.ts';
import type { ReadonlyStore } from '#shared/kube/store.ts';
import { SERVICE_UID_LABEL } from '#shared/names.ts';
import { jittered } from '#shared/runtime/backoff.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { oncePerNames } from '#shared/runtime/memo.ts';
import type { Rules } from '../rules/rules.ts';
import { claimsOf, type Claims, type Cnfs, type ExposeOptions } from './claims.ts';
import { serviceOf, serviceResource, type Service } from './service.ts';
import { bringRule, isServiceRule } from './write.ts';

export type ServicesDeps = ControllerDeps & {
  client: KubeClient;
  /** Services of this namespace only; undefined: of all. */
  namespace: string | undefined;
  options: ExposeOptions;
  rules: Pick<Rules, 'get' | 'unknown'>;
  cnfs: Cnfs;
  /** Whether rules and pods are known. */
  isComplete: () => boolean;
  record: (event: RecordedEvent) => void;
};

export type ServicesController = {
  /** A rule came, went or changed. */
  onRule: (uid: string) => void;
  /** CNFs came or went. */
  mark: () => void;
  run: (signal: AbortSignal) => Promise<void>;
};

type KeptService = KubeObject & { service: Service };

const COALESCE_MS = 100;
const CONCURRENCY = 8;
/** After a refusal by the API server: a quota may have been raised, a policy changed. */
const REFUSED_RETRY_MS = 60_000;

/** Keys are `namespace/name` of FirewallDNATs, and this one: what all Services ask for. */
const ALL = '';

const NO_CLAIMS: Claims = { wanted: new Map(), notes: new Map(), undecided: new Set() };

export const createServicesController = (deps: ServicesDeps): ServicesController => {
  const { client, clock, log, rules } = deps;
  const services = new Reflector({
    client,
    clock,
    log,
    resource: { ...serviceResource, schema: keptServiceSchema },
    selection: { namespace: deps.namespace },
    onEvent: () => controller.mark(ALL),
    onState: () => controller.mark(ALL),
  });
  /** Uids of the FirewallDNATs that were made here. */
  const ours = new Set<string>();
  const said = new Map<string, string>();
  let claims = NO_CLAIMS;
  let present: ReadonlyMap<string, RuleObject> = new Map();

  const recompute = (known: ReadonlyStore<KeptService>): Outcome => {
    const all = known.list().filter(isStaying);
    claims = claimsOf(
      all.map(({ service }) => service),
      deps.options,
      memoized(deps.cnfs),
    );
    present = new Map(
      [...ours].flatMap((uid) => {
        const object = rules.get(uid)?.object;
        return object ? [[keyOf(object), object] as const] : [];
      }),
    );
    for (const key of new Set([...claims.wanted.keys(), ...present.keys()]))
      controller.mark(key, 0);
    tell(all);
    return 'done';
  };

  const bring = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    const wanted = claims.wanted.get(key);
    const there = present.get(key);
    const owner = there?.metadata.labels?.[SERVICE_UID_LABEL] ?? '';
    if (!wanted && claims.undecided.has(owner)) return 'done';
    try {
      const outcome = await bringRule(client, wanted, there, signal);
      if (outcome === 'taken')
        throw new NotOurs(
          `FirewallDNAT ${key} exists already and was not generated for this Service`,
        );
      // The watch tells of what was in the way.
      if (outcome === 'unchanged' || isOvertaken(outcome)) return 'done';
      log.info({ rule: `FirewallDNAT ${key}`, outcome }, 'FirewallDNAT of a Service updated');
      return 'done';
    } catch (error) {
      if (!wanted || !isRefusal(error)) throw error;
      warn(wanted.service, messageOf(error));
      return { failed: 'NotExposed', againInMs: jittered(REFUSED_RETRY_MS, 0.25) };
    }
  };

  const controller: Controller = createController({
    ...deps,
    name: 'services',
    sources: [services],
    world: () => (services.hasSynced() && deps.isComplete() ? services.store : undefined),
    markAll: () => controller.mark(ALL),
    reconcile: async (key, known, signal) => (key === ALL ? recompute(known) : bring(key, signal)),
    coalesceMs: COALESCE_MS,
    concurrency: CONCURRENCY,
    fieldsOf: (key) => ({ rule: key === ALL ? undefined : `FirewallDNAT ${key}` }),
  });

  const warn = ({ uid }: Service, message: string): void => {
    const object = services.store.byUid(uid);
    if (object) deps.record({ object, type: 'Warning', reason: 'NotExposed', message });
  };

  /** Each problem once, not with every look. */
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
      controller.mark(ALL);
    },
    mark: () => controller.mark(ALL),
    run: controller.run,
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
const memoized = ({ namespacesOf, acceptedBy }: Cnfs): Cnfs => ({
  namespacesOf: oncePerNames(namespacesOf),
  acceptedBy: oncePerNames(acceptedBy),
});

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
