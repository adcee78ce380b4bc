/**
 * Table `inet fw4` as nft lists it, as far as the agent compares it: a line for each rule and redirect with fw4's comment, and those by
 * which a zone is reached. What people do with `nft` is done here, too.
 */
import type { TakenSection } from './judge.ts';
import { firstOf } from './values.ts';

export class Ruleset {
  #chains: ReadonlyMap<string, readonly string[]> | undefined;

  get isLoaded(): boolean {
    return this.#chains !== undefined;
  }

  /** A load of fw4 replaces the whole table. */
  load(taken: readonly TakenSection[]): void {
    const chains = new Map<string, string[]>();
    const add = (chain: string, line: string): void => {
      chains.set(chain, [...(chains.get(chain) ?? []), line]);
    };
    for (const { section, values } of taken) {
      const name = firstOf(values, 'name') ?? section.name;
      const zone = firstOf(values, 'src') ?? firstOf(values, 'dest') ?? 'any';
      if (section.type === 'zone')
        add('input', `jump input_${name} comment "!fw4: Handle ${name} IPv4/IPv6 input traffic"`);
      if (['rule', 'redirect', 'nat', 'forwarding'].includes(section.type))
        add(
          `input_${zone}`,
          `counter ${firstOf(values, 'target') ?? 'accept'} comment "!fw4: ${name}"`,
        );
    }
    this.#chains = chains;
  }

  /** `nft flush ruleset`, `nft delete table inet fw4`. */
  flush(): void {
    this.#chains = undefined;
  }

  /** `nft delete rule` of those with that comment. */
  deleteRule(comment: string): void {
    this.#change((lines) => lines.filter((line) => !line.includes(`"!fw4: ${comment}"`)));
  }

  /** `nft add rule` in every chain. */
  addRule(line: string): void {
    this.#change((lines) => [...lines, line]);
  }

  listed(): string {
    if (this.#chains === undefined) return '';
    const chains = [...this.#chains].map(
      ([name, lines]) => `\tchain ${name} {\n${lines.map((line) => `\t\t${line}\n`).join('')}\t}\n`,
    );
    return `table inet fw4 {\n${chains.join('\n')}}\n`;
  }

  #change(change: (lines: readonly string[]) => readonly string[]): void {
    this.#chains = new Map([...(this.#chains ?? [])].map(([name, lines]) => [name, change(lines)]));
  }
}
