/**
 * Which of many things have which keys, e.g. pods by their purpose. A change costs what has
 * changed, whatever is in it beside.
 */
export class Index {
  readonly #keysOf = new Map<string, readonly string[]>();
  readonly #idsOf = new Map<string, Set<string>>();

  /** From now on these are the keys of `id`; none: it is not in here. */
  set(id: string, keys: readonly string[]): void {
    const before = this.keysOf(id);
    for (const key of before) if (!keys.includes(key)) this.#leave(id, key);
    for (const key of keys) this.#idsOf.getOrInsert(key, new Set()).add(id);
    if (keys.length > 0) this.#keysOf.set(id, keys);
    else this.#keysOf.delete(id);
  }

  keysOf(id: string): readonly string[] {
    return this.#keysOf.get(id) ?? [];
  }

  ids(key: string): ReadonlySet<string> {
    return this.#idsOf.get(key) ?? NONE;
  }

  #leave(id: string, key: string): void {
    const ids = this.#idsOf.get(key);
    ids?.delete(id);
    if (ids?.size === 0) this.#idsOf.delete(key);
  }
}

const NONE: ReadonlySet<string> = new Set();
