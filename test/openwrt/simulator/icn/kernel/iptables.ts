/**
 * iptables' tables as firewall3 and REST fill them. firewall3's own rules count for places; what
 * they do is not simulated.
 */
import { canonicalRule } from './iptables-rule.ts';

type Rule = { text: string; isFirewalls: boolean };

/** How many rules of its own firewall3 puts into a chain, without zones. */
const FIREWALL_RULES: Readonly<Record<string, number>> = {
  'filter INPUT': 4,
  'filter FORWARD': 2,
  'filter OUTPUT': 3,
  'nat PREROUTING': 1,
  'nat POSTROUTING': 1,
};

export class Iptables {
  readonly #chains = new Map<string, Rule[]>();
  readonly #userRules: readonly string[];

  /** `userRules`: commands of /etc/sdewan.user, run after each start of the firewall. */
  constructor(userRules: readonly string[]) {
    this.#userRules = userRules;
    this.start();
  }

  /** Rules of a table that are not firewall3's, as `iptables -S` prints them. */
  rules(table: string): string[] {
    return CHAINS.flatMap((chain) =>
      this.#chain(table, chain)
        .filter(({ isFirewalls }) => !isFirewalls)
        .map(({ text }) => `-A ${chain} ${text}`),
    );
  }

  /** The words after `iptables`. What it refuses changes nothing. */
  run(words: readonly string[]): void {
    const hasTable = words[0] === '-t';
    const table = (hasTable ? words[1] : undefined) ?? 'filter';
    const [operation, chain = '', ...rest] = words.slice(hasTable ? 2 : 0);
    const rules = this.#chain(table, chain);
    const index = operation === '-I' ? Number(rest.shift()) - 1 : rules.length;
    const text = canonicalRule({ table, chain }, rest);
    if (text === undefined || index > rules.length) return;
    if (operation !== '-D') rules.splice(index, 0, { text, isFirewalls: false });
    else {
      const found = rules.findIndex((rule) => !rule.isFirewalls && rule.text === text);
      if (found >= 0) rules.splice(found, 1);
    }
  }

  start(): void {
    this.#addFirewalls();
    for (const rule of this.#userRules) this.run(rule.split(' '));
  }

  stop(): void {
    this.#chains.clear();
  }

  /** Others' rules stay, now in front of firewall3's. */
  reload(): void {
    for (const [key, rules] of this.#chains)
      this.#chains.set(
        key,
        rules.filter(({ isFirewalls }) => !isFirewalls),
      );
    this.#addFirewalls();
  }

  #addFirewalls(): void {
    for (const [key, count] of Object.entries(FIREWALL_RULES)) {
      const [table = '', chain = ''] = key.split(' ');
      const own = Array.from({ length: count }, () => ({ text: '', isFirewalls: true }));
      this.#chain(table, chain).push(...own);
    }
  }

  #chain(table: string, chain: string): Rule[] {
    const key = `${table} ${chain}`;
    const rules = this.#chains.get(key) ?? [];
    this.#chains.set(key, rules);
    return rules;
  }
}

const CHAINS = ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'];
