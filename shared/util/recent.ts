/** What was set last, by key: the oldest are forgotten when too many, or of no more use. */
export type RecentOptions<V> = {
  most: number;
  /** Looked at from the oldest on, at each `set`, up to the first in use. Default: all are. */
  isOver?: (value: V) => boolean;
};

export class Recent<V> {
  readonly #options: RecentOptions<V>;
  readonly #values = new Map<string, V>();

  constructor(options: RecentOptions<V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: string): V | undefined {
    return this.#values.get(key);
  }

  /** Oldest first. */
  values(): IterableIterator<V> {
    return this.#values.values();
  }

  /** Oldest first. */
  keys(): IterableIterator<string> {
    return this.#values.keys();
  }

  /** It is the latest from now on. */
  set(key: string, value: V): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    const { most, isOver } = this.#options;
    for (const [oldest, old] of this.#values) {
      if (this.#values.size <= most && !isOver?.(old)) return;
      this.#values.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#values.delete(key);
  }
}
