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

/** A candidate, and what it was made of beside what all are made of. */
type Made = {
  candidate: Candidate;
  older: ReturnType<LastGood['get']>;
  refused: LeftOut | undefined;
  /** What it saw of OpenWRT, by package. Undefined: all that is ours played a part. */
  seen: ReadonlyMap<string, UciPackage | undefined> | undefined;
};

export const createCandidates = (): Candidates => {
  let around: unknown;
  let known: ReadonlyMap<RuleObject, Made> = new Map();
  return (input, kinds) => {
    const now = aroundOf(input);
    if (!isDeepStrictEqual(now, around)) {
      around = structuredClone(now);
      known = new Map();
    }
    const made = new Map<RuleObject, Made>();
    for (const rule of inPlace(input.rules, known)) {
      const kind = kinds.get(rule.kind);
      if (!kind) continue;
      const before = known.get(rule);
      const stays = before && isAsBefore(before, input);
      made.set(rule, stays ? before : make(rule, kind, input));
    }
    known = made;
    return new Map([...made].map(([rule, { candidate }]) => [rule, candidate]));
  };
};

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

/** The few that are new are sorted into the others, which are in order. */
const inPlace = (
  rules: readonly RuleObject[],
  known: ReadonlyMap<RuleObject, Made>,
): readonly RuleObject[] => {
  const now = new Set(rules);
  const still = [...known.keys()].filter((rule) => now.has(rule));
  return [...still, ...rules.filter((rule) => !known.has(rule))].sort(byPlace);
};

/** The order of our sections in a package. */
export const byPlace = (a: RuleObject, b: RuleObject): number =>
  (orderOf(a) ?? 0) - (orderOf(b) ?? 0) ||
  compare(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
  placeOf(a.kind) - placeOf(b.kind) ||
  compare(a.metadata.name, b.metadata.name);

const isAsBefore = ({ candidate, ...made }: Made, input: CompileInput): boolean =>
  made.refused === input.refused.get(candidate.rule.metadata.uid) &&
  made.older === olderOf(candidate, input) &&
  made.seen !== undefined &&
  [...made.seen].every(([name, content]) => input.observed.get(name) === content);

const make = (rule: RuleObject, kind: KindDefinition, input: CompileInput): Made => {
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
