/** The result of each mutant, and the report: survivors, and a score for each folder of the product. Pure. */
import { wordsOf, type Mutant, type Proof } from './mutant.ts';
import type { Outcome } from './report.ts';

export type Verdict =
  | { state: 'killed'; by: readonly string[] }
  /** `proofs`: those that stayed green. */
  | { state: 'survived'; proofs: readonly Proof[] }
  | { state: 'does not apply' }
  | { state: 'broken'; why: string };

export type Result = { mutant: Mutant; verdict: Verdict; tookMs: number };

/** Each proof must be red alone. One that shows nothing is worse than one that is green: it may never have looked. */
export const verdictOf = (
  proved: readonly { proof: Proof; outcome: Outcome }[],
): Exclude<Verdict, { state: 'does not apply' }> => {
  for (const { proof, outcome } of proved)
    if (outcome.state === 'broken')
      return { state: 'broken', why: `${wordsOf(proof)}: ${outcome.why}` };
  const green = proved.filter(({ outcome }) => outcome.state === 'green');
  if (green.length > 0) return { state: 'survived', proofs: green.map(({ proof }) => proof) };
  return {
    state: 'killed',
    by: proved.flatMap(({ outcome }) => (outcome.state === 'red' ? outcome.by : [])),
  };
};

export const isKilled = ({ verdict }: Result): boolean => verdict.state === 'killed';

export const lineOf = ({ mutant, verdict, tookMs }: Result): string =>
  `${verdict.state.padEnd(14)} ${mutant.name}  ${detailOf(verdict)} (${(tookMs / 1_000).toFixed(1)} s)`;

const detailOf = (verdict: Verdict): string => {
  if (verdict.state === 'killed') return `by ${verdict.by.map((test) => `"${test}"`).join(', ')}`;
  if (verdict.state === 'survived')
    return `is not noticed by ${verdict.proofs.map(wordsOf).join(', ')}`;
  return verdict.state === 'broken'
    ? verdict.why
    : 'the code has changed: mend the patch, or drop it';
};

/** Folders by name, a total, and everything that is not killed once more. */
export const summaryOf = (results: readonly Result[]): string[] => {
  const byFolder = [...Map.groupBy(results, ({ mutant }) => mutant.folder)].sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  return [
    ...byFolder.map(([folder, some]) => scoreLine(folder, some)),
    scoreLine('all', results),
    ...results.filter((result) => !isKilled(result)).map(lineOf),
  ];
};

const scoreLine = (name: string, results: readonly Result[]): string =>
  `${name.padEnd(32)} ${results.filter(isKilled).length} of ${results.length} killed`;
