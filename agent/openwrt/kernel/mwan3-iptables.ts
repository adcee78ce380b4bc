/**
 * What verb `mwan3` of the helper prints: mwan3's chains in the words of `iptables -S`, and what
 * iptables-restore refuses. Pure and total.
 */
import {
  ANY,
  builtInOf,
  chainTarget,
  keyOf,
  networkOf,
  portsOf,
  protocolOf,
  type Mwan3Match,
} from './mwan3-match.ts';
import {
  MWAN3_FAMILIES,
  type LoadedFamily,
  type LoadedPolicy,
  type Mwan3Family,
} from './mwan3-compare.ts';

/** The families that this OpenWRT has programs for. `parts`: what the helper printed, by title. */
export const readIptables = (
  parts: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<Mwan3Family, LoadedFamily> =>
  new Map(
    MWAN3_FAMILIES.flatMap((family): [Mwan3Family, LoadedFamily][] => {
      const lines = parts.get(family);
      return lines ? [[family, familyIn(lines, parts.get(`refused ${family}`))]] : [];
    }),
  );

const POLICY = /^-N mwan3_policy_(\S+)$/;
/** What leaves by a device of an offline member has a comment `out <interface> <device>`. */
const MEMBER = /^-A mwan3_policy_(\S+) .*--comment "(\S+) (\d+) \d+"/;
const LAST_RESORT = /^-A mwan3_policy_(\S+) .*--comment (blackhole|default|unreachable) -j /;
const STICKY = /^-A mwan3_rule_(\S+) .*-j mwan3_policy_(\S+)$/;

const familyIn = (lines: readonly string[], refused?: readonly string[]): LoadedFamily => {
  const sticky = new Map(allOf(STICKY, lines).map(([rule = '', to = '']) => [rule, to]));
  const members = Map.groupBy(allOf(MEMBER, lines), ([policy]) => policy);
  const lastResorts = new Map(allOf(LAST_RESORT, lines).map(([policy, last]) => [policy, last]));
  const policies = allOf(POLICY, lines).map(([policy = '']): [string, LoadedPolicy] => {
    const found = (members.get(policy) ?? []).map(([, member = '', weight]): [string, number] => [
      member,
      Number(weight),
    ]);
    return [policy, { members: new Map(found), lastResort: lastResorts.get(policy) }];
  });
  const rules = lines
    .filter((line) => line.startsWith('-A mwan3_rules '))
    .map((line) => ruleKey(line, sticky));
  return {
    rules,
    policies: new Map(policies),
    ...(refused && { refused: refusedBy(refused, sticky) }),
  };
};

/** What the expression finds in each of the lines that it matches. */
const allOf = (
  expression: RegExp,
  lines: readonly string[],
): readonly (readonly (string | undefined)[])[] =>
  lines.flatMap((line) => {
    const found = expression.exec(line);
    return found === null ? [] : [found.slice(1)];
  });

/** The first line is the one that iptables-restore names, others are its words. */
const refusedBy = (
  [line = '', ...said]: readonly string[],
  sticky: ReadonlyMap<string, string>,
): NonNullable<LoadedFamily['refused']> => {
  const why = said.find((each) => /^ip6?tables-restore\b/.test(each)) ?? said.join(' ');
  const words = why.replace(/^ip6?tables-restore v\S+(?: \(\S+\))?: */, '').trim();
  const [, name] = /(?:^-[AIF]|-j) mwan3_rule_(\S+)/.exec(line) ?? [];
  return { words, ...(name === undefined ? { key: ruleKey(line, sticky) } : { name }) };
};

/** What follows an option of `-A mwan3_rules`; other options belong to no compared rule. */
const READ = new Map<string, (match: Draft, word: string) => Draft>([
  ['-p', (match, word) => ({ ...match, protocol: protocolOf(word) })],
  ['-s', (match, word) => ({ ...match, source: networkOf(word) })],
  ['-d', (match, word) => ({ ...match, destination: networkOf(word) })],
  ['--sports', (match, word) => ({ ...match, sourcePorts: portsOf(word) })],
  ['--dports', (match, word) => ({ ...match, destinationPorts: portsOf(word) })],
  ['-j', (match, word) => ({ ...match, jump: word })],
  ['--set-xmark', (match, word) => ({ ...match, mark: word })],
  ['-m', (match) => match],
  ['--mark', (match) => match],
]);
type Draft = Omit<Mwan3Match, 'target'> & { jump?: string; mark?: string };

/** The line itself, if it has something else. */
const ruleKey = (line: string, sticky: ReadonlyMap<string, string>): string => {
  const [, , ...words] = line.trim().split(/\s+/);
  let match: Draft = ANY;
  for (let at = 0; at < words.length; at += 2) {
    const read = READ.get(words[at] ?? '');
    const word = words[at + 1];
    if (read === undefined || word === undefined) return line;
    match = read(match, word);
  }
  const target = targetOf(match, sticky);
  return target === undefined ? line : keyOf({ ...match, target });
};

const targetOf = (
  { jump = '', mark = '' }: Draft,
  sticky: ReadonlyMap<string, string>,
): Mwan3Match['target'] | undefined => {
  if (jump === 'MARK') {
    const [value = NaN, mask = NaN] = mark.split('/').map(Number);
    return builtInOf(value, mask);
  }
  return chainTarget(jump, (rule) => sticky.get(rule));
};
