/**
 * Watches Services and CNF pods; owns the FirewallDNATs that are made for Services, one per port and address family of each that asks to be exposed; writes them,
 * and Events on Services. What all Services ask for is looked at together: a port can be given to one of them only.
 */
import type { Outcome } from '#shared/kube/controller.ts';
import {
  identityOf,
  isManaged,
  objectSchema,
  type KubeObject,
  type RuleObject,
} from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import {
  BUCKET_TYPE_LABEL,
  PURPOSE_LABEL,
  SERVICE_BUCKET,
  SERVICE_NAMESPACE_LABEL,
  SERVICE_NAME_LABEL,
  SERVICE_UID_LABEL,
} from '#shared/names.ts';
import { firewallDnat } from '#shared/resources/rules/firewall-dnat.ts';
import { jittered } from '#shared/runtime/backoff.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { oncePerNames } from '#shared/util/memo.ts';
import { createGenerator, type Generator, type GeneratorDeps } from '../generator.ts';
import { generatedRule, isStaying, NameTakenError, type RuleChange } from '../write.ts';
import { claimsOf, type Claims, type Cnfs, type ExposeOptions, type WantedRule } from './claims.ts';
import { serviceOf, serviceResource, type Service } from './service.ts';

export type ServicesDeps = GeneratorDeps & {
  options: ExposeOptions;
  cnfs: Cnfs;
  /** Whether rules and pods are known. */
  isComplete: () => boolean;
};

type KeptService = KubeObject & { service: Service };

/** After a refusal by the API server: a quota may have been raised, a policy changed. */
const REFUSED_RETRY_MS = 60_000;

/** The only key. */
const ALL = '';

/** `onCnfs`: CNFs came or went. */
export const createServices = (deps: ServicesDeps): Generator & { onCnfs: () => void } => {
  const { client, clock, log, record } = deps;
  const mark = (): void => generator.mark(ALL);
  const services = new Reflector({
    client,
    clock,
    log,
    resource: { ...serviceResource, schema: keptServiceSchema },
    selection: { namespace: deps.namespace },
    onEvent: mark,
    onState: mark,
  });
  /** By uid of the Service. */
  let told: ReadonlyMap<string, string> = new Map();

  /** Each problem once, not with every look. */
  const tellNotes = (all: readonly KeptService[], { notes }: Claims): void => {
    const before = told;
    told = new Map(all.map(({ metadata: { uid } }) => [uid, JSON.stringify(notes.get(uid) ?? [])]));
    for (const object of all) {
      const { uid } = object.metadata;
      if (told.get(uid) === (before.get(uid) ?? '[]')) continue;
      for (const note of notes.get(uid) ?? []) record({ object, type: 'Warning', ...note });
    }
  };

  const generator = createGenerator(deps, {
    name: 'services',
    sources: [services],
    sourcesOf: (rule) => (isServiceRule(rule) ? [ALL] : []),
    keys: () => [ALL],
    isKnown: () => services.hasSynced() && deps.isComplete(),
    ask: (_all, present) => {
      const staying = services.store.list().filter(isStaying);
      const asking = staying.map(({ service }) => service);
      const claims = claimsOf(asking, deps.options, memoized(deps.cnfs));
      tellNotes(staying, claims);
      return { changes: changesFor(claims, present) };
    },
    whose: (there) => (isServiceRule(there) ? 'ours' : 'others'),
    tell: (_all, _asked, { refusals }): Outcome => {
      for (const { change, error } of refusals) {
        const uid = change.wanted?.metadata.labels?.[SERVICE_UID_LABEL] ?? '';
        const object = services.store.byUid(uid);
        const why = error instanceof NameTakenError ? NOT_GENERATED : '';
        const message = `${messageOf(error)}${why}`;
        if (object) record({ object, type: 'Warning', reason: 'NotExposed', message });
      }
      if (refusals.length === 0) return 'done';
      return { failed: 'NotExposed', againInMs: jittered(REFUSED_RETRY_MS, 0.25) };
    },
  });
  return { ...generator, onCnfs: mark };
};

const NOT_GENERATED = ' and was not generated for this Service';

/** Whether it was made here, for whichever Service. */
const isServiceRule = (rule: RuleObject): boolean =>
  rule.kind === firewallDnat.kind &&
  rule.metadata.labels?.[BUCKET_TYPE_LABEL] === SERVICE_BUCKET &&
  rule.metadata.labels[SERVICE_UID_LABEL] !== undefined &&
  isManaged(rule);

const changesFor = (claims: Claims, present: readonly RuleObject[]): RuleChange[] => {
  const there = new Map(present.map((rule) => [keyOf(rule.metadata), rule]));
  const changes = [...claims.wanted].flatMap(([key, wanted]): RuleChange[] => {
    const rule = there.get(key);
    there.delete(key);
    // The purpose of a rule cannot change: agents of the other CNF would never see that it is gone.
    const isOfAnotherCnf = rule && rule.metadata.labels?.[PURPOSE_LABEL] !== wanted.purpose;
    return [
      isOfAnotherCnf
        ? removalOf(rule)
        : { resource: firewallDnat, wanted: ruleFor(wanted), present: rule },
    ];
  });
  const rest = [...there.values()].filter(
    ({ metadata }) => !claims.undecided.has(metadata.labels?.[SERVICE_UID_LABEL] ?? ''),
  );
  // Its name is free only when all agents have confirmed.
  return [...changes, ...rest.map(removalOf)].filter(
    ({ present }) => !present || isStaying(present),
  );
};

const removalOf = (present: RuleObject) => ({ resource: firewallDnat, wanted: undefined, present });

const keyOf = ({ namespace, name }: { namespace: string; name: string }): string =>
  `${namespace}/${name}`;

const ruleFor = ({ service, ...rule }: WantedRule) =>
  generatedRule({
    ...rule,
    bucketType: SERVICE_BUCKET,
    labels: {
      [SERVICE_NAMESPACE_LABEL]: service.namespace,
      [SERVICE_NAME_LABEL]: service.name,
      [SERVICE_UID_LABEL]: service.uid,
    },
  });

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
