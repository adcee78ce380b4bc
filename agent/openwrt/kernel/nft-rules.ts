/**
 * Which nft rules of our sections the kernel has lost. What they should be is not compiled here a
 * second time: it is what the kernel had right after a reload of ours that OpenWRT did not refuse.
 * Rules that have come since, from any source, are not looked at. Pure.
 */
import type { UciSection } from '#shared/uci/model.ts';
import { compareSections, NOTHING_LACKS, type Compared } from './sections.ts';

/** `chain` and rule, as nft prints them -> how often: several sections may make the same. */
export type NftRules = ReadonlyMap<string, number>;

const CHAIN = /^\tchain (\S+) \{$/;

/** `text`: what `nft -s list table inet fw4` prints. */
export const nftRulesIn = (text: string): NftRules => {
  const rules = new Map<string, number>();
  let chain = '';
  for (const line of text.split('\n')) {
    const [, begun] = CHAIN.exec(line) ?? [];
    if (begun !== undefined) chain = begun;
    else if (line === '\t}') chain = '';
    else if (chain !== '' && line.startsWith('\t\t')) {
      const rule = `${chain} ${line.trim()}`;
      rules.set(rule, (rules.get(rule) ?? 0) + 1);
    }
  }
  return rules;
};

export const goneRules = (before: NftRules, now: NftRules): readonly [string, number][] =>
  [...before].filter(([rule, count]) => (now.get(rule) ?? 0) < count);

/**
 * The first rule of a section that is gone; where several sections have the same name, of each of
 * them. A rule that cannot be traced to a section counts for none.
 */
export const lackingRules = (
  sections: readonly UciSection[],
  before: NftRules | undefined = new Map(),
  now: NftRules,
): Compared => {
  const gone = goneRules(before, now);
  if (gone.length === 0) return NOTHING_LACKS;
  return compareSections(sections, () => {
    const marks = new Set(sections.map(markOf));
    const owner = (rule: string): string | undefined =>
      [`rule ${COMMENT.exec(rule)?.[1] ?? ''}`, `zone ${zoneOf(rule)}`].find((mark) =>
        marks.has(mark),
      );
    const lost = new Map(gone.map(([rule]) => [owner(rule) ?? '', rule] as const).toReversed());
    return (section) => {
      const rule = lost.get(markOf(section) ?? 'none');
      return rule === undefined ? undefined : `the nft rule ${rule}`;
    };
  });
};

const COMMENT = /comment "!fw4: ([^"]*?)(?: \(reflection\))?"$/;
const NAMED_BY_COMMENT: ReadonlySet<string> = new Set(['rule', 'redirect', 'nat', 'forwarding']);

/**
 * By what fw4 marks the rules that it makes of the section: it writes the name of a rule into a
 * comment, that of a zone into the names of chains.
 */
const markOf = ({ name, type, options }: UciSection): string | undefined => {
  const given = typeof options['name'] === 'string' ? options['name'] : name;
  if (NAMED_BY_COMMENT.has(type)) return `rule ${given}`;
  return type === 'zone' ? `zone ${given}` : undefined;
};

const CHAIN_OF_A_ZONE =
  /^(?:input|output|forward|helper|notrack|srcnat|dstnat|mangle_[a-z]+|(?:accept|reject|drop)_(?:from|to))_(.+)$/;

/** A chain of a zone, or the jump to one. */
const zoneOf = (rule: string): string => {
  const [chain = ''] = rule.split(' ');
  const [, target = ''] = / jump (\S+)/.exec(rule) ?? [];
  return (CHAIN_OF_A_ZONE.exec(target) ?? CHAIN_OF_A_ZONE.exec(chain))?.[1] ?? '';
};
