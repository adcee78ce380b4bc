/** Which rules are children of which CR, by their controlling owner. Updated with each event of the watch. */
import { Index } from '#shared/kube/key-index.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { Rules } from '../rules/rules.ts';

export class Offspring {
  readonly #rules: Pick<Rules, 'get'>;
  readonly #byParent = new Index();

  constructor(rules: Pick<Rules, 'get'>) {
    this.#rules = rules;
  }

  /** A rule came, went or changed: gives the uids of those whose child it was or is. */
  note(uid: string): string[] {
    const owners = this.#rules.get(uid)?.object.metadata.ownerReferences ?? [];
    const parents = owners.filter(({ controller }) => controller).map((owner) => owner.uid);
    const before = this.#byParent.keysOf(uid);
    this.#byParent.set(uid, parents);
    return [...new Set([...before, ...parents])];
  }

  /** Those being deleted included. */
  of(parent: string): RuleObject[] {
    return [...this.#byParent.ids(parent)].flatMap((uid) => this.#rules.get(uid)?.object ?? []);
  }
}
