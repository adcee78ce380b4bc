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

/** By rule, in the order of our sections in a package; none for rules of other kinds. */
export type Candidates = (
  input: CompileInput,
  kinds: ReadonlyMap<string, KindDefinition>,
) => ReadonlyMap<RuleObject, Candidate>;

/** What a candidate was made of, beside what all are made of. */
type Origin = {
  older: ReturnType<LastGood['get']>;
  refused: LeftOut | undefined;
  /** What it saw of OpenWRT, by package. Undefined: all that is ours played a part. */
  seen: ReadonlyMap<string, UciPackage | undefined> | undefined;
};

export const createCandidates = (): Candidates => {
  let around: unknown;
  let last: CompileInput | undefined;
  let known: ReadonlyMap<RuleObject, Candidate> = new Map();
  /** Those that saw something of OpenWRT. */
  let seers: readonly Candidate[] = [];
  const origins = new WeakMap<Candidate, Origin>();
  /** What comes out as before stays the same object, so that what follows from it stays, too. */
  const candidateNow = (rule: RuleObject, kind: KindDefinition, input: CompileInput): Candidate => {
    const before = known.get(rule);
    const origin = before && origins.get(before);
    if (origin && isAsBefore(before, origin, input)) return before;
    const made = make(rule, kind, input);
    const candidate = before && isDeepStrictEqual(made.candidate, before) ? before : made.candidate;
    origins.set(candidate, made.origin);
    return candidate;
  };
  const isAsKnown = (candidate: Candidate, input: CompileInput): boolean =>
    candidateNow(candidate.rule, candidate.kind, input) === candidate;
  return (input, kinds) => {
    const now = aroundOf(input);
    const before = last;
    // Until all of it has succeeded.
    last = undefined;
    if (!isDeepStrictEqual(now, around)) {
      around = structuredClone(now);
      known = new Map();
    } else if (areForSame(before, input) && seers.every((each) => isAsKnown(each, input))) {
      last = input;
      return known;
    }
    const next = new Map<RuleObject, Candidate>();
    let isNews = false;
    for (const rule of inPlace(input.rules, known)) {
      const kind = kinds.get(rule.kind);
      if (!kind) continue;
      const candidate = candidateNow(rule, kind, input);
      isNews ||= candidate !== known.get(rule);
      next.set(rule, candidate);
    }
    if (isNews || next.size !== known.size) known = next;
    seers = [...known.values()].filter((each) => origins.get(each)?.seen?.size !== 0);
    last = input;
    return known;
  };
};

/** Rules, and what was in force or refused of each. */
const areForSame = (before: CompileInput | undefined, now: CompileInput): boolean =>
  before?.rules === now.rules &&
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
  known: ReadonlyMap<RuleObject, Candidate>,
): readonly RuleObject[] => {
  const fresh = rules.filter((rule) => !known.has(rule));
  const now = new Set(rules);
  const placed = [...known.keys()].filter((rule) => now.has(rule));
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

const isAsBefore = (
  candidate: Candidate,
  { older, refused, seen }: Origin,
  input: CompileInput,
): boolean => {
  if (refused !== input.refused.get(candidate.rule.metadata.uid)) return false;
  if (older !== olderOf(candidate, input) || seen === undefined) return false;
  for (const [name, content] of seen) if (input.observed.get(name) !== content) return false;
  return true;
};

const make = (
  rule: RuleObject,
  kind: KindDefinition,
  input: CompileInput,
): { candidate: Candidate; origin: Origin } => {
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
  return { candidate, origin: { older, refused, seen: isOfLedger ? undefined : seen } };
};
