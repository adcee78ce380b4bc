/**
 * From rule CRs to what OpenWRT should hold: our sections of each package in order, and a verdict
 * for each CR. Pure and total: a CR that is wrong gets a verdict, and changes nothing of the
 * others. The order of the input does not matter.
 */
import { isDeepStrictEqual } from 'node:util';
import { inDialect } from '../resources/dialect.ts';
import type { KindDefinition } from '../resources/kind.ts';
import { partsBeside } from '../resources/parts.ts';
import { kinds as registry } from '../resources/registry.ts';
import type { RuleObject } from '../kube/objects.ts';
import { MAX_MESSAGE_LENGTH } from '../protocol/report.ts';
import type { UciSection } from '../uci/model.ts';
import { thereIs } from '../util/few.ts';
import { oncePerNames, oncePerObject } from '../util/memo.ts';
import type { Candidate, JudgedProblem, Rendering } from './candidate.ts';
import { createCandidates, type Candidates } from './candidates.ts';
import { namesakeOf, nameProblems } from './claims.ts';
import { clashesOf } from './clashes.ts';
import { forcesOf } from './forces.ts';
import type { Forces } from './forces.ts';
import { compare, isBeingDeleted, keptInUse, keyOf } from './in-use.ts';
import { foreignIn, othersOf } from './ownership.ts';
import { revisionOf } from './revision.ts';
import type { CompileInput, CompileResult, Verdict } from './types.ts';

/** `candidates`: those of the compilation before. The result is the same without them. */
export const compile = (
  input: CompileInput,
  candidates: Candidates = createCandidates(),
): CompileResult => {
  const kinds = inDialect(registry, input.capabilities.dialect);
  const all = candidates(input, new Map(kinds.map((kind) => [kind.kind, kind])));
  const foreign = foreignIn(input.observed, input.ledger);
  const now: Parts = { all, foreign, kinds, input };
  const before = compiled.get(candidates);
  const result = (before && resultAfter(before, now)) ?? resultOf(now);
  compiled.set(candidates, { ...now, result });
  return result;
};

type Compiled = Parts & { result: CompileResult };

/** The last result with what is kept. */
const compiled = new WeakMap<Candidates, Compiled>();

/** More are compiled all together. */
const FEW = 32;

/**
 * The result before, with what a few rules ask for now where no other rule can tell that they have
 * changed. Undefined where more has changed, or may have.
 */
const resultAfter = (before: Compiled, now: Parts): CompileResult | undefined => {
  const { rules } = now.input;
  if (!areAroundSame(before, now)) return undefined;
  const changed = differingAt(before.all, now.all);
  const replaced = differingAt(before.input.rules, rules);
  if (changed.length + replaced.length === 0) return before.result;
  if (changed.length > FEW || rules.some(isBeingDeleted)) return undefined;
  const desired = new Map(before.result.desired);
  const verdicts = [...before.result.verdicts];
  for (const place of changed) {
    const [was, is] = [before.all[place], now.all[place]];
    if (!was || !is || !isReplaced(desired, was, is, now.kinds)) return undefined;
    verdicts[rules.indexOf(is.rule)] = verdictByItself(is);
  }
  const isAll = replaced.every((at) => verdicts[at]?.rule === rules[at]);
  return isAll ? { desired, verdicts } : undefined;
};

/** False unless one is in force as it is: not withheld, nor waiting, nor without its name. */
const isReplaced = (
  desired: Map<string, readonly UciSection[]>,
  was: Candidate,
  is: Candidate,
  kinds: readonly KindDefinition[],
): boolean => {
  const name = is.kind.uci?.package ?? '';
  const hasJudge = kinds.some(({ uci }) => uci?.clashes && uci.package === name);
  if (hasJudge || !areInterchangeable(was, is)) return false;
  const [old = [], next = []] = [was, is].map(({ renderings }) => renderings[0]?.sections);
  const all = desired.get(name) ?? [];
  const first = old[0] ? all.indexOf(old[0]) : -1;
  if (first === -1) return false;
  desired.set(name, all.toSpliced(first, old.length, ...next));
  return true;
};

/** Places at which two lists of the same length have other objects. */
const differingAt = (before: readonly object[], now: readonly object[]): readonly number[] => {
  const places: number[] = [];
  for (let at = 0; at < now.length; at += 1) if (now[at] !== before[at]) places.push(at);
  return places;
};

const areAroundSame = (some: Parts, others: Parts): boolean =>
  some.kinds === others.kinds &&
  some.all.length === others.all.length &&
  some.input.rules.length === others.input.rules.length &&
  isDeepStrictEqual(some.input.withheld, others.input.withheld) &&
  some.foreign.size === others.foreign.size &&
  [...some.foreign].every(([name, sections]) => {
    const now = others.foreign.get(name);
    return sections.length === now?.length && sections.every((one, at) => one === now[at]);
  });

/** No other rule can tell one from the other. */
const areInterchangeable = (some: Candidate, others: Candidate): boolean => {
  const face = faceOf(some);
  return face !== undefined && isDeepStrictEqual(face, faceOf(others));
};

/** What other rules see of one that is in force as it is. Undefined: more, or it is not. */
const faceOf = ({ rule, key, claims, problem, renderings: [best] }: Candidate): unknown => {
  if (problem || !best || best.shared.length + best.beside.size > 0) return undefined;
  const references = best.references.map(({ kind, name }) => [kind, name]);
  return { uid: rule.metadata.uid, key, claims, references };
};

type Parts = {
  all: readonly Candidate[];
  /** By package: what is not ours. */
  foreign: ReadonlyMap<string, readonly UciSection[]>;
  kinds: readonly KindDefinition[];
  input: CompileInput;
};

const resultOf = ({ all, foreign, kinds, input }: Parts): CompileResult => {
  const of = new Map(all.map((candidate) => [candidate.rule, candidate]));
  const kept = keptInUse(input.rules, (rule) => of.get(rule)?.references ?? []);
  const stays = (rule: RuleObject): boolean => !isBeingDeleted(rule) || kept.has(rule.metadata.uid);
  const needed = all.filter(
    ({ rule }) => input.withheld?.has(rule.metadata.uid) !== true && stays(rule),
  );
  const others = othersOf(foreign, kinds);
  const unnamed = nameProblems(needed, others);
  const forces = forcesOf(
    needed.filter((candidate) => !unnamed.has(candidate)),
    others,
    new Set(needed.map(({ key }) => key)),
  );
  const desired = desiredOf(forces, kinds);
  const clashes = clashesOf(kinds, { ...input, forces, desired, foreign });
  const problems = oncePerNames(
    () => new Map(needed.map((each) => [each.key, (unnamed.get(each) ?? each.problem)?.reason])),
  );
  const situation: Situation = {
    kept,
    unnamed,
    forces,
    clashes,
    problems,
    others: othersBy(needed),
  };
  return {
    desired,
    verdicts: input.rules.map((rule) => {
      const candidate = of.get(rule);
      if (!candidate) return unknownKind(rule);
      const withheld = input.withheld?.get(rule.metadata.uid);
      if (withheld) return { ...unwanted(candidate), ...withheld, verdict: 'pending' };
      if (stays(rule)) return verdictOf(candidate, situation);
      return { ...unwanted(candidate), namesake: namesakeOf(candidate, others) };
    }),
  };
};

const desiredOf = (
  { inForce }: Forces,
  kinds: readonly KindDefinition[],
): ReadonlyMap<string, readonly UciSection[]> => {
  const desired = new Map<string, UciSection[]>();
  const shared = new Map<string, Map<string, UciSection>>();
  const packagesOf = ({ uci }: KindDefinition) =>
    uci
      ? [uci.package, ...partsBeside.filter((part) => part.desired(uci)).map(({ name }) => name)]
      : [];
  for (const name of kinds.flatMap(packagesOf)) {
    desired.set(name, []);
    shared.set(name, new Map());
  }
  const share = (name: string, sections: readonly UciSection[]): void => {
    for (const section of sections) shared.get(name)?.set(section.name, section);
  };
  for (const [{ kind }, rendering] of inForce) {
    if (!kind.uci) continue;
    desired.get(kind.uci.package)?.push(...rendering.sections);
    share(kind.uci.package, rendering.shared);
    for (const [name, items] of rendering.beside) share(name, items);
  }
  for (const [name, sections] of desired) {
    const behind = [...(shared.get(name)?.values() ?? [])];
    sections.push(...behind.sort((a, b) => compare(a.name, b.name)));
  }
  return desired;
};

type Situation = {
  kept: ReadonlyMap<string, RuleObject>;
  unnamed: ReadonlyMap<Candidate, JudgedProblem>;
  forces: Forces;
  clashes: ReadonlyMap<Candidate, string>;
  /** Why rules are not in force, by key. */
  problems: () => ReadonlyMap<string, string | undefined>;
  /** What may have been meant by a name of that kind that is not there. */
  others: (kind: string) => string;
};

/** What decides about a candidate beside itself. */
type Found = {
  rendering: Rendering | undefined;
  problem: JudgedProblem | undefined;
  user?: RuleObject | undefined;
  clash?: string | undefined;
};

const verdictOf = (candidate: Candidate, situation: Situation): Verdict => {
  const rendering = situation.forces.inForce.get(candidate);
  const problem = problemOf(candidate, situation);
  const user = situation.kept.get(candidate.rule.metadata.uid);
  const clash = situation.clashes.get(candidate);
  const isOfItself = rendering === candidate.renderings[0] && problem === candidate.problem;
  return isOfItself && user === undefined && clash === undefined
    ? verdictByItself(candidate)
    : verdictWith(candidate, { rendering, problem, user, clash });
};

const verdictWith = (candidate: Candidate, { rendering, problem, user, clash }: Found): Verdict => {
  const base = {
    ...emptyVerdict(candidate.rule, candidate.revision),
    generationInForce: rendering?.generation,
    sections: rendering ? placesOf(candidate.kind.uci?.package ?? '', rendering) : [],
  };
  if (user) {
    const message = `stays in force because ${user.kind} ${user.metadata.name} refers to it`;
    return { ...base, verdict: 'pending', reason: 'InUse', message };
  }
  if (!problem) {
    const wanted = { verdict: 'wanted', reason: 'Applying', message: '' } as const;
    return { ...base, ...earlierOf(candidate), ...wanted, ...(clash !== undefined && { clash }) };
  }
  return { ...base, ...problem, message: problem.message.slice(0, MAX_MESSAGE_LENGTH) };
};

/** So that what follows from a verdict need not be made anew either. */
const verdictByItself = oncePerObject((candidate: Candidate): Verdict =>
  verdictWith(candidate, { rendering: candidate.renderings[0], problem: candidate.problem }),
);

const earlierOf = ({ kind, renderings }: Candidate): Pick<Verdict, 'earlier'> => {
  const [, before] = renderings;
  if (before === undefined) return {};
  const { generation, sections } = before;
  return { earlier: { generation, package: kind.uci?.package ?? '', sections } };
};

const placesOf = (
  packageName: string,
  { sections, shared, beside }: Rendering,
): Verdict['sections'] => [
  ...[...sections, ...shared].map(({ name }) => ({ package: packageName, name })),
  ...[...beside].flatMap(([part, items]) => items.map(({ name }) => ({ package: part, name }))),
];

/** Why the CR as it is, is not in force. */
const problemOf = (candidate: Candidate, situation: Situation): JudgedProblem | undefined => {
  const byItself = situation.unnamed.get(candidate) ?? candidate.problem;
  const missing = situation.forces.waitsFor.get(candidate);
  if (byItself || !missing) return byItself;
  const key = keyOf(missing.kind, missing.name);
  const why = situation.problems().has(key)
    ? `which is not in force (${situation.problems().get(key) ?? 'WaitingForReference'})`
    : `which does not exist for this purpose${situation.others(missing.kind)}`;
  return {
    verdict: 'pending',
    reason: 'WaitingForReference',
    message: `${missing.path}: waits for ${missing.kind} ${missing.name}, ${why}`,
  };
};

/** By kind, once: many rules can wait for the same. */
const othersBy = (needed: readonly Candidate[]): Situation['others'] =>
  oncePerNames((kind: string) =>
    thereIs(needed.flatMap(({ rule }) => (rule.kind === kind ? rule.metadata.name : []))),
  );

const emptyVerdict = (rule: RuleObject, revision: string) => ({
  rule,
  revision,
  generationInForce: undefined,
  sections: [],
});

const unwanted = ({ rule, revision }: Candidate): Verdict => ({
  ...emptyVerdict(rule, revision),
  verdict: 'unwanted',
  reason: 'Removing',
  message: '',
});

const unknownKind = (rule: RuleObject): Verdict => ({
  ...emptyVerdict(rule, revisionOf(rule)),
  verdict: 'failed',
  reason: 'InvalidSpec',
  message: `this version does not know the kind ${rule.kind}`,
});
