/**
 * `npm run suite mutants`: puts each bug of mutants.yaml into a copy of the tree, one at a time,
 * and names those that no test notices. First all proofs run without a bug: a test that always
 * fails proves nothing.
 *
 *   npm run suite mutants [PART…]      only those whose file or invariant contains one of the words
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../product-files.ts';
import { prove, type Outcome } from './prove.ts';
import { mutated, readMutants, type Mutant } from './table.ts';
import { copyTree } from './tree.ts';

const say = (line: string): void => console.log(line);

/** The projects of test/vitest.config.ts. */
const projectOf = (test: string): string =>
  /^test\/(contract|integration|e2e)\//.exec(test)?.[1] ?? 'unit';

const wordsOf = (outcome: Outcome): string => {
  if (outcome.state === 'red') return `killed    by "${outcome.by[0]}"`;
  return outcome.state === 'green' ? 'SURVIVED ' : `BROKEN    ${outcome.why.split('\n')[0]}`;
};

const main = async (signal: AbortSignal): Promise<void> => {
  const { positionals: parts } = parseArgs({ allowPositionals: true, options: {} });
  const mutants = readMutants().filter(
    ({ file, invariant }) =>
      parts.length === 0 || parts.some((part) => file.includes(part) || invariant.includes(part)),
  );
  if (mutants.length === 0) throw new Error('no mutant is selected');
  using tree = copyTree(ROOT);
  const { root } = tree;
  for (const [project, some] of Map.groupBy(mutants, ({ caughtBy }) => projectOf(caughtBy))) {
    const tests = [...new Set(some.map(({ caughtBy }) => caughtBy))];
    const outcome = await prove(project, tests, { root, signal });
    const ran = outcome.state === 'green' ? outcome.files : [];
    const others = tests.filter((test) => !ran.includes(test));
    if (others.length > 0)
      throw new Error(`not green without a mutant: ${JSON.stringify(outcome)}: ${others.join()}`);
  }
  const judge = async (mutant: Mutant): Promise<Outcome> => {
    const file = path.join(root, mutant.file);
    const original = readFileSync(file, 'utf8');
    writeFileSync(file, mutated(original, mutant));
    try {
      return await prove(projectOf(mutant.caughtBy), [mutant.caughtBy], { root, signal });
    } finally {
      writeFileSync(file, original);
    }
  };
  let killed = 0;
  for (const mutant of mutants) {
    const outcome = await judge(mutant);
    if (outcome.state === 'red') killed += 1;
    say(`${wordsOf(outcome)}  ${mutant.file}: ${mutant.find}`);
  }
  say(`${killed} of ${mutants.length} mutants killed`);
  if (killed < mutants.length) process.exitCode = 1;
};

const abort = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(name, () => abort.abort());
try {
  await main(abort.signal);
} catch (error) {
  say(abort.signal.aborted ? 'stopped' : String(error));
  process.exitCode = 1;
}
