/**
 * Tables of nft beside fw4's, as far as the agent's policies use nft: sets that are filled and
 * flushed, chains that are not looked into, and comments. `nft -f` is one transaction; what it does
 * not know it refuses with a line like nft's.
 */

type NftSet = { type: string; members: Set<string> };
type Table = {
  comment: string;
  sets: Map<string, NftSet>;
  /** Packets by name. */
  counters: Map<string, number>;
  chains: string;
};

const SET = /^ {2}set (\w+) \{\n {4}type (.*)\n(?: {4}elements = \{ (.*) \}\n)? {2}\}\n/;
const COUNTER = /^ {2}counter (\w+) \{\n {2}\}\n/;
/** Its last line alone is indented as little as its first one. */
const CHAIN = /^ {2}chain \w+ \{\n(?: {4}.*\n)* {2}\}\n/;

class NftError extends Error {
  override name = 'NftError';
}

const newTable = (comment = ''): Table => ({
  comment,
  sets: new Map(),
  counters: new Map(),
  chains: '',
});

const membersIn = (text = ''): Set<string> =>
  new Set(text.split(', ').filter((member) => member !== ''));

export class PolicyTables {
  #tables = new Map<string, Table>();

  /** What nft says when it refuses; then nothing has changed. */
  load(text: string): string | undefined {
    const next = structuredClone(this.#tables);
    const lines = text.split('\n');
    try {
      while (lines.length > 0) carryOut(next, lines);
    } catch (error) {
      if (!(error instanceof NftError)) throw error;
      return `/tmp/sdewan-kernel/policies:${text.split('\n').length - lines.length}:1-1: Error: ${error.message}\n`;
    }
    this.#tables = next;
    return undefined;
  }

  /** `nft flush ruleset`, and what `fw4 flush` does. */
  flush(): void {
    this.#tables = new Map();
  }

  /** `nft delete table inet NAME`. */
  remove(table: string): void {
    this.#tables.delete(table);
  }

  /** `nft list table inet NAME`; nothing where there is none. */
  listed(name: string): string {
    const table = this.#tables.get(name);
    if (table === undefined) return '';
    const comment = table.comment === '' ? '' : `\tcomment "${table.comment}"\n`;
    const sets = [...table.sets.keys()].map((set) => `${this.#setText(table, set)}\n`).join('');
    const counters = [...table.counters]
      .map(([counter, packets]) => `\tcounter ${counter} {\n\t\tpackets ${packets} bytes 0\n\t}\n`)
      .join('\n');
    return `table inet ${name} {\n${comment}${sets}${counters}${table.chains.replaceAll(/^( {2})+/gm, (spaces) => '\t'.repeat(spaces.length / 2))}}\n`;
  }

  /** `nft list set inet TABLE NAME`. */
  listedSet(name: string, set: string, { terse = false } = {}): string {
    const table = this.#tables.get(name);
    if (table?.sets.has(set) !== true) return '';
    return `table inet ${name} {\n${this.#setText(table, set, terse)}}\n`;
  }

  /** Packets have come to a counter of `nft list counters`. @throws where there is none */
  count(name: string, counter: string, packets: number): void {
    const counters = this.#tables.get(name)?.counters;
    const before = counters?.get(counter);
    if (before === undefined) throw new Error(`no counter ${counter}`);
    counters?.set(counter, before + packets);
  }

  /** Sets of one table, by name. */
  counters(name: string): ReadonlyMap<string, number> {
    return this.#tables.get(name)?.counters ?? new Map();
  }

  #setText({ sets }: Table, name: string, terse = false): string {
    const { type, members } = sets.get(name) ?? { type: '', members: new Set<string>() };
    const elements =
      terse || members.size === 0
        ? ''
        : `\t\telements = { ${[...members].join(',\n\t\t\t     ')} }\n`;
    return `\tset ${name} {\n\t\ttype ${type}\n${elements}\t}\n`;
  }
}

type Statement = (tables: Map<string, Table>, found: readonly string[], lines: string[]) => void;

const STATEMENTS: readonly [RegExp, Statement][] = [
  [/^$/, () => undefined],
  [
    /^table inet (\w+) \{\}$/,
    (tables, [name = '']) => {
      if (!tables.has(name)) tables.set(name, newTable());
    },
  ],
  [
    /^delete table inet (\w+)$/,
    (tables, [name = '']) => {
      if (!tables.delete(name)) throw new NftError('No such file or directory');
    },
  ],
  [
    /^table inet (\w+) \{ comment "([^"]*)"; \}$/,
    (tables, [name = '', comment]) => tables.set(name, newTable(comment)),
  ],
  [/^table inet (\w+) \{$/, (tables, [name = ''], lines) => tables.set(name, tableIn(lines))],
  [
    /^flush set inet (\w+) (\w+)$/,
    (tables, [table = '', name = '']) => setOf(tables, table, name).members.clear(),
  ],
  [
    /^add element inet (\w+) (\w+) \{ (.*) \}$/,
    (tables, [table = '', name = '', added]) => {
      const { members } = setOf(tables, table, name);
      for (const member of membersIn(added)) members.add(member);
    },
  ],
];

const carryOut = (tables: Map<string, Table>, lines: string[]): void => {
  const line = lines.shift() ?? '';
  const known = STATEMENTS.find(([pattern]) => pattern.test(line));
  if (known === undefined) throw new NftError(`syntax error, unexpected ${line}`);
  const [pattern, statement] = known;
  statement(tables, pattern.exec(line)?.slice(1) ?? [], lines);
};

const setOf = (tables: Map<string, Table>, table: string, name: string): NftSet => {
  const set = tables.get(table)?.sets.get(name);
  if (set === undefined) throw new NftError('No such file or directory');
  return set;
};

const tableIn = (lines: string[]): Table => {
  const end = lines.indexOf('}');
  if (end === -1) throw new NftError('syntax error, unexpected end of file');
  let rest = lines
    .splice(0, end + 1)
    .slice(0, -1)
    .map((line) => `${line}\n`)
    .join('');
  const table = newTable();
  rest = rest.replace(/^ {2}flags dormant;\n/, '');
  while (rest !== '') rest = rest.slice(takenBy(table, rest).length);
  return table;
};

/** The set, counter or chain that the text begins with, now in the table. */
const takenBy = (table: Table, text: string): string => {
  const [counted, counter] = COUNTER.exec(text) ?? [];
  if (counted !== undefined && counter !== undefined) {
    table.counters.set(counter, 0);
    return counted;
  }
  const [set, name, type, members] = SET.exec(text) ?? [];
  if (set !== undefined && name !== undefined && type !== undefined) {
    table.sets.set(name, { type, members: membersIn(members) });
    return set;
  }
  const chain = CHAIN.exec(text)?.[0];
  if (chain === undefined) throw new NftError(`syntax error, unexpected ${text.split('\n', 1)[0]}`);
  if (/^ {4}(?!.*(accept|drop|accept;|jump \w+|counter name \w+|comment ".*")$)/m.test(chain))
    throw new NftError(`syntax error, unexpected ${chain.split('\n')[1]?.trim()}`);
  table.chains += chain;
  return chain;
};
