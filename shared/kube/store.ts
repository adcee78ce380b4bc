/**
 * What a watch knows of its objects, by uid and by namespace/name. Invariant: an object leaves only when the server said
 * that it is gone, or when a complete list does not have it; never because of an error.
 */
import type { KubeObject } from './objects.ts';

export type StoreEvent<T> =
  | { type: 'added'; object: T; old?: undefined }
  | { type: 'updated'; object: T; old: T }
  /** `object` is the last that was known of it. */
  | { type: 'deleted'; object: T; old?: undefined };

export type ReadonlyStore<T> = {
  readonly size: number;
  /** In no particular order. */
  list: () => T[];
  byUid: (uid: string) => T | undefined;
  /** Namespace '' for cluster-scoped objects. */
  byName: (namespace: string, name: string) => T | undefined;
};

export class Store<T extends KubeObject> implements ReadonlyStore<T> {
  readonly #byUid = new Map<string, T>();
  readonly #uidByKey = new Map<string, string>();

  get size(): number {
    return this.#byUid.size;
  }

  list(): T[] {
    return [...this.#byUid.values()];
  }

  byUid(uid: string): T | undefined {
    return this.#byUid.get(uid);
  }

  byName(namespace: string, name: string): T | undefined {
    const uid = this.#uidByKey.get(`${namespace}/${name}`);
    return uid === undefined ? undefined : this.#byUid.get(uid);
  }

  /** Nothing for what is already known; two events when another object has taken the name. */
  put(object: T): StoreEvent<T>[] {
    const { uid, resourceVersion } = object.metadata;
    const old = this.#byUid.get(uid);
    if (old?.metadata.resourceVersion === resourceVersion) return [];
    const key = keyOf(object);
    const predecessor = this.#uidByKey.get(key);
    const events: StoreEvent<T>[] =
      predecessor !== undefined && predecessor !== uid ? this.remove(predecessor) : [];
    this.#byUid.set(uid, object);
    this.#uidByKey.set(key, uid);
    events.push(old ? { type: 'updated', object, old } : { type: 'added', object });
    return events;
  }

  /** `last` is the object as the server last had it, e.g. without its finalizers. */
  remove(uid: string, last?: T): StoreEvent<T>[] {
    const known = this.#byUid.get(uid);
    if (!known) return [];
    this.#byUid.delete(uid);
    const key = keyOf(known);
    if (this.#uidByKey.get(key) === uid) this.#uidByKey.delete(key);
    return [{ type: 'deleted', object: last ?? known }];
  }

  /** Makes the store what a complete list says; the events that lead there, removals first. */
  replace(objects: readonly T[]): StoreEvent<T>[] {
    const listed = new Set(objects.map(({ metadata }) => metadata.uid));
    const gone = [...this.#byUid.keys()].filter((uid) => !listed.has(uid));
    return [
      ...gone.flatMap((uid) => this.remove(uid)),
      ...objects.flatMap((object) => this.put(object)),
    ];
  }
}

const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;
