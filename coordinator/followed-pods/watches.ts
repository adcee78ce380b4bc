/**
 * Watches of pods that somebody follows, one per selection however many follow it, and none when nobody does. The API server does
 * the selecting; of each pod only its addresses stay in memory.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { identityOf, objectSchema, type KubeObject } from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/reflector.ts';
import type { PodSelection } from '#shared/resources/kind.ts';
import { aborted } from '#shared/runtime/aborted.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { podResource } from '../cnf/workload.ts';

export type PodWatchesOptions = {
  client: KubeClient;
  /** What the addresses of a follower may have changed. Must return at once. */
  onChange: (follower: string) => void;
  clock: Clock;
  log: Logger;
};

type FollowedPod = KubeObject & { addresses: readonly string[] };
type Watch = {
  reflector: Reflector<FollowedPod>;
  followers: Set<string>;
  ended: Promise<void>;
  end: () => void;
};

const podSchema = objectSchema.extend({
  status: z
    .object({
      phase: z.string().optional(),
      podIP: z.string().optional(),
      podIPs: z.array(z.object({ ip: z.string() })).optional(),
    })
    .optional(),
});

export class PodWatches {
  readonly #options: PodWatchesOptions;
  readonly #stop = new AbortController();
  readonly #watches = new Map<string, Watch>();
  readonly #followed = new Map<string, string>();

  constructor(options: PodWatchesOptions) {
    this.#options = options;
  }

  /** Makes the follower follow this selection, and no other. */
  follow(follower: string, selection: PodSelection): void {
    const key = `${selection.namespace ?? ''}/${selection.labelSelector}`;
    if (this.#followed.get(follower) === key) return;
    this.unfollow(follower);
    this.#followed.set(follower, key);
    const watch = this.#watches.get(key) ?? this.#open(selection);
    this.#watches.set(key, watch);
    watch.followers.add(follower);
  }

  unfollow(follower: string): void {
    const key = this.#followed.get(follower) ?? '';
    const watch = this.#watches.get(key);
    this.#followed.delete(follower);
    watch?.followers.delete(follower);
    if (watch?.followers.size !== 0) return;
    watch.end();
    this.#watches.delete(key);
  }

  followers(): IterableIterator<string> {
    return this.#followed.keys();
  }

  /**
   * Of all pods that run and have addresses, in namespaces that may be looked into, each once, sorted. Undefined while the pods are not known,
   * or whether they may be looked at.
   */
  addressesFor(
    follower: string,
    isAccepted: (namespace: string) => boolean | undefined,
  ): string[] | undefined {
    const watch = this.#watches.get(this.#followed.get(follower) ?? '');
    if (!watch?.reflector.hasSynced()) return undefined;
    const pods = watch.reflector.store.list();
    const namespaces = [...new Set(pods.map(({ metadata }) => metadata.namespace))];
    const accepted = new Map(namespaces.map((name) => [name, isAccepted(name)]));
    if ([...accepted.values()].includes(undefined)) return undefined;
    const shown = pods.filter(({ metadata }) => accepted.get(metadata.namespace));
    return [...new Set(shown.flatMap(({ addresses }) => addresses))].sort();
  }

  /** Ends all watches when the signal aborts; resolves when they have ended. */
  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    this.#stop.abort();
    await Promise.all([...this.#watches.values()].map((watch) => watch.ended));
  }

  #open(selection: PodSelection): Watch {
    const { client, clock, log, onChange } = this.#options;
    const followers = new Set<string>();
    const tell = (): void => followers.forEach(onChange);
    const ending = new AbortController();
    const reflector = new Reflector({
      client,
      clock,
      log,
      resource: { ...podResource, schema: followedPodSchema },
      selection,
      onState: ({ listed }) => {
        if (listed) tell();
      },
      onEvent: ({ type, object, old }) => {
        if (type !== 'updated' || !isDeepStrictEqual(object.addresses, old.addresses)) tell();
      },
    });
    const ended = reflector.run(AbortSignal.any([this.#stop.signal, ending.signal]));
    return { reflector, followers, ended, end: () => ending.abort() };
  }
}

/** A pod that waits or has ended has no address of its own, whatever its status still says. */
const followedPodSchema = podSchema.transform(({ status, ...pod }): FollowedPod => {
  const { phase, podIP, podIPs } = status ?? {};
  const addresses = podIPs?.map(({ ip }) => ip) ?? (podIP === undefined ? [] : [podIP]);
  return { ...identityOf(pod), addresses: phase === 'Running' ? addresses : [] };
});
