/**
 * What a watch knows of its objects: by uid, by namespace/name, and by further keys. Invariant: an
 * object leaves only when the server said that it is gone, or when a complete list does not have
 * it; never because of an error.
 */
import { Index } from './key-index.ts';
import type { KubeObject } from '../objects.ts';

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
  /** Those that have the key in the index of that name; in no particular order. */
  by: (index: string, key: string) => T[];
};

/** Keys of an object, by the name of an index. */
export type Indices<T> = Readonly<Record<string, (object: T) => readonly string[]>>;

export class Store<T extends KubeObject> implements ReadonlyStore<T> {
  readonly #byUid = new Map<string, T>();
  readonly #uidByKey = new Map<string, string>();
  readonly #indices: ReadonlyMap<string, { index: Index; keysOf: Indices<T>[string] }>;

  readonly #isPartial: (object: T) => boolean;

  /** `isPartial`: it can come again at the version at which it is known, and then has more. */
  constructor(indices: Indices<T> = {}, isPartial: (object: T) => boolean = () => false) {
    this.#isPartial = isPartial;
    const named = Object.entries(indices);
    this.#indices = new Map(named.map(([name, keysOf]) => [name, { index: new Index(), keysOf }]));
  }

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

  by(name: string, key: string): T[] {
    const indexed = this.#indices.get(name);
    if (!indexed) throw new Error(`no index ${name}`);
    return [...indexed.index.ids(key)].flatMap((uid) => this.#byUid.get(uid) ?? []);
  }

  /** Nothing for what is already known; two events when another object has taken the name. */
  put(object: T): StoreEvent<T>[] {
    const { uid, resourceVersion } = object.metadata;
    const old = this.#byUid.get(uid);
    if (old?.metadata.resourceVersion === resourceVersion && !this.#isPartial(old)) return [];
    const key = keyOf(object);
    const predecessor = this.#uidByKey.get(key);
    const events: StoreEvent<T>[] =
      predecessor !== undefined && predecessor !== uid ? this.remove(predecessor) : [];
    this.#byUid.set(uid, object);
    this.#uidByKey.set(key, uid);
    for (const { index, keysOf } of this.#indices.values()) index.set(uid, keysOf(object));
    events.push(old ? { type: 'updated', object, old } : { type: 'added', object });
    return events;
  }

  /** `last` is the object as the server last had it, e.g. without its finalizers. */
  remove(uid: string, last?: T): StoreEvent<T>[] {
    const known = this.#byUid.get(uid);
    if (!known) return [];
    this.#byUid.delete(uid);
    for (const { index } of this.#indices.values()) index.set(uid, []);
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
