/**
 * Watches Services and CNF pods; owns the FirewallDNATs that are made for Services, one per port
 * and address family of each that asks to be exposed; writes them, and Events on Services. What all
 * Services ask for is looked at together: a port can be given to one of them only. Each rule is
 * then written by itself, by namespaces of Services in turns: thousands of one tenant hold up none
 * of another, and a removal waits for no creation.
 */
import { isDeepStrictEqual } from 'node:util';
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
import {
  claimsOf,
  keyOf,
  type Claims,
  type Cnfs,
  type ExposeOptions,
  type WantedRule,
} from './wanted-rules.ts';
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

/** The key of the look at all Services. Others are those of rules: none waits for the rest. */
const ALL = '';

/** `onCnfs`: CNFs came or went. */
export const createServices = (deps: ServicesDeps): Generator & { onCnfs: () => void } => {
  const { client, clock, leadership, log, record, rules } = deps;
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
  /** What all Services asked for at the last look, and its term: another may have led since. */
  let known: { claims: Claims; term: number | undefined } = { claims: NO_CLAIMS, term: undefined };
  /** What no Service asks for since then. */
  let gone: Claims['wanted'] = new Map();

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

  /** Removals first: a port of a Service that is gone is open until then. */
  const lookAtAll = (): void => {
    const term = leadership.term();
    const staying = services.store.list().filter(isStaying);
    const asking = staying.map(({ service }) => service);
    const claims = claimsOf(asking, deps.options, memoized(deps.cnfs));
    tellNotes(staying, claims);
    const before = known.term === term ? known.claims : NO_CLAIMS;
    known = { claims, term };
    gone = new Map([...before.wanted].filter(([key]) => !claims.wanted.has(key)));
    const there = [...rules.uids()].flatMap((uid) => rules.get(uid)?.object ?? []);
    for (const rule of there)
      if (isServiceRule(rule) && isUnwanted(rule, claims)) generator.mark(keyOf(rule.metadata), 0);
    for (const [key, wanted] of claims.wanted)
      if (!isSame(wanted, before.wanted.get(key))) generator.mark(key, 0);
  };

  const generator = createGenerator(deps, {
    name: 'services',
    sources: [services],
    sourcesOf: (rule) => (isServiceRule(rule) ? [keyOf(rule.metadata)] : []),
    keys: () => [ALL],
    groupOf: (key) => {
      const wanted = known.claims.wanted.get(key);
      if (wanted) return wanted.service.namespace;
      const [namespace] = key.split('/');
      return `${gone.get(key)?.service.namespace ?? namespace}/removal`;
    },
    isKnown: () => services.hasSynced() && deps.isComplete(),
    ask: (key, [present]) => {
      if (key === ALL) lookAtAll();
      // Until the first look of this term, which marks it again.
      else if (known.term === leadership.term())
        return { changes: changesFor(known.claims, key, present) };
      return undefined;
    },
    whose: (there) => (isServiceRule(there) ? 'ours' : 'others'),
    tell: (_rule, _asked, { refusals }): Outcome => {
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

const NO_CLAIMS: Claims = { wanted: new Map(), notes: new Map(), undecided: new Set() };

const NOT_GENERATED = ' and was not generated for this Service';

/** Whether it was made here, for whichever Service. */
const isServiceRule = (rule: RuleObject): boolean =>
  rule.kind === firewallDnat.kind &&
  rule.metadata.labels?.[BUCKET_TYPE_LABEL] === SERVICE_BUCKET &&
  rule.metadata.labels[SERVICE_UID_LABEL] !== undefined &&
  isManaged(rule);

const changesFor = (
  claims: Claims,
  key: string,
  present: RuleObject | undefined,
): readonly RuleChange[] => {
  // Its name is free only when all agents have confirmed.
  if (present && !isStaying(present)) return [];
  const wanted = claims.wanted.get(key);
  if (!wanted) return present && isUnwanted(present, claims) ? [removalOf(present)] : [];
  // The purpose of a rule cannot change: agents of the other CNF would never see that it is gone.
  const isOfAnotherCnf = present && present.metadata.labels?.[PURPOSE_LABEL] !== wanted.purpose;
  return [
    isOfAnotherCnf
      ? removalOf(present)
      : { resource: firewallDnat, wanted: ruleFor(wanted), present },
  ];
};

const isSame = (one: WantedRule, other: WantedRule | undefined): boolean =>
  one.purpose === other?.purpose &&
  one.service.uid === other.service.uid &&
  isDeepStrictEqual(one.spec, other.spec);

const isUnwanted = (rule: RuleObject, { wanted, undecided }: Claims): boolean =>
  isStaying(rule) &&
  !wanted.has(keyOf(rule.metadata)) &&
  !undecided.has(rule.metadata.labels?.[SERVICE_UID_LABEL] ?? '');

const removalOf = (present: RuleObject) => ({ resource: firewallDnat, wanted: undefined, present });

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
const memoized = ({ acceptedBy }: Cnfs): Cnfs => ({ acceptedBy: oncePerNames(acceptedBy) });

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
