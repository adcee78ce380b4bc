/**
 * Table `inet fw4` as nft lists it, as far as the agent compares it: a line for each rule and
 * redirect with fw4's comment, and those by which a zone is reached. What people and the agent's
 * helper do with `nft` is done here, too.
 */
import type { TakenSection } from './taken-sections.ts';
import { firstOf } from './values.ts';

type Rule = { text: string; handle: number };
type Listed = { table?: string; handles?: boolean };

/** `place`: of the rule in the same chain of another table, from 1. */
export type NftStep = {
  verb: 'add' | 'insert' | 'delete';
  chain: string;
  handle: number;
  place: number;
};

export class Ruleset {
  #chains: ReadonlyMap<string, readonly Rule[]> | undefined;
  /** The handle of the table itself. */
  #handle = 1;
  #lastHandle = 0;

  get isLoaded(): boolean {
    return this.#chains !== undefined;
  }

  /** A load of fw4 replaces all rules of the table. */
  load(taken: readonly TakenSection[]): void {
    const chains = new Map<string, Rule[]>();
    const add = (chain: string, text: string): void => {
      chains.set(chain, [...(chains.get(chain) ?? []), this.#rule(text)]);
    };
    for (const { section, values } of taken) {
      const name = firstOf(values, 'name') ?? section.name;
      const zone = firstOf(values, 'src') ?? firstOf(values, 'dest') ?? 'any';
      const port = firstOf(values, 'dest_port');
      if (section.type === 'zone')
        add('input', `jump input_${name} comment "!fw4: Handle ${name} IPv4/IPv6 input traffic"`);
      if (['rule', 'redirect', 'nat', 'forwarding'].includes(section.type))
        add(
          `input_${zone}`,
          `${port === undefined ? '' : `th dport ${port} `}counter ${firstOf(values, 'target') ?? 'accept'} comment "!fw4: ${name}"`,
        );
    }
    this.#chains = chains;
  }

  /**
   * `nft flush ruleset`, `nft delete table inet fw4`: the next one is another table, in which
   * handles begin anew.
   */
  flush(): void {
    this.#chains = undefined;
    this.#lastHandle = 0;
    this.#handle += 1;
  }

  /** `nft delete rule` of those with that comment. */
  deleteRule(comment: string): void {
    this.#change((rules) => rules.filter(({ text }) => !text.includes(`"!fw4: ${comment}"`)));
  }

  /** `nft add rule` in every chain. */
  addRule(text: string): void {
    this.#change((rules) => [...rules, this.#rule(text)]);
  }

  /** One transaction of nft: all of it or, when a handle is of no rule, nothing. */
  carryOut(steps: readonly NftStep[], made: Ruleset): boolean {
    const chains = new Map(this.#chains);
    for (const { verb, chain, handle, place } of steps) {
      const rules = chains.get(chain) ?? [];
      const at = rules.findIndex((rule) => rule.handle === handle);
      if (at === -1) return false;
      const added = this.#rule(made.#chains?.get(chain)?.[place - 1]?.text ?? '');
      const places = { delete: [at, 1], add: [at + 1, 0, added], insert: [at, 0, added] } as const;
      const [from, less, ...more] = places[verb];
      chains.set(chain, rules.toSpliced(from, less, ...more));
    }
    this.#chains = chains;
    return true;
  }

  /** `nft -s -t list table`, with `-a` for handles. */
  listed({ table = 'fw4', handles = false }: Listed = {}): string {
    if (this.#chains === undefined) return '';
    const line = ({ text, handle }: Rule): string =>
      `\t\t${text}${handles ? ` # handle ${handle}` : ''}\n`;
    // fw4 makes a chain for each zone, in an order in which the rules have no part.
    const chains = [...this.#chains]
      .filter(([, rules]) => rules.length > 0)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, rules]) => `\tchain ${name} {\n${rules.map(line).join('')}\t}\n`);
    const handle = handles ? ` # handle ${this.#handle}` : '';
    return `table inet ${table} {${handle}\n${chains.join('\n')}}\n`;
  }

  get handle(): number {
    return this.#handle;
  }

  #rule(text: string): Rule {
    this.#lastHandle += 1;
    return { text, handle: this.#lastHandle };
  }

  #change(change: (rules: readonly Rule[]) => readonly Rule[]): void {
    this.#chains = new Map([...(this.#chains ?? [])].map(([name, rules]) => [name, change(rules)]));
  }
}
