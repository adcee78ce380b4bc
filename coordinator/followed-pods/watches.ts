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
import { addressedStatusSchema, addressesIn } from '../cnf/pod-addresses.ts';
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
  status: addressedStatusSchema.optional(),
});

/** Of one tenant. Each is a watch on the API server, and has all pods in memory that it selects. */
export const MAX_SELECTIONS = 32;

/** What the followers of one tenant follow. */
type Tenant = { followers: Map<string, Set<string>>; refused: Set<string> };

export class PodWatches {
  readonly #options: PodWatchesOptions;
  readonly #stop = new AbortController();
  readonly #watches = new Map<string, Watch>();
  readonly #followed = new Map<string, { key: string; tenant: string }>();
  readonly #tenants = new Map<string, Tenant>();

  constructor(options: PodWatchesOptions) {
    this.#options = options;
  }

  /**
   * Makes the follower follow this selection, and no other. False when its tenant has too many selections: then it follows none, and is told by
   * `onChange` when there is room.
   */
  follow(follower: string, selection: PodSelection, tenant: string): boolean {
    const key = `${selection.namespace ?? ''}/${selection.labelSelector}`;
    if (this.#followed.get(follower)?.key === key) return true;
    this.unfollow(follower);
    const { followers, refused } = this.#tenantOf(tenant);
    if (!followers.has(key) && followers.size >= MAX_SELECTIONS) {
      refused.add(follower);
      return false;
    }
    const alike = followers.get(key) ?? new Set();
    followers.set(key, alike.add(follower));
    this.#followed.set(follower, { key, tenant });
    const watch = this.#watches.get(key) ?? this.#open(selection);
    this.#watches.set(key, watch);
    watch.followers.add(follower);
    return true;
  }

  unfollow(follower: string): void {
    for (const { refused } of this.#tenants.values()) refused.delete(follower);
    const { key = '', tenant = '' } = this.#followed.get(follower) ?? {};
    this.#makeRoom(follower, key, tenant);
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
    const watch = this.#watches.get(this.#followed.get(follower)?.key ?? '');
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

  #tenantOf(name: string): Tenant {
    const tenant = this.#tenants.get(name) ?? { followers: new Map(), refused: new Set() };
    this.#tenants.set(name, tenant);
    return tenant;
  }

  #makeRoom(follower: string, key: string, name: string): void {
    const tenant = this.#tenants.get(name);
    const alike = tenant?.followers.get(key);
    alike?.delete(follower);
    if (tenant === undefined || alike?.size !== 0) return;
    tenant.followers.delete(key);
    tenant.refused.forEach(this.#options.onChange);
    if (tenant.followers.size === 0 && tenant.refused.size === 0) this.#tenants.delete(name);
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
  const addresses = status?.phase === 'Running' ? addressesIn(status) : [];
  return { ...identityOf(pod), addresses };
});
