/**
 * Whose a section name is. Two CRs can want one name (`a-b` and `a.b`, or a policy and a rule of mwan3): the older has it. A
 * name that an administrator uses is given to no rule; what ICN's controller made is ours by then (adoption.ts).
 */
import { placeOf } from '../resources/registry.ts';
import { uciName } from '../uci/names.ts';
import type { Candidate, JudgedProblem } from './candidate.ts';
import { compare, keyOf } from './in-use.ts';
import { ledgerKey } from './ownership.ts';
import type { Others } from './ownership.ts';

/** The candidates that may not have their names, and why. */
export const nameProblems = (
  candidates: readonly Candidate[],
  others: Others,
): ReadonlyMap<Candidate, JudgedProblem> => {
  const problems = new Map<Candidate, JudgedProblem>();
  const owners = new Map<string, Candidate>();
  for (const candidate of [...candidates].sort(byAge)) {
    const claims = claimsOf(candidate);
    const owner = claims.map((claim) => owners.get(claim)).find((other) => other !== undefined);
    const problem = owner ? conflictWith(owner) : takenProblem(candidate, claims, others);
    if (problem) problems.set(candidate, problem);
    else for (const claim of claims) owners.set(claim, candidate);
  }
  return problems;
};

/** Older first; the order in which names are given away. */
const byAge = (a: Candidate, b: Candidate): number =>
  compare(a.rule.metadata.creationTimestamp, b.rule.metadata.creationTimestamp) ||
  placeOf(a.rule.kind) - placeOf(b.rule.kind) ||
  compare(a.rule.metadata.name, b.rule.metadata.name);

/** All that the CR would write, and its own name even where it cannot be rendered now. */
const claimsOf = ({ rule, kind, renderings }: Candidate): string[] => {
  const { uci } = kind;
  if (!uci) return [];
  const sections = renderings.flatMap((rendering) => rendering.sections);
  const names = [
    `${uci.sectionPrefix}${uciName(rule.metadata.name)}`,
    ...sections.map(({ name }) => name),
  ];
  return [
    ...new Set([
      ...names.map((name) => ledgerKey(uci.package, name)),
      ...sections.flatMap((section) => uci.identities?.(section) ?? []),
    ]),
  ];
};

/** `package.section` of what is not ours and has a name that the CR would have, where the name does not tell whose it is. */
export const namesakeOf = (candidate: Candidate, { sections }: Others): string | undefined => {
  const { uci } = candidate.kind;
  if (!uci || uci.ownership === 'prefix') return undefined;
  const found = claimsOf(candidate).find((claim) => sections.has(claim));
  const section = found === undefined ? undefined : sections.get(found);
  return section && ledgerKey(uci.package, section.name);
};

const conflictWith = ({ rule }: Candidate): JudgedProblem => ({
  verdict: 'failed',
  reason: 'NameConflict',
  message: `metadata.name: OpenWRT has the same name for the older ${rule.kind} ${rule.metadata.name}`,
});

const takenProblem = (
  { rule, kind }: Candidate,
  claims: readonly string[],
  others: Others,
): JudgedProblem | undefined => {
  const section =
    claims.map((claim) => others.sections.get(claim)).find((found) => found !== undefined) ??
    others.named.get(keyOf(rule.kind, rule.metadata.name));
  return (
    section && {
      verdict: 'failed',
      reason: 'NameTaken',
      message: `metadata.name: OpenWRT already has a section of type ${section.type} with that name in package ${kind.uci?.package ?? ''}, which the agent did not make (section ${section.name})`,
    }
  );
};
