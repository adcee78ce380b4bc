/**
 * Table `inet fw4`, or one that is compared with it, as `nft -a -s -t` lists it: without counters
 * and elements of sets; and the same as `fw4 print` has it, in other words and without handles.
 * Pure.
 */

export type NftRule = { text: string; handle: number };

/** `head`: the type, hook and policy line of a base chain. */
export type Chain = { head: string; rules: readonly NftRule[] };

/** `others`: all that is no chain, such as sets. */
export type Listing = { chains: ReadonlyMap<string, Chain>; others: ReadonlySet<string> };

const HANDLE = / # handle (\d+)$/;
const CHAIN = /^chain (\S+) \{$/;

export const withoutHandles = (text: string): string => text.replaceAll(/ # handle \d+$/gm, '');

export const listingIn = (text: string): Listing => {
  const chains = new Map<string, Chain>();
  const others = new Set<string>();
  for (const block of text.split(/^\t\}.*$/m)) {
    const lines = block.split('\n').filter((line) => line.startsWith('\t'));
    const begin = lines.findIndex((line) => line.replace(HANDLE, '').endsWith('{'));
    const [title = '', ...body] = lines.slice(Math.max(begin, 0)).map((line) => line.trim());
    const [, chain] = CHAIN.exec(title.replace(HANDLE, '')) ?? [];
    if (chain !== undefined) chains.set(chain, chainOf(body));
    else if (begin !== -1) others.add([title.replace(HANDLE, ''), ...body].join('\n'));
  }
  return { chains, others };
};

const chainOf = (lines: readonly string[]): Chain => ({
  head: lines.filter((line) => !HANDLE.test(line)).join('\n'),
  rules: lines.flatMap((line) => {
    const [end, handle] = HANDLE.exec(line) ?? [];
    return end === undefined ? [] : [{ text: line.slice(0, -end.length), handle: Number(handle) }];
  }),
});

/** A line of two tabs is a rule of the chain before it, as in the helper. `others`: the rest. */
export const printedIn = (text: string): Listing => {
  const chains = new Map<string, { head: string; rules: NftRule[] }>();
  const others: string[] = [];
  let current: { head: string; rules: NftRule[] } | undefined;
  for (const line of text.split('\n')) {
    const [first = '', name = ''] = line.trim().split(/\s+/, 2);
    if (first === 'chain') {
      current = { head: '', rules: [] };
      chains.set(name, current);
    }
    if (current === undefined || !line.startsWith('\t\t')) others.push(line);
    else if (first === 'type') current.head = line;
    else current.rules.push({ text: line.trim(), handle: NaN });
  }
  return { chains, others: new Set([others.join('\n')]) };
};

const COMMENT = / comment "!fw4: ([^"]*?)(?: \(reflection\))?"$/;

/** The name of the section that fw4 has made the rule of, which it writes into the comment. */
export const nameIn = (rule: string): string | undefined => COMMENT.exec(rule)?.[1];
