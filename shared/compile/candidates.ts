/**
 * Candidates, kept from one compilation to the next: of thousands of rules a few change at a time.
 * One is made anew when its rule, which is another object then, or anything else that it was made
 * of has changed.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KindDefinition } from '../resources/kind.ts';
import { placeOf } from '../resources/registry.ts';
import type { RuleObject } from '../kube/objects.ts';
import type { UciPackage } from '../uci/model.ts';
import { candidateOf, olderOf, type Candidate, type CandidateInput } from './candidate.ts';
import { compare } from './in-use.ts';
import { orderOf } from './revision.ts';
import type { CompileInput, LastGood, LeftOut } from './types.ts';

/** In the order of our sections in a package; none for rules of other kinds. */
export type Candidates = (
  input: CompileInput,
  kinds: ReadonlyMap<string, KindDefinition>,
) => readonly Candidate[];

/** A candidate, and what it was made of beside what all are made of. */
type Kept = {
  candidate: Candidate;
  older: ReturnType<LastGood['get']>;
  refused: LeftOut | undefined;
  /** What it saw of OpenWRT, by package. Undefined: all that is ours played a part. */
  seen: ReadonlyMap<string, UciPackage | undefined> | undefined;
};

export const createCandidates = (): Candidates => {
  let around: unknown;
  let last: CompileInput | undefined;
  let known = new WeakMap<RuleObject, Kept>();
  let all: readonly Kept[] = [];
  let candidates: readonly Candidate[] = [];
  /** Those that saw something of OpenWRT. */
  let seers: readonly Kept[] = [];
  /** What comes out as before stays the same object, so that what follows from it stays, too. */
  const keptNow = (rule: RuleObject, kind: KindDefinition, input: CompileInput): Kept => {
    const before = known.get(rule);
    if (before && isAsBefore(before, input)) return before;
    const made = make(rule, kind, input);
    const isSame = before && isDeepStrictEqual(made.candidate, before.candidate);
    const now = isSame ? { ...made, candidate: before.candidate } : made;
    known.set(rule, now);
    return now;
  };
  /** What is kept of rules that are others now, with those. Undefined: rules have come or gone. */
  const replacedIn = (
    before: readonly RuleObject[],
    now: readonly RuleObject[],
  ): Map<Kept, RuleObject> | undefined => {
    if (before.length !== now.length) return undefined;
    const replaced = new Map<Kept, RuleObject>();
    for (const [at, rule] of now.entries()) {
      const old = before[at];
      if (old === rule) continue;
      const kept = old && known.get(old);
      if (!kept || byPlace(rule, old) !== 0) return undefined;
      replaced.set(kept, rule);
    }
    return replaced;
  };
  /** Undefined where more than a few are others, or one belongs to another place. */
  const withFew = (before: CompileInput, input: CompileInput): readonly Kept[] | undefined => {
    const changes = replacedIn(before.rules, input.rules);
    for (const each of areForSame(before, input) ? seers : all)
      if (!isAsBefore(each, input)) changes?.getOrInsert(each, each.candidate.rule);
    if (!changes || changes.size > MANY) return undefined;
    if (changes.size === 0) return all;
    const next = [...all];
    for (const [old, rule] of changes)
      next[all.indexOf(old)] = keptNow(rule, old.candidate.kind, input);
    return next;
  };
  const withAll = (
    input: CompileInput,
    kinds: ReadonlyMap<string, KindDefinition>,
  ): readonly Kept[] =>
    inPlace(
      input.rules,
      all.map(({ candidate }) => candidate.rule),
    ).flatMap((rule) => {
      const kind = kinds.get(rule.kind);
      return kind ? [keptNow(rule, kind, input)] : [];
    });
  return (input, kinds) => {
    const now = aroundOf(input);
    let before = last;
    // Until all of it has succeeded.
    last = undefined;
    if (!isDeepStrictEqual(now, around)) {
      around = structuredClone(now);
      known = new WeakMap();
      all = [];
      before = undefined;
    }
    const next = (before && withFew(before, input)) ?? withAll(input, kinds);
    if (next !== all) {
      all = next;
      seers = all.filter(({ seen }) => seen?.size !== 0);
      const made = all.map(({ candidate }) => candidate);
      const isNews =
        made.length !== candidates.length || made.some((one, at) => one !== candidates[at]);
      if (isNews) candidates = made;
    }
    last = input;
    return candidates;
  };
};

/** What was in force or refused of each rule. */
const areForSame = (before: CompileInput, now: CompileInput): boolean =>
  before.lastGood === now.lastGood &&
  before.refused.size === now.refused.size &&
  [...now.refused].every(([uid, refused]) => before.refused.get(uid) === refused);

/** What is looked at for each candidate by itself, or plays no part in any. */
const NOT_AROUND: Readonly<Record<string, undefined>> = {
  rules: undefined,
  observed: undefined,
  ledger: undefined,
  lastGood: undefined,
  refused: undefined,
  withheld: undefined,
};

/** What candidates of all rules are made of. It is small. */
const aroundOf = (input: CompileInput): unknown => ({
  ...input,
  ...NOT_AROUND,
  packages: [...input.observed.keys()],
});

/** The few that are new are put between the others, which are in order. */
const inPlace = (
  rules: readonly RuleObject[],
  before: readonly RuleObject[],
): readonly RuleObject[] => {
  const known = new Set(before);
  const fresh = rules.filter((rule) => !known.has(rule));
  const now = new Set(rules);
  const placed = before.filter((rule) => now.has(rule));
  if (fresh.length > MANY) return [...placed, ...fresh].sort(byPlace);
  for (const rule of fresh) placed.splice(placeIn(placed, rule), 0, rule);
  return placed;
};

/** From here on all are sorted. */
const MANY = 32;

/** Behind those that belong before it or to the same place. */
const placeIn = (placed: readonly RuleObject[], rule: RuleObject): number => {
  let [from, to] = [0, placed.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const other = placed[middle];
    if (other && byPlace(other, rule) <= 0) from = middle + 1;
    else to = middle;
  }
  return from;
};

/** The order of our sections in a package. */
export const byPlace = (a: RuleObject, b: RuleObject): number =>
  (orderOf(a) ?? 0) - (orderOf(b) ?? 0) ||
  compare(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
  placeOf(a.kind) - placeOf(b.kind) ||
  compare(a.metadata.name, b.metadata.name);

const isAsBefore = ({ candidate, older, refused, seen }: Kept, input: CompileInput): boolean => {
  if (refused !== input.refused.get(candidate.rule.metadata.uid)) return false;
  if (older !== olderOf(candidate, input) || seen === undefined) return false;
  for (const [name, content] of seen) if (input.observed.get(name) !== content) return false;
  return true;
};

const make = (rule: RuleObject, kind: KindDefinition, input: CompileInput): Kept => {
  const seen = new Map<string, UciPackage | undefined>();
  let isOfLedger = false;
  const seeing: CandidateInput = {
    ...input,
    observed: {
      has: (name) => input.observed.has(name),
      get: (name) => {
        const content = input.observed.get(name);
        seen.set(name, content);
        return content;
      },
    },
    get ledger() {
      isOfLedger = true;
      return input.ledger;
    },
  };
  const candidate = candidateOf(rule, kind, seeing);
  const refused = input.refused.get(rule.metadata.uid);
  const older = olderOf(candidate, input);
  return { candidate, older, refused, seen: isOfLedger ? undefined : seen };
};
