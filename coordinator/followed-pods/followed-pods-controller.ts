/**
 * Watches rules, and the pods that some of them follow; owns the annotation with the addresses of those pods, and writes it, so that agents
 * need not watch pods. Pods that are not known, because rights or an answer are missing, change nothing: what was written stays.
 */
import { checkSpec } from '#shared/compile/check.ts';
import type { KindDefinition, PodSelection } from '#shared/resources/kind.ts';
import { MAX_POD_ADDRESSES } from '#shared/resources/rules/sdewan-application.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import {
  createController,
  OVERTAKEN,
  type ControllerDeps,
  type Outcome,
} from '#shared/kube/controller.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { isOvertaken, keep, type Kept } from '#shared/kube/owned.ts';
import { ACCEPTS_ANNOTATION, POD_ADDRESSES_ANNOTATION } from '#shared/names.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import type { Rules, RuleVersion } from '../rules/rules.ts';
import { Consents, type Accepts } from './consents.ts';
import { MAX_SELECTIONS, PodWatches } from './watches.ts';

export type FollowedPodsDeps = ControllerDeps & {
  client: KubeClient;
  kinds: readonly KindDefinition[];
  /** The only one to look after; undefined: all. */
  namespace: string | undefined;
  rules: Pick<Rules, 'get' | 'learn' | 'uids'>;
  /** Whether rules select pods of any namespace, as ICN's controller did. */
  withoutConsent: boolean;
  record: (event: RecordedEvent) => void;
};

export type FollowedPodsController = {
  /** A rule came, went or changed. */
  onRule: (uid: string) => void;
  run: (signal: AbortSignal) => Promise<void>;
};

/** A roll-out changes many pods one after the other; each write makes agents reload. */
const COALESCE_MS = 250;
const CONCURRENCY = 4;

export const createFollowedPodsController = (deps: FollowedPodsDeps): FollowedPodsController => {
  const { client, clock, log, rules } = deps;
  const following = new Map(
    deps.kinds.flatMap((kind) => (kind.pods ? [[kind.kind, kind] as const] : [])),
  );
  const watches = new PodWatches({
    client,
    clock,
    log,
    onChange: (uid) => controller.mark(uid),
  });
  const consents = new Consents({
    client,
    clock,
    log,
    onChange: () => {
      for (const uid of watches.followers()) controller.mark(uid);
    },
  });
  const accepts: Accepts = deps.withoutConsent ? () => true : consents.accepts;

  const onRule = (uid: string): void => {
    const kind = rules.get(uid)?.object.kind;
    // What is gone has no kind any more, and may have been followed.
    if (kind === undefined || following.has(kind)) controller.mark(uid, 0);
  };

  const selectionOf = ({ object, rule }: RuleVersion): PodSelection | undefined => {
    const kind = following.get(object.kind);
    const checked = kind && checkSpec(kind, object.spec);
    if (!kind?.pods || !checked || !('spec' in checked) || rule.deletedAt !== undefined)
      return undefined;
    const selection = kind.pods(checked.spec);
    return { ...selection, namespace: selection.namespace ?? deps.namespace };
  };

  const reconcile = async (
    uid: string,
    pods: PodWatches,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const version = rules.get(uid);
    const selection = version && selectionOf(version);
    if (!version || !selection) {
      pods.unfollow(uid);
      return 'done';
    }
    const { namespace: own } = version.rule;
    if (!pods.follow(uid, selection, own)) {
      deps.record(tooMany(version));
      return forgetAddresses(version, signal);
    }
    const addresses = pods.addressesFor(uid, (namespace) => accepts(namespace, own));
    if (addresses === undefined) return 'done';
    if (selection.namespace !== undefined && accepts(selection.namespace, own) === false)
      deps.record(notAccepted(version, selection.namespace));
    // One more than can be applied says that there are too many.
    const value = addresses.slice(0, MAX_POD_ADDRESSES + 1).join(',');
    const { outcome, object } = await annotate(version, value, signal);
    if (isOvertaken(outcome)) return OVERTAKEN;
    if (outcome === 'unchanged' || !object) return 'done';
    rules.learn(object);
    const { kind, namespace, name } = version.rule;
    log.info(
      { rule: `${kind} ${namespace}/${name}`, addresses: value },
      'pod addresses of a rule updated',
    );
    return 'done';
  };

  /** Those of a selection that is not followed any more: without them the rule says that it waits for pods. */
  const forgetAddresses = async (
    { resource, object }: RuleVersion,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const { annotations, namespace, name, uid, resourceVersion } = object.metadata;
    if (annotations?.[POD_ADDRESSES_ANNOTATION] === undefined) return 'done';
    const metadata = { uid, resourceVersion, annotations: { [POD_ADDRESSES_ANNOTATION]: null } };
    const patch = { type: 'merge', body: { metadata } } as const;
    rules.learn(await client.patch(resource, { namespace, name }, { patch, signal }));
    return 'done';
  };

  const annotate = (
    { resource, object }: RuleVersion,
    value: string,
    signal: AbortSignal,
  ): Promise<Kept<RuleObject>> => {
    const { namespace, name } = object.metadata;
    const metadata = { namespace, name, annotations: { [POD_ADDRESSES_ANNOTATION]: value } };
    return keep({ client, resource, signal }, { metadata, fields: {} }, object);
  };

  const controller = createController({
    ...deps,
    name: 'followed-pods',
    sources: deps.withoutConsent ? [watches] : [watches, consents],
    world: () => watches,
    markAll: () => {
      for (const uid of [...watches.followers(), ...rules.uids()]) onRule(uid);
    },
    reconcile,
    fieldsOf: (uid) => ({ uid }),
    coalesceMs: COALESCE_MS,
    concurrency: CONCURRENCY,
  });

  return {
    onRule,
    run: controller.run,
  };
};

/** The same whether or not there is such a namespace, and whatever is in it. */
const notAccepted = ({ object, rule }: RuleVersion, namespace: string): RecordedEvent => ({
  object,
  type: 'Warning',
  reason: 'NotAccepted',
  message: `spec.appNamespace: namespace ${namespace} does not let rules of namespace ${rule.namespace} select its pods: it needs annotation ${ACCEPTS_ANNOTATION}: ${rule.namespace}`,
  once: true,
});

const tooMany = ({ object, rule }: RuleVersion): RecordedEvent => ({
  object,
  type: 'Warning',
  reason: 'TooManySelections',
  message: `spec.podSelector: rules of namespace ${rule.namespace} select pods in ${MAX_SELECTIONS} ways already; give this rule the same selector as another one, or delete one`,
  once: true,
});
