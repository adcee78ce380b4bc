/** `ip rule`: the policy rules of the kernel. */

/** As `ip` prints the parts. */
export type IpRule = {
  priority: number;
  not: boolean;
  from?: string;
  to?: string;
  fwmark?: string;
  table: string;
};

const OF_THE_KERNEL: readonly IpRule[] = [
  { priority: 0, not: false, table: 'local' },
  { priority: 32_766, not: false, table: 'main' },
  { priority: 32_767, not: false, table: 'default' },
];

export class IpRules {
  #rules: IpRule[] = [...OF_THE_KERNEL];

  list(): readonly IpRule[] {
    return this.#rules;
  }

  /** As `ip rule` prints them. */
  lines(): string[] {
    return this.#rules.map(
      ({ priority, not, from, to, fwmark, table }) =>
        `${priority}:\t${not ? 'not ' : ''}from ${from ?? 'all'}${to === undefined ? '' : ` to ${to}`}${fwmark === undefined ? '' : ` fwmark ${fwmark}`} lookup ${table}`,
    );
  }

  /** The words after `ip rule`. */
  run(words: readonly string[]): void {
    const [operation, ...rest] = words;
    const wanted = parse(rest);
    if (!wanted) return;
    if (operation === 'add') this.#add(wanted);
    else this.#remove(wanted);
  }

  #add(wanted: Partial<IpRule>): void {
    const lowest = Math.min(...this.#rules.map(({ priority }) => priority || Infinity));
    const rule: IpRule = {
      not: false,
      table: 'main',
      ...wanted,
      priority: wanted.priority ?? lowest - 1,
    };
    const isThere = this.#rules.some((other) => sameRule(other, rule));
    if (isThere) return;
    this.#rules = [...this.#rules, rule].sort((a, b) => a.priority - b.priority);
  }

  /** The first that has all that is given; `not` does not count. */
  #remove(wanted: Partial<IpRule>): void {
    const found = this.#rules.findIndex((rule) =>
      sameRule({ ...rule, ...wanted, not: rule.not }, rule),
    );
    if (found >= 0) this.#rules.splice(found, 1);
  }
}

const sameRule = (a: IpRule, b: IpRule): boolean =>
  a.priority === b.priority &&
  a.not === b.not &&
  a.from === b.from &&
  a.to === b.to &&
  a.fwmark === b.fwmark &&
  a.table === b.table;

/** Undefined for what `ip` refuses. */
const parse = (words: readonly string[]): Partial<IpRule> | undefined => {
  const not = words[0] === 'not';
  const pairs = new Map<string, string>();
  for (let index = not ? 1 : 0; index < words.length; index += 2)
    pairs.set(words[index] ?? '', words[index + 1] ?? '');
  const [from, to, priority, table] = ['from', 'to', 'prio', 'lookup'].map((name) =>
    pairs.get(name),
  );
  const fwmark = pairs.get('fwmark');
  if (fwmark !== undefined && Number.isNaN(Number(fwmark))) return undefined;
  return {
    not,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(priority === undefined ? {} : { priority: Number(priority) }),
    ...(fwmark === undefined ? {} : { fwmark: `0x${Number(fwmark).toString(16)}` }),
    ...(table === undefined ? {} : { table }),
  };
};
