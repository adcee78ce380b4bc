/**
 * From what fw4 prints for an excerpt before and after a change to the few commands that bring the
 * loaded table there, and whether they did. What the excerpts show besides the changed rules must
 * be alike in both, else the change makes more than rules; and the table must hold it afterwards,
 * as nft has it, else the table is not what fw4 would make of the package. Then only a reload will
 * do. Pure.
 */
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { keyOf, type Excerpt } from './excerpt.ts';
import { nameIn, type Chain, type Listing, type NftRule } from './listing.ts';

/**
 * `place`: which rule of the chain it is in what fw4 prints for the excerpt, from 1. `handle`: of
 * the rule that it goes behind, or before.
 */
export type Step =
  | { verb: 'add' | 'insert'; chain: string; handle: number; place: number }
  | { verb: 'delete'; chain: string; handle: number };

/** Chain -> texts of its rules. */
export type Texts = ReadonlyMap<string, readonly string[]>;

export type Views = {
  excerpt: Excerpt;
  /** The whole package as it is to be in force. */
  after: UciPackage;
  /** What fw4 prints for both excerpts. */
  printed: { before: Listing; after: Listing };
  /** What the kernel had when it was last listed. */
  loaded: Listing;
};

/** Undefined where only a reload will do. */
export const stepsOf = (views: Views): readonly Step[] | undefined => {
  const { excerpt, printed, loaded } = views;
  const were = namesOf(excerpt.before, excerpt);
  const are = namesOf(excerpt.after, excerpt);
  const wasChanged = isNamed(were.changed);
  const isChanged = isNamed(are.changed);
  if (!alike(rest(printed.before, wasChanged), rest(printed.after, isChanged))) return undefined;
  const old = only(loaded, wasChanged);
  if (!isSame(namesIn(old), namesIn(only(printed.before, wasChanged)))) return undefined;
  const added = [...printed.after.chains].map(([chain, { rules }]) =>
    stepsIn({
      ...views,
      chain,
      rules,
      old: old.get(chain) ?? [],
      isChanged,
      neighbours: are.neighbours,
    }),
  );
  if (added.includes(undefined)) return undefined;
  const deleted = [...old].flatMap(([chain, rules]) =>
    rules.map(({ handle }): Step => ({ verb: 'delete', chain, handle })),
  );
  return [...added.flatMap((some = []) => some), ...deleted];
};

export type CarriedOut = {
  steps: readonly Step[];
  /** The table before them. */
  loaded: Listing;
  /** What nft makes of the excerpt after the change. */
  made: Listing;
  /** The table after them. */
  now: Listing;
};

/** Whether the table is as before but for the steps, and as nft has fw4's rules of the excerpt. */
export const isCarriedOut = ({ steps, loaded, made, now }: CarriedOut): boolean =>
  isSame(textsIn(now), carriedOut(loaded, made, steps)) && holds(now, made);

export const textsIn = ({ chains }: Listing): Texts =>
  textsOf([...chains].map(([name, { rules }]) => [name, rules]));

/** Which sections' rules a chain has, in which order. */
const namesIn = (chains: ReadonlyMap<string, readonly NftRule[]>): Texts =>
  new Map([...chains].map(([name, rules]) => [name, rules.map(({ text }) => nameIn(text) ?? '')]));

type Is = (rule: NftRule) => boolean;

const namesOf = ({ sections }: UciPackage, { changed }: Excerpt) => {
  const names = (which: (section: UciSection) => boolean): ReadonlyMap<string, UciSection> =>
    new Map(
      sections
        .filter(which)
        .flatMap((section) =>
          typeof section.options['name'] === 'string' ? [[section.options['name'], section]] : [],
        ),
    );
  const isChanged = (section: UciSection): boolean => changed.has(keyOf(section));
  const isOfRules = ({ type }: UciSection): boolean => type === 'rule' || type === 'redirect';
  return {
    changed: names(isChanged),
    neighbours: names((section) => isOfRules(section) && !isChanged(section)),
  };
};

const isNamed =
  (names: ReadonlyMap<string, UciSection>): Is =>
  ({ text }) =>
    names.has(nameIn(text) ?? '');

/** The chains that have any. */
const only = ({ chains }: Listing, is: Is): ReadonlyMap<string, readonly NftRule[]> =>
  new Map(
    [...chains].flatMap(([name, { rules }]) => {
      const some = rules.filter(is);
      return some.length === 0 ? [] : [[name, some]];
    }),
  );

const rest = ({ chains, others }: Listing, is: Is): Listing => ({
  chains: new Map(
    [...chains].map(([name, { head, rules }]) => [
      name,
      { head, rules: rules.filter((rule) => !is(rule)) },
    ]),
  ),
  others,
});

const textsOf = (chains: Iterable<readonly [string, readonly NftRule[]]>): Texts =>
  new Map([...chains].map(([name, rules]) => [name, rules.map(({ text }) => text)]));

/** Whatever order the chains are in. */
export const isSame = (these: Texts, those: Texts): boolean =>
  these.size === those.size &&
  [...these].every(([name, texts]) => JSON.stringify(texts) === JSON.stringify(those.get(name)));

const alike = (one: Listing, other: Listing): boolean => {
  const shown = ({ chains, others }: Listing): Texts => {
    const texts = new Map([['', [...others].sort()]]);
    for (const [name, { head, rules }] of chains)
      texts.set(name, [head, ...rules.map(({ text }) => text)]);
    return texts;
  };
  return isSame(shown(one), shown(other));
};

/** All chains with these rules in this order, whatever is between them. */
const holds = (loaded: Listing, part: Listing): boolean =>
  [...part.others].every((other) => loaded.others.has(other)) &&
  [...part.chains].every(([name, { head, rules }]) => {
    const chain = loaded.chains.get(name);
    return chain?.head === head && isWithin(rules, chain);
  });

const isWithin = (rules: readonly NftRule[], chain: Chain): boolean => {
  let found = 0;
  for (const { text } of chain.rules) if (text === rules[found]?.text) found += 1;
  return found === rules.length;
};

type Within = Pick<Views, 'after' | 'excerpt' | 'loaded'> & {
  chain: string;
  rules: readonly NftRule[];
  old: readonly NftRule[];
  isChanged: Is;
  neighbours: ReadonlyMap<string, UciSection>;
};

/** What is to be added to one chain. */
const stepsIn = (within: Within): readonly Step[] | undefined => {
  const { rules, isChanged } = within;
  const steps: Step[] = [];
  let begin = 0;
  while (begin < rules.length) {
    const length = rules.slice(begin).findIndex((rule) => !isChanged(rule));
    const end = length === -1 ? rules.length : begin + length;
    const some = end === begin ? [] : runSteps(within, begin, end);
    if (some === undefined) return undefined;
    steps.push(...some);
    begin = end + 1;
  }
  return steps;
};

/** Steps for consecutive rules. What is behind a rule comes last first. */
const runSteps = (within: Within, begin: number, end: number): readonly Step[] | undefined => {
  const { chain, rules } = within;
  const run = rules.slice(begin, end);
  const anchor =
    inPlace(within, run) ??
    beside(within, run, rules[begin - 1], 'add') ??
    beside(within, run, rules[end], 'insert');
  if (anchor === undefined) return undefined;
  const steps = run.map((_, at): Step => ({ ...anchor, chain, place: begin + at + 1 }));
  return anchor.verb === 'add' ? steps.toReversed() : steps;
};

type Anchor = { verb: 'add' | 'insert'; handle: number };

/** At the place of the section's old rules, since sections do not move. */
const inPlace = ({ old }: Within, run: readonly NftRule[]): Anchor | undefined => {
  const names = new Set(run.map(({ text }) => nameIn(text)));
  const last = old.findLast(({ text }) => names.has(nameIn(text)));
  return names.size === 1 && last ? { verb: 'add', handle: last.handle } : undefined;
};

/** Next to a neighbour's rules, when nothing between the two sections has a rule in this chain. */
const beside = (
  { chain, loaded, neighbours, after, excerpt }: Within,
  run: readonly NftRule[],
  next: NftRule | undefined,
  verb: Anchor['verb'],
): Anchor | undefined => {
  const name = nameIn(next?.text ?? '') ?? '';
  const neighbour = neighbours.get(name);
  if (neighbour === undefined) return undefined;
  const there = loaded.chains.get(chain)?.rules ?? [];
  const present = new Set(there.map(({ text }) => nameIn(text)));
  const names = new Set(run.map(({ text }) => nameIn(text) ?? ''));
  const isFree = between(after, keyOf(neighbour), names).every(
    (section) =>
      excerpt.changed.has(keyOf(section)) ||
      (typeof section.options['name'] === 'string' && !present.has(section.options['name'])),
  );
  const its = there.filter(({ text }) => nameIn(text) === name);
  const at = verb === 'add' ? its.at(-1) : its[0];
  return isFree && at ? { verb, handle: at.handle } : undefined;
};

/** From that section to the farthest of those names. */
const between = (
  { sections }: UciPackage,
  key: string,
  names: ReadonlySet<string>,
): readonly UciSection[] => {
  const from = sections.find((section) => keyOf(section) === key);
  const alike = sections.filter(({ type }) => type === from?.type);
  const places = alike.flatMap(({ options }, at) =>
    typeof options['name'] === 'string' && names.has(options['name']) ? [at] : [],
  );
  const at = alike.findIndex((section) => keyOf(section) === key);
  const [first, last] = [Math.min(at, ...places), Math.max(at, ...places)];
  return alike.slice(first, last + 1).filter((section) => keyOf(section) !== key);
};

/** As the table has to be. */
const carriedOut = (loaded: Listing, made: Listing, steps: readonly Step[]): Texts => {
  const chains = new Map([...loaded.chains].map(([name, { rules }]) => [name, [...rules]]));
  for (const step of steps) {
    const rules = chains.get(step.chain) ?? [];
    const at = rules.findIndex(({ handle }) => handle === step.handle);
    if (step.verb === 'delete') rules.splice(at, 1);
    else {
      const text = made.chains.get(step.chain)?.rules[step.place - 1]?.text ?? '';
      rules.splice(step.verb === 'add' ? at + 1 : at, 0, { text, handle: NaN });
    }
  }
  return textsOf(chains);
};
