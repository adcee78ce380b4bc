/**
 * A queue by groups: the groups take turns, so that none waits for all items of another. Within a
 * group, first come is first served.
 */
export class Turns<T> {
  /** None is empty; the first is the next. */
  readonly #groups = new Map<string, T[]>();

  add(group: string, item: T): void {
    const items = this.#groups.get(group);
    if (items) items.push(item);
    else this.#groups.set(group, [item]);
  }

  /** Undefined when nothing waits. */
  take(): T | undefined {
    for (const [group, items] of this.#groups) {
      const item = items.shift();
      this.#groups.delete(group);
      if (items.length > 0) this.#groups.set(group, items);
      return item;
    }
    return undefined;
  }

  clear(): void {
    this.#groups.clear();
  }
}
