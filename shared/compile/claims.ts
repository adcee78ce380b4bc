/**
 * Whose a section name is. Two CRs can want one name (`a-b` and `a.b`, or a policy and a rule of
 * mwan3): the older has it. A name that an administrator uses is given to no rule; what ICN's
 * controller made is ours by then (adoption.ts).
 */
import { placeOf } from '../resources/registry.ts';
import type { Candidate, JudgedProblem } from './candidate.ts';
import { compare } from './in-use.ts';
import { ledgerKey } from './ownership.ts';
import type { Others } from './ownership.ts';

/** The candidates that may not have their names, and why. */
export const nameProblems = (
  candidates: readonly Candidate[],
  others: Others,
): ReadonlyMap<Candidate, JudgedProblem> => {
  const problems = new Map<Candidate, JudgedProblem>();
  const owners = new Map<string, Candidate>();
  for (const candidate of contested(candidates, others).toSorted(byAge)) {
    const { claims } = candidate;
    const claim = claims.find((each) => owners.has(each));
    const owner = claim === undefined ? undefined : owners.get(claim);
    const problem =
      claim !== undefined && owner
        ? conflictWith(owner, claim, candidate)
        : takenProblem(candidate, claims, others);
    if (problem) problems.set(candidate, problem);
    else for (const each of claims) owners.set(each, candidate);
  }
  return problems;
};

/** Those of which a claim is another's, too: what the rest claims is theirs, whatever their age. */
const contested = (
  candidates: readonly Candidate[],
  { sections, named }: Others,
): readonly Candidate[] => {
  const claimed = new Set<string>();
  const twice = new Set<string>();
  for (const { claims } of candidates)
    for (const claim of claims) (claimed.has(claim) ? twice : claimed).add(claim);
  return candidates.filter(
    ({ key, claims }) =>
      named.has(key) || claims.some((claim) => twice.has(claim) || sections.has(claim)),
  );
};

/** Older first; the order in which names are given away. */
const byAge = (a: Candidate, b: Candidate): number =>
  compare(a.rule.metadata.creationTimestamp, b.rule.metadata.creationTimestamp) ||
  placeOf(a.rule.kind) - placeOf(b.rule.kind) ||
  compare(a.rule.metadata.name, b.rule.metadata.name);

/** `package.section` of others with a name that the CR would have, where names do not tell. */
export const namesakeOf = (candidate: Candidate, { sections }: Others): string | undefined => {
  const { uci } = candidate.kind;
  if (!uci || uci.ownership === 'prefix') return undefined;
  const found = candidate.claims.find((claim) => sections.has(claim));
  const section = found === undefined ? undefined : sections.get(found);
  return section && ledgerKey(uci.package, section.name);
};

const pathOf = ({ kind: { uci }, renderings }: Candidate, claim: string): string | undefined =>
  renderings
    .map(({ sections }) => uci?.pathOf?.(claim, sections))
    .find((path) => path !== undefined);

const conflictWith = ({ rule }: Candidate, claim: string, younger: Candidate): JudgedProblem => {
  const older = `the older ${rule.kind} ${rule.metadata.name}`;
  const path = pathOf(younger, claim);
  return {
    verdict: 'failed',
    reason: 'NameConflict',
    message:
      path === undefined
        ? `metadata.name: OpenWRT has the same name for ${older}`
        : `${path}: ${older} has ${claim}`,
  };
};

const takenProblem = (
  candidate: Candidate,
  claims: readonly string[],
  others: Others,
): JudgedProblem | undefined => {
  const { key, kind } = candidate;
  const claim = claims.find((each) => others.sections.has(each));
  const section = claim === undefined ? others.named.get(key) : others.sections.get(claim);
  if (section === undefined) return undefined;
  const path = claim === undefined ? undefined : pathOf(candidate, claim);
  const what = path === undefined ? 'that name' : claim;
  return {
    verdict: 'failed',
    reason: 'NameTaken',
    message: `${path ?? 'metadata.name'}: OpenWRT already has a section of type ${section.type} with ${what} in package ${kind.uci?.package ?? ''}, which the agent did not make (section ${section.name})`,
  };
};
