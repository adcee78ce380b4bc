/**
 * How many cases tests with random cases try, and which ones: the same in every run of `npm test`
 * and of CI, so that a change is what turns them red. `npm run suite nightly` sets both variables:
 * another seed each time, and many more cases; `npm run check` tries a tenth.
 */

/** The seed of fast-check, fuzz and walks. */
export const SEED = Number(process.env['SDEWAN_SEED'] ?? 1);
/** So many times the usual number of cases. */
export const TIMES = Number(process.env['SDEWAN_TIMES'] ?? 1);

export const caseCount = (usual: number): number => Math.ceil(usual * TIMES);
