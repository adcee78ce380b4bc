/**
 * The whole run: first all proofs without a bug, which must be green, since a test that always fails proves nothing; then the
 * mutants, several at a time, each in a tree that has no other bug in it.
 */
import { performance } from 'node:perf_hooks';
import { byCost, isQuick, projectOf, wordsOf, type Mutant, type Proof } from './mutant.ts';
import type { Outcome } from './report.ts';
import { verdictOf, type Result, type Verdict } from './score.ts';
import type { Tree } from './tree.ts';

export type CampaignDeps = {
  copyTree: () => Tree;
  prove: (proof: Proof, root: string) => Promise<Outcome>;
  /** How many mutants at a time, as long as they need no control plane: those that do would only wait for each other and fail by the clock. */
  jobs: number;
  onResult: (result: Result) => void;
  say: (line: string) => void;
};

/** In the order in which they ended. @throws Error where a proof is not green without a bug */
export const runCampaign = async (
  mutants: readonly Mutant[],
  deps: CampaignDeps,
): Promise<Result[]> => {
  const results: Result[] = [];
  using trees = new DisposableStack();
  const first = trees.use(deps.copyTree());
  await checkBaseline(mutants, first, deps);
  const work = async (tree: Tree, waiting: Mutant[]): Promise<void> => {
    for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
      const started = performance.now();
      const verdict = await judge(mutant, tree, deps);
      const result = { mutant, verdict, tookMs: performance.now() - started };
      results.push(result);
      deps.onResult(result);
    }
  };
  const quick = mutants.filter(isQuick).sort(byCost);
  const others = Array.from({ length: Math.max(0, Math.min(deps.jobs, quick.length) - 1) }, () =>
    trees.use(deps.copyTree()),
  );
  const ends = await Promise.allSettled([first, ...others].map((tree) => work(tree, quick)));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  await work(first, mutants.filter((mutant) => !isQuick(mutant)).sort(byCost));
  return results;
};

const judge = async (mutant: Mutant, tree: Tree, { prove }: CampaignDeps): Promise<Verdict> => {
  if (!tree.apply(mutant.patch)) return { state: 'does not apply' };
  try {
    const proved = [];
    for (const proof of mutant.proofs)
      proved.push({ proof, outcome: await prove(proof, tree.root) });
    return verdictOf(proved);
  } finally {
    tree.revert();
  }
};

const checkBaseline = async (
  mutants: readonly Mutant[],
  { root }: Tree,
  { prove, say }: CampaignDeps,
): Promise<void> => {
  for (const proof of baselineOf(mutants)) {
    say(`without a mutant: ${wordsOf(proof)}`);
    const outcome = await prove(proof, root);
    if (outcome.state === 'red')
      throw new Error(`red without a mutant: ${wordsOf(proof)}: ${outcome.by.join(', ')}`);
    if (outcome.state === 'broken')
      throw new Error(`broken without a mutant: ${wordsOf(proof)}: ${outcome.why}`);
    if ('script' in proof) continue;
    const idle = proof.filters.filter((part) => !outcome.files.some((file) => file.includes(part)));
    if (idle.length > 0) throw new Error(`${proof.project} has no test file ${idle.join(', ')}`);
  }
};

/** Every script once, and every project once with all its filters: a control plane starts only once. */
export const baselineOf = (mutants: readonly Mutant[]): Proof[] => {
  const proofs = mutants.flatMap((mutant) => mutant.proofs);
  const scripts = new Map(
    proofs.flatMap((proof) => ('script' in proof ? [[wordsOf(proof), proof]] : [])),
  );
  const byProject = Map.groupBy(
    proofs.filter((proof) => 'project' in proof),
    projectOf,
  );
  return [
    ...[...byProject].map(([project, some]) => ({
      project,
      filters: [...new Set(some.flatMap(({ filters }) => filters))].sort(),
    })),
    ...scripts.values(),
  ];
};
