/**
 * What Stryker mutates: pure folders, and how many percent the tests must notice. Elsewhere mutants
 * are made by hand (`mutants.ts`).
 */
type Mutated = {
  /** Beside the tests of the folder itself. */
  tests?: readonly string[];
  /** As measured, rounded down: what a folder has reached it keeps. */
  least: number;
};

export const STRYKER: Readonly<Record<string, Mutated>> = {
  'coordinator/rule-status': { least: 97 },
  'shared/uci': { least: 94 },
  'shared/compile': { tests: ['test/golden'], least: 91 },
  'agent/reconcile': { least: 91 },
};
