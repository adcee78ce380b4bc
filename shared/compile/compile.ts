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
  const before = compiled.get(all);
  if (before && areAlike(before, { input, foreign })) return before.result;
  const result = resultOf({ all, foreign, kinds }, input);
  compiled.set(all, { input, foreign, result });
  return result;
};

type Foreign = ReadonlyMap<string, readonly UciSection[]>;
type Compiled = { input: CompileInput; foreign: Foreign };

/** So that what a pass has just written is not compiled anew. */
const compiled = new WeakMap<object, Compiled & { result: CompileResult }>();

/** For two with the same candidates. */
const areAlike = (some: Compiled, others: Compiled): boolean =>
  some.input.rules === others.input.rules &&
  isDeepStrictEqual(some.input.withheld, others.input.withheld) &&
  some.foreign.size === others.foreign.size &&
  [...some.foreign].every(([name, sections]) => {
    const now = others.foreign.get(name);
    return sections.length === now?.length && sections.every((one, at) => one === now[at]);
  });

type Parts = {
  all: ReadonlyMap<RuleObject, Candidate>;
  foreign: Foreign;
  kinds: readonly KindDefinition[];
};

const resultOf = ({ all, foreign, kinds }: Parts, input: CompileInput): CompileResult => {
  const kept = keptInUse(input.rules, (rule) => all.get(rule)?.references ?? []);
  const stays = (rule: RuleObject): boolean => !isBeingDeleted(rule) || kept.has(rule.metadata.uid);
  const needed = [...all.values()].filter(
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
      const candidate = all.get(rule);
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
