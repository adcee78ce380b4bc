/**
 * Groups of objects by label selectors, kept by the changes alone: an event costs the selectors that ask for a label that the object has,
 * not all of them, and no look at other objects. Invariant: after each event the members are those that a search would find.
 */
import { Index } from './key-index.ts';
import type { KubeObject } from './objects.ts';
import { anchorsOf, labelKeys, selects, type LabelSelector } from './selector.ts';
import type { ReadonlyStore, StoreEvent } from './store.ts';

export type LabelSelection = {
  /** Undefined: of all. */
  namespace: string | undefined;
  selector: LabelSelector;
};

/** Key of selections that every object has to be compared with. */
const ANY = '';

export class Selections<T extends KubeObject> {
  readonly #store: ReadonlyStore<T>;
  readonly #selections = new Map<string, LabelSelection>();
  readonly #byLabel = new Index();
  /** Objects by the ids of the selections that select them. */
  readonly #members = new Index();

  /** `store` has to keep labels, and its events have to come here. */
  constructor(store: ReadonlyStore<T>) {
    this.#store = store;
  }

  /** From now on `id` is this selection, and no other. */
  follow(id: string, selection: LabelSelection): void {
    this.unfollow(id);
    this.#selections.set(id, selection);
    this.#byLabel.set(id, anchorsOf(selection.selector) ?? [ANY]);
    for (const object of this.#store.list())
      if (isIn(selection, object)) this.#setMember(object.metadata.uid, id);
  }

  unfollow(id: string): void {
    for (const uid of this.#members.ids(id))
      this.#members.set(
        uid,
        this.#members.keysOf(uid).filter((other) => other !== id),
      );
    this.#selections.delete(id);
    this.#byLabel.set(id, []);
  }

  members(id: string): T[] {
    return [...this.#members.ids(id)].flatMap((uid) => this.#store.byUid(uid) ?? []);
  }

  /** To be called with each event of the store. The ids of the selections with a member that came, went or changed. */
  onEvent({ type, object }: StoreEvent<T>): string[] {
    const { uid, labels } = object.metadata;
    const before = this.#members.keysOf(uid);
    const candidates = [ANY, ...labelKeys(labels)].flatMap((key) => [...this.#byLabel.ids(key)]);
    const now =
      type === 'deleted' ? [] : [...new Set(candidates)].filter((id) => this.#isIn(id, object));
    this.#members.set(uid, now);
    return [...new Set([...before, ...now])];
  }

  #isIn(id: string, object: T): boolean {
    const selection = this.#selections.get(id);
    return selection !== undefined && isIn(selection, object);
  }

  #setMember(uid: string, id: string): void {
    this.#members.set(uid, [...this.#members.keysOf(uid), id]);
  }
}

const isIn = ({ namespace, selector }: LabelSelection, { metadata }: KubeObject): boolean =>
  (namespace === undefined || namespace === metadata.namespace) &&
  selects(selector, metadata.labels);
