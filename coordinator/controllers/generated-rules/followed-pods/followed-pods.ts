/**
 * Watches rules, the pods that some of them follow, and namespaces; owns the annotation with the
 * addresses of those pods, and writes it, so that agents need not watch pods. Pods that are not
 * known, because rights or an answer are missing, change nothing: what was written stays.
 */
import { checkSpec } from '#shared/compile/check.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { ACCEPTS_ANNOTATION, POD_ADDRESSES_ANNOTATION } from '#shared/names.ts';
import type { PodSelection } from '#shared/resources/kind.ts';
import { MAX_POD_ADDRESSES } from '#shared/resources/rules/sdewan-application.ts';
import type { RuleVersion } from '../../../sources/rules.ts';
import { createGenerator, type Generator, type GeneratorDeps } from '../generator.ts';
import { acceptingNamespaces } from './namespaces.ts';
import { MAX_SELECTIONS, PodWatches } from './watches.ts';

export type FollowedPodsDeps = GeneratorDeps & {
  /** Whether rules select pods of any namespace, as ICN's controller did. */
  withoutConsent: boolean;
};

/** A roll-out changes many pods one after the other; each write makes agents reload. */
const COALESCE_MS = 250;

export const createFollowedPods = (deps: FollowedPodsDeps): Generator => {
  const { client, clock, log, rules, record, withoutConsent } = deps;
  const following = new Map(
    deps.kinds.flatMap((kind) => (kind.pods ? [[kind.kind, kind] as const] : [])),
  );
  const isFollowing = (uid: string): boolean => following.has(rules.get(uid)?.object.kind ?? '');
  const mark = (uid: string): void => generator.mark(uid, COALESCE_MS);
  const watches = new PodWatches({ client, clock, log, onChange: mark });
  const markFollowers = (): void => watches.followers().forEach(mark);
  const namespaces = new Reflector({
    client,
    clock,
    log,
    resource: acceptingNamespaces,
    onState: ({ listed }) => {
      if (listed) markFollowers();
    },
    onEvent: ({ type, object, old }) => {
      const now = type === 'deleted' ? [] : object.accepted;
      if (now.join() !== (old?.accepted ?? []).join()) markFollowers();
    },
  });

  /** Undefined: it is not known yet. */
  const accepts = (ofPods: string, ofRule: string): boolean | undefined => {
    if (withoutConsent || ofPods === ofRule) return true;
    if (!namespaces.hasSynced()) return undefined;
    return namespaces.store.byName('', ofPods)?.accepted.includes(ofRule) ?? false;
  };

  const selectionOf = ({ object, rule }: RuleVersion): PodSelection | undefined => {
    const kind = following.get(object.kind);
    const checked = kind && checkSpec(kind, object.spec);
    if (!kind?.pods || !checked || !('spec' in checked) || rule.deletedAt !== undefined)
      return undefined;
    const selection = kind.pods(checked.spec);
    return { ...selection, namespace: selection.namespace ?? deps.namespace };
  };

  const generator = createGenerator(deps, {
    name: 'followed-pods',
    sources: withoutConsent ? [watches] : [watches, namespaces],
    // A rule that follows pods is its own source.
    sourcesOf: ({ kind, metadata }) => (following.has(kind) ? [metadata.uid] : []),
    keys: () => [...watches.followers(), ...[...rules.uids()].filter(isFollowing)],
    groupOf: (uid) => rules.get(uid)?.object.metadata.namespace ?? '',
    isKnown: () => true,
    ask: (uid) => {
      const version = rules.get(uid);
      const selection = version && selectionOf(version);
      if (!version || !selection) {
        watches.unfollow(uid);
        return undefined;
      }
      const { resource, object } = version;
      const { namespace, name } = object.metadata;
      const isFollowed = watches.follow(uid, selection, namespace);
      const addresses = watches.addressesFor(uid, (of) => accepts(of, namespace));
      if (isFollowed && addresses === undefined) return undefined;
      const named = selection.namespace;
      if (!isFollowed) record(tooMany(version));
      else if (named !== undefined && accepts(named, namespace) === false)
        record(notAccepted(version, named));
      // One more than can be applied says that there are too many. Without any the rule says that
      // it waits for pods.
      const value = addresses?.slice(0, MAX_POD_ADDRESSES + 1).join(',');
      const metadata = { namespace, name, annotations: { [POD_ADDRESSES_ANNOTATION]: value } };
      return { changes: [{ resource, wanted: { metadata, fields: {} }, present: object }] };
    },
  });
  return generator;
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
