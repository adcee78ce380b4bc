/**
 * `npm run test:mutants`: puts each bug of test/mutants/*.patch into a copy of the tree, and lists those that no test notices.
 *
 *   npm run test:mutants -- [--list] [--project PROJECT] [--jobs N] [NAME…]
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { runCampaign } from './campaign.ts';
import { parseMutant, selected, wordsOf, type Mutant } from './mutant.ts';
import { prove } from './prove.ts';
import { isKilled, lineOf, summaryOf } from './score.ts';
import { copyTree } from './tree.ts';

/** The slowest proof is an end-to-end file, with its control plane some minutes on a busy machine. */
const TIMEOUT_MS = 900_000;
/** A file of unit tests ends within seconds; under a bug it may never. */
const UNIT_TIMEOUT_MS = 120_000;

const checkout = path.resolve(import.meta.dirname, '../..');
const say = (line: string): void => console.log(line);

const readMutants = (): Mutant[] =>
  readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith('.patch'))
    .sort()
    .map((file) =>
      parseMutant(
        path.basename(file, '.patch'),
        readFileSync(path.join(import.meta.dirname, file), 'utf8'),
      ),
    );

const list = (mutants: readonly Mutant[]): void => {
  for (const { name, promise, proofs } of mutants)
    say(`${name}\n  ${promise}\n  ${proofs.map(wordsOf).join('\n  ')}`);
  say(`${mutants.length} mutants`);
};

const main = async (signal: AbortSignal): Promise<number> => {
  const { values, positionals: names } = parseArgs({
    allowPositionals: true,
    options: {
      list: { type: 'boolean', default: false },
      project: { type: 'string' },
      jobs: { type: 'string', default: '2' },
    },
  });
  const mutants = selected(readMutants(), { names, project: values.project });
  if (mutants.length === 0) throw new Error('no mutant is selected');
  if (values.list) {
    list(mutants);
    return 0;
  }
  const results = await runCampaign(mutants, {
    copyTree: () => copyTree(checkout),
    prove: (proof, root) => {
      const isUnit = 'project' in proof && proof.project === 'unit';
      return prove(proof, { root, signal, timeoutMs: isUnit ? UNIT_TIMEOUT_MS : TIMEOUT_MS });
    },
    jobs: z.coerce.number().int().min(1).parse(values.jobs),
    onResult: (result) => say(lineOf(result)),
    say,
  });
  for (const line of ['', ...summaryOf(results)]) say(line);
  return results.every(isKilled) ? 0 : 1;
};

const abort = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(name, () => abort.abort());
try {
  process.exitCode = await main(abort.signal);
} catch (error) {
  say(abort.signal.aborted ? 'stopped' : String(error));
  process.exitCode = 1;
}
