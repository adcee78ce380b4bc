/**
 * How much of policies is kept in memory, so that no author of policies can fill it: a limited
 * length of each, and a share for each namespace. A policy with room is kept; one that finds none
 * is known by name, and is read again when there is some.
 */

/** Characters of a spec. The longest that is carried, a thousand blocks of IPv6, has 100,000. */
export const LONGEST_POLICY = 262_144;
export const POLICIES_OF_A_NAMESPACE = 1_048_576;
/** What a policy takes beside its spec. */
const OF_ITSELF = 500;

type Kept = { namespace: string; length: number };

export class PolicyShares {
  readonly #kept = new Map<string, Kept>();
  readonly #waiting = new Map<string, Kept>();
  readonly #used = new Map<string, number>();

  /** Counts it instead of what it was before; the reason if it cannot be kept. */
  take(
    { namespace, uid }: { namespace: string; uid: string },
    specLength: number,
  ): string | undefined {
    this.forget(uid);
    const length = specLength + OF_ITSELF;
    if (specLength > LONGEST_POLICY)
      return `the policy has ${specLength} characters, and ${LONGEST_POLICY} are carried`;
    const used = this.#usedIn(namespace) + length;
    if (used > POLICIES_OF_A_NAMESPACE) {
      this.#waiting.set(uid, { namespace, length });
      return `the policies of namespace ${namespace} have ${used} characters with this one, and ${POLICIES_OF_A_NAMESPACE} are carried`;
    }
    this.#kept.set(uid, { namespace, length });
    this.#used.set(namespace, used);
    return undefined;
  }

  forget(uid: string): void {
    this.#waiting.delete(uid);
    const kept = this.#kept.get(uid);
    if (kept === undefined) return;
    this.#kept.delete(uid);
    const left = this.#usedIn(kept.namespace) - kept.length;
    if (left > 0) this.#used.set(kept.namespace, left);
    else this.#used.delete(kept.namespace);
  }

  /** What a list that failed halfway has counted, and no other list. */
  keepOnly(isThere: (uid: string) => boolean): void {
    for (const uid of [...this.#kept.keys(), ...this.#waiting.keys()])
      if (!isThere(uid)) this.forget(uid);
  }

  /** One that found no room would find some now. */
  hasRoom(): boolean {
    return [...this.#waiting.values()].some(
      ({ namespace, length }) => this.#usedIn(namespace) + length <= POLICIES_OF_A_NAMESPACE,
    );
  }

  #usedIn(namespace: string): number {
    return this.#used.get(namespace) ?? 0;
  }
}
