/**
 * Writes to each CR that follows pods which addresses they have, so that agents need not watch pods. Pods that are not known, for
 * want of rights or of an answer, change nothing: what was written stays.
 */
import { checkSpec } from '#shared/compile/check.ts';
import type { KindDefinition, PodSelection } from '#shared/resources/kind.ts';
import { MAX_POD_ADDRESSES } from '#shared/resources/rules/sdewan-application.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { isConflict, isNotFound } from '#shared/kube/errors.ts';
import { POD_ADDRESSES_ANNOTATION } from '#shared/names.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { WorkQueue } from '#shared/runtime/work-queue.ts';
import type { Rules, RuleVersion } from '../rules/rules.ts';
import { PodWatches } from './watches.ts';

export type PodLoopDeps = {
  client: KubeClient;
  kinds: readonly KindDefinition[];
  /** The only one to look after; undefined: all. */
  namespace: string | undefined;
  rules: Pick<Rules, 'get' | 'learn'>;
  clock: Clock;
  log: Logger;
};

export type PodLoop = {
  /** A rule came, went or changed. */
  onRule: (uid: string) => void;
  run: (signal: AbortSignal) => Promise<void>;
};

/** A roll-out changes many pods one after the other; each write makes agents reload. */
const COALESCE_MS = 250;
const CONCURRENCY = 4;

export const createPodLoop = (deps: PodLoopDeps): PodLoop => {
  const { client, clock, log, rules } = deps;
  const following = new Map(
    deps.kinds.flatMap((kind) => (kind.pods ? [[kind.kind, kind] as const] : [])),
  );
  const watches = new PodWatches({
    client,
    clock,
    log,
    onChange: (uid) => queue.add(uid, COALESCE_MS),
  });

  const selectionOf = ({ object, rule }: RuleVersion): PodSelection | undefined => {
    const kind = following.get(object.kind);
    const checked = kind && checkSpec(kind, object.spec);
    if (!kind?.pods || !checked || !('spec' in checked) || rule.deletedAt !== undefined)
      return undefined;
    const selection = kind.pods(checked.spec);
    return { ...selection, namespace: selection.namespace ?? deps.namespace };
  };

  const work = async (uid: string, signal: AbortSignal): Promise<'retry' | undefined> => {
    const version = rules.get(uid);
    const selection = version && selectionOf(version);
    if (!version || !selection) {
      watches.unfollow(uid);
      return undefined;
    }
    watches.follow(uid, selection, signal);
    const addresses = watches.addressesFor(uid);
    if (addresses === undefined) return undefined;
    // One more than can be applied says that there are too many.
    const value = addresses.slice(0, MAX_POD_ADDRESSES + 1).join(',');
    if (version.object.metadata.annotations?.[POD_ADDRESSES_ANNOTATION] === value) return undefined;
    return write(version, value, signal);
  };

  const write = async (
    { resource, object }: RuleVersion,
    value: string,
    signal: AbortSignal,
  ): Promise<'retry' | undefined> => {
    const { namespace, name, uid, resourceVersion } = object.metadata;
    const metadata = { uid, resourceVersion, annotations: { [POD_ADDRESSES_ANNOTATION]: value } };
    const patch = { type: 'merge', body: { metadata } } as const;
    try {
      rules.learn(await client.patch(resource, { namespace, name }, { patch, signal }));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (!isConflict(error)) throw error;
      return 'retry';
    }
    log.info({ rule: `${object.kind} ${namespace}/${name}`, addresses: value }, 'pods followed');
    return undefined;
  };

  const queue = new WorkQueue<string>({
    work,
    concurrency: CONCURRENCY,
    clock,
    onError: (uid, err, retryInMs) => log.warn({ uid, err, retryInMs }, 'pods not followed'),
  });

  return {
    onRule: (uid) => {
      const kind = rules.get(uid)?.object.kind;
      // What is gone has no kind any more, and may have been followed.
      if (kind === undefined || following.has(kind)) queue.add(uid);
    },
    run: async (signal) => {
      await queue.run(signal);
      await watches.ended();
    },
  };
};
