/** Which rules are children of which CR, by their controlling owner. Learns of each rule as the watch tells of it. */
import type { RuleObject } from '#shared/kube/objects.ts';
import type { Rules } from '../rules/rules.ts';

export class Offspring {
  readonly #rules: Pick<Rules, 'get'>;
  readonly #parentOf = new Map<string, string>();
  readonly #childrenOf = new Map<string, Set<string>>();

  constructor(rules: Pick<Rules, 'get'>) {
    this.#rules = rules;
  }

  /** A rule came, went or changed: gives the uids of those whose child it was or is. */
  note(uid: string): string[] {
    const owner = this.#rules
      .get(uid)
      ?.object.metadata.ownerReferences?.find(({ controller }) => controller)?.uid;
    const before = this.#parentOf.get(uid);
    if (before !== undefined && before !== owner) this.#forget(uid, before);
    if (owner !== undefined) {
      this.#parentOf.set(uid, owner);
      this.#childrenOf.set(owner, (this.#childrenOf.get(owner) ?? new Set()).add(uid));
    }
    return [...new Set([before, owner])].filter((parent) => parent !== undefined);
  }

  /** Those being deleted included. */
  of(parent: string): RuleObject[] {
    return [...(this.#childrenOf.get(parent) ?? [])].flatMap(
      (uid) => this.#rules.get(uid)?.object ?? [],
    );
  }

  #forget(uid: string, parent: string): void {
    this.#parentOf.delete(uid);
    const children = this.#childrenOf.get(parent);
    children?.delete(uid);
    if (children?.size === 0) this.#childrenOf.delete(parent);
  }
}
