/** `sdewan status`. */
import { Argument } from 'commander';
import type { CommandFile } from '../command.ts';
import { clusterOptions } from '../options.ts';

export const statusCommand: CommandFile = {
  name: 'status',
  summary: 'show CNFs, and every rule that is not in sync: why, since when, and what to do',
  description: 'Exits 0 when all rules are in sync, 1 when one is not, 3 when not all can be seen.',
  args: [new Argument('[cnf]', 'only this one')],
  options: clusterOptions(),
  examples: [
    ['', 'the CNFs of the namespace of the context'],
    ['-A', 'those of all namespaces'],
    ['cnf-1 -n edge -o json', 'one CNF, for a program'],
  ],
  run: async (...given) => (await import('./run.ts')).runStatus(...given),
};
