/** Ways through the chains of the kernel, each to a rule that ends it or changes the packet. */
import type { Action, ChainRule, Firewall, Origin } from '../types.ts';
import { deciderOf } from '../walk.ts';

/** From the base chain on: rules that all have to fit. The last one acts. */
export type Path = { base: string; rules: readonly ChainRule[] };

export const actionOf = ({ rules }: Path): Action | undefined => rules.at(-1)?.action;

export const originOf = ({ rules }: Path): Origin | undefined => {
  const rule = rules.at(-1);
  return rule && deciderOf({ rule, action: rule.action, by: rules });
};

export const isSamePath = (a: readonly ChainRule[], b: readonly ChainRule[]): boolean =>
  a.length === b.length && a.every((rule, at) => rule === b[at]);

export class Paths {
  readonly #chains: Firewall['chains'];
  readonly #known = new Map<string, readonly Path[]>();

  constructor(chains: Firewall['chains']) {
    this.#chains = chains;
  }

  /** In the order in which the kernel asks. */
  from(base: string): readonly Path[] {
    const known = this.#known.get(base);
    if (known) return known;
    const all = this.#into(base, []).map((rules) => ({ base, rules }));
    this.#known.set(base, all);
    return all;
  }

  /** False also where it is asked behind the other. */
  precedes(rules: readonly ChainRule[], { base, rules: other }: Path): boolean {
    const first = this.from(base).find(
      (one) => isSamePath(one.rules, rules) || isSamePath(one.rules, other),
    );
    return first !== undefined && isSamePath(first.rules, rules);
  }

  #into(chain: string, before: readonly ChainRule[]): (readonly ChainRule[])[] {
    return (this.#chains.get(chain) ?? []).flatMap((rule) => {
      const rules = [...before, rule];
      return rule.action.do === 'jump' ? this.#into(rule.action.chain, rules) : [rules];
    });
  }
}
