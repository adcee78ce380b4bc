/** `sdewan wait`. */
import { Argument, Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { contextOption, kubeconfigOption, scopeOptions } from '../options.ts';

export const waitCommand: CommandFile = {
  name: 'wait',
  summary: 'wait until all rules of a CNF are in sync, and say what it waits for',
  description: 'Exits 1 with the causes when they are not in time.',
  args: [new Argument('<cnf>', 'the value of label sdewanPurpose')],
  options: [
    new Option('--in-sync', 'wait for this').makeOptionMandatory(),
    new Option('--timeout <seconds>', 'how long; 0 looks once').default('120'),
    ...scopeOptions(),
    contextOption(),
    kubeconfigOption(),
  ],
  examples: [['cnf-1 --in-sync --timeout 60', 'after kubectl apply, in a pipeline']],
  run: async (...given) => (await import('./run.ts')).runWait(...given),
};
