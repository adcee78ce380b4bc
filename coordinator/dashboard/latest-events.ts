/**
 * The latest Events, by uid. A user with the right to write Events of a namespace can write any
 * number in the coordinator's name: namespaces share the room, so that those of one push out none
 * of the others'. Pure.
 */

export type RecentEvent = {
  namespace: string;
  involved: { kind: string; name: string; uid: string };
  type: string;
  reason: string;
  message: string;
  count: number;
  /** RFC 3339; '' where it is not known. */
  last: string;
};

/** At about two kilobytes each, and twice as many between two clearings. */
export const MAX_EVENTS = 1_000;

export class LatestEvents {
  #kept = new Map<string, RecentEvent>();

  get size(): number {
    return this.#kept.size;
  }

  set(uid: string, event: RecentEvent): void {
    this.#kept.set(uid, event);
    if (this.#kept.size > 2 * MAX_EVENTS) this.#clear();
  }

  /** Latest first. */
  list(): RecentEvent[] {
    if (this.#kept.size > MAX_EVENTS) this.#clear();
    return [...this.#kept.values()].sort(byTime);
  }

  #clear(): void {
    const byNamespace = Map.groupBy(this.#kept, ([, { namespace }]) => namespace);
    const fewestFirst = [...byNamespace.values()].sort((a, b) => a.length - b.length);
    let room = MAX_EVENTS;
    const kept = fewestFirst.flatMap((events, at) => {
      const share = Math.floor(room / (fewestFirst.length - at));
      const own = events.toSorted(([, a], [, b]) => byTime(a, b)).slice(0, share);
      room -= own.length;
      return own;
    });
    this.#kept = new Map(kept);
  }
}

const byTime = (a: RecentEvent, b: RecentEvent): number =>
  a.last === b.last ? 0 : a.last > b.last ? -1 : 1;
