/**
 * Watches of pods that rules follow, one per selection however many follow it, and none when none
 * does. The API server does the selecting; of each pod only its addresses stay in memory.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import { Index } from '#shared/kube/informer/key-index.ts';
import { identityOf, objectSchema, type KubeObject } from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import type { PodSelection } from '#shared/resources/kind.ts';
import { aborted } from '#shared/runtime/aborted.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { addressedStatusSchema, addressesIn } from '../../../sources/pod-addresses.ts';
import { podResource } from '../../../sources/workload.ts';

export type PodWatchesOptions = {
  client: KubeClient;
  /** What the addresses of a follower may have changed. Must return at once. */
  onChange: (follower: string) => void;
  clock: Clock;
  log: Logger;
};

type Followed = KubeObject & { addresses: readonly string[] };
type Watch = { reflector: Reflector<Followed>; ended: Promise<void>; end: () => void };

/** Selections of one tenant. Each is a watch on the API server, with its pods in memory. */
export const MAX_SELECTIONS = 32;

export class PodWatches {
  readonly #options: PodWatchesOptions;
  readonly #stop = new AbortController();
  /** By selection. */
  readonly #watches = new Map<string, Watch>();
  readonly #followed = new Map<string, { key: string; tenant: string }>();
  /** Followers, by their selection, and by their tenant with it. */
  readonly #followers = new Index();
  /** Selections of a tenant, with the tenant before them. */
  readonly #selections = new Index();
  /** Followers without a selection, by the tenant that has too many. */
  readonly #refused = new Index();

  constructor(options: PodWatchesOptions) {
    this.#options = options;
  }

  /**
   * Makes the follower follow this selection, and no other. False when its tenant has too many
   * selections: then it follows none, and is told by `onChange` when there is room.
   */
  follow(follower: string, selection: PodSelection, tenant: string): boolean {
    const key = `${selection.namespace ?? ''}/${selection.labelSelector}`;
    if (this.#followed.get(follower)?.key === key) return true;
    this.unfollow(follower);
    const own = `${tenant} ${key}`;
    const selections = this.#selections.ids(tenant);
    if (!selections.has(own) && selections.size >= MAX_SELECTIONS) {
      this.#refused.set(follower, [tenant]);
      return false;
    }
    this.#selections.set(own, [tenant]);
    this.#followers.set(follower, [key, own]);
    this.#followed.set(follower, { key, tenant });
    if (!this.#watches.has(key)) this.#watches.set(key, this.#open(key, selection));
    return true;
  }

  unfollow(follower: string): void {
    this.#refused.set(follower, []);
    const followed = this.#followed.get(follower);
    if (!followed) return;
    const { key, tenant } = followed;
    const own = `${tenant} ${key}`;
    this.#followed.delete(follower);
    this.#followers.set(follower, []);
    if (this.#followers.ids(own).size === 0) {
      this.#selections.set(own, []);
      this.#refused.ids(tenant).forEach(this.#options.onChange);
    }
    if (this.#followers.ids(key).size > 0) return;
    this.#watches.get(key)?.end();
    this.#watches.delete(key);
  }

  followers(): string[] {
    return [...this.#followed.keys()];
  }

  /**
   * Those of all pods that run and have addresses, in namespaces that may be looked into, each
   * once, sorted. Undefined while the pods are not known, or whether they may be looked at.
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

  #open(key: string, selection: PodSelection): Watch {
    const { client, clock, log, onChange } = this.#options;
    const tell = (): void => this.#followers.ids(key).forEach(onChange);
    const ending = new AbortController();
    const reflector = new Reflector({
      client,
      clock,
      log,
      resource: followedPods,
      selection,
      onState: ({ listed }) => {
        if (listed) tell();
      },
      onEvent: ({ type, object, old }) => {
        if (type !== 'updated' || !isDeepStrictEqual(object.addresses, old.addresses)) tell();
      },
    });
    const ended = reflector.run(AbortSignal.any([this.#stop.signal, ending.signal]));
    return { reflector, ended, end: () => ending.abort() };
  }
}

/** A pod that waits or has ended has no address of its own, whatever its status still says. */
const followedPods = {
  ...podResource,
  schema: objectSchema
    .extend({ status: addressedStatusSchema.optional() })
    .transform(({ status, ...pod }): Followed => {
      const addresses = status?.phase === 'Running' ? addressesIn(status) : [];
      return { ...identityOf(pod), addresses };
    }),
};
