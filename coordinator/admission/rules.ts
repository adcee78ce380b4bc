/**
 * The webhooks for rule CRs: validation of what people write, and the finalizer on what they
 * create. Objects that are being deleted, and users who have to clean them up, are never blocked;
 * the webhooks' matchConditions do the same.
 */
import { referencesOf } from '#shared/compile/check.ts';
import { isRule, type KindDefinition } from '#shared/resources/kind.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { AGENTS_FINALIZER, PURPOSE_LABEL, REFERENCES_ANNOTATION } from '#shared/names.ts';
import { isDeepStrictEqual } from 'node:util';
import type { CheckContext, FactName, Facts, RuleChange } from './checks/check.ts';
import type { ListedCheck } from './checks/list.ts';
import { findRefusals, mayDeny, referenceModes, verdictOf, type ReferenceMode } from './decide.ts';
import {
  allowed,
  type AdmissionRequest,
  type ReviewedObject,
  type ReviewVerdict,
} from './review.ts';
import { gatherFacts, type LiveFacts, type FactSource } from './fact-source.ts';

export type RuleWebhookDeps = {
  /** Those that are no rules are checked by themselves only. */
  kinds: readonly KindDefinition[];
  checks: readonly ListedCheck[];
  bucketTypes: readonly string[];
  referenceMode: ReferenceMode;
  /** Undefined until the caches are complete. */
  cached: () => FactSource | undefined;
  /** Asked before a denial alone: else each author could have all rules listed for a warning. */
  live: LiveFacts;
};

export type RuleWebhook = (
  request: AdmissionRequest,
  signal: AbortSignal,
) => Promise<ReviewVerdict>;

export const createRuleWebhook = (deps: RuleWebhookDeps): RuleWebhook => {
  const context: CheckContext = { kinds: deps.kinds, bucketTypes: deps.bucketTypes };

  return async (request, signal) => {
    const change = changeOf(request, deps.kinds);
    if (change === undefined) return allowed;
    const checks = deps.checks.filter(
      (check) =>
        check.on.includes(change.operation) &&
        (isRule(change.kind) || !restsOnFacts(check)) &&
        !(request.dryRun && check.needs.includes('filters')),
    );
    const how = { mode: modeOf(change, deps.referenceMode), dryRun: request.dryRun ?? false };
    const isAskedLive = (check: ListedCheck): boolean => restsOnFacts(check) && mayDeny(check, how);
    const kinds = kindsInQuestion(change, deps.kinds);
    const factsFor = (
      some: readonly ListedCheck[],
      source: FactSource | LiveFacts,
      known?: Facts,
    ): Promise<Facts> => {
      const needs = new Set(some.flatMap((check) => check.needs));
      return gatherFacts(source, change, needs, { kinds, known, signal });
    };
    const cached = deps.cached();
    const first = cached
      ? checks
      : checks.filter((check) => !restsOnFacts(check) || isAskedLive(check));
    const facts = await factsFor(first, cached ?? deps.live);
    const found = findRefusals(first, change, facts, context);
    const doubtful = found.map(({ check }) => check).filter(isAskedLive);
    if (cached === undefined || doubtful.length === 0) return verdictOf(found, how);
    const now = await factsFor(doubtful, deps.live, facts);
    const confirmed = [
      ...found.filter(({ check }) => !isAskedLive(check)),
      ...findRefusals(doubtful, change, now, context),
    ];
    return verdictOf(confirmed, how);
  };
};

/**
 * For kinds that agents apply; no agent confirms the others. On an update it is added again: the
 * API server asks about rules that lose it by a user without the right to release rules.
 */
export const addAgentsFinalizer = (
  request: AdmissionRequest,
  kinds: readonly KindDefinition[],
): ReviewVerdict => {
  const kind = kindOfRequest(request, kinds);
  const finalizers = request.object?.metadata.finalizers ?? [];
  if (!kind?.uci || finalizers.includes(AGENTS_FINALIZER)) return allowed;
  if (request.operation !== 'CREATE' && !hadFinalizer(request)) return allowed;
  const value = [...finalizers, AGENTS_FINALIZER];
  return {
    allowed: true,
    warnings: [],
    patch: [{ op: 'add', path: '/metadata/finalizers', value }],
  };
};

/** Before an update of what is not being deleted. */
const hadFinalizer = ({ object, oldObject, operation }: AdmissionRequest): boolean =>
  operation === 'UPDATE' &&
  object?.metadata.deletionTimestamp === undefined &&
  (oldObject?.metadata.finalizers?.includes(AGENTS_FINALIZER) ?? false);

const restsOnFacts = ({ needs }: { needs: readonly FactName[] }): boolean => needs.length > 0;

/** Undefined when there is nothing to check. */
const changeOf = (
  request: AdmissionRequest,
  kinds: readonly KindDefinition[],
): RuleChange | undefined => {
  const { operation, namespace, userInfo } = request;
  const kind = kindOfRequest(request, kinds);
  const before = ruleOf(request.oldObject, namespace);
  const after = operation === 'DELETE' ? undefined : ruleOf(request.object, namespace);
  const judged = after ?? before;
  if (kind === undefined || judged === undefined) return undefined;
  if (judged.metadata.deletionTimestamp !== undefined) return undefined;
  return {
    operation,
    kind,
    namespace,
    // A collection is deleted object by object, and the request then has no name.
    name: judged.metadata.name,
    purpose: judged.metadata.labels?.[PURPOSE_LABEL] ?? '',
    before,
    after,
    specChanged: operation === 'CREATE' || !isDeepStrictEqual(before?.spec, after?.spec),
    user: { username: userInfo.username, groups: userInfo.groups ?? [] },
  };
};

const kindOfRequest = (
  { resource }: AdmissionRequest,
  kinds: readonly KindDefinition[],
): KindDefinition | undefined =>
  kinds.find(({ group, plural }) => group === resource.group && plural === resource.resource);

/** What the API server has not filled in yet on a create has no bearing on any check. */
const ruleOf = (
  object: ReviewedObject | null | undefined,
  namespace: string,
): RuleObject | undefined => {
  if (!object) return undefined;
  const { metadata } = object;
  const { deletionTimestamp, labels, annotations, finalizers } = metadata;
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name: metadata.name,
      namespace,
      uid: metadata.uid ?? '',
      resourceVersion: metadata.resourceVersion ?? '',
      creationTimestamp: metadata.creationTimestamp ?? '',
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
    },
    spec: object['spec'],
  };
};

/** A rule of any kind may use one that is deleted; a write concerns what the rule refers to. */
const kindsInQuestion = (
  { operation, kind, after }: RuleChange,
  kinds: readonly KindDefinition[],
): readonly KindDefinition[] => {
  if (operation === 'DELETE' || after === undefined) return kinds.filter((one) => one.references);
  const referred = new Set(referencesOf(after).map((reference) => reference.kind));
  return kinds.filter(
    (one) =>
      referred.has(one.kind) ||
      (one.kind === kind.kind && one.networks !== undefined) ||
      (one.uci !== undefined &&
        one.uci.package === kind.uci?.package &&
        (operation === 'CREATE' || (kind.claims !== undefined && one.claims !== undefined))),
  );
};

/** One CR can have its own mode, e.g. one that refers to a zone of an administrator. */
const modeOf = ({ before, after }: RuleChange, mode: ReferenceMode): ReferenceMode => {
  const own = (after ?? before)?.metadata.annotations?.[REFERENCES_ANNOTATION];
  return referenceModes.find((known) => known === own) ?? mode;
};
