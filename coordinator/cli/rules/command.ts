/** `sdewan rules`. */
import { Argument } from 'commander';
import type { CommandFile } from '../command.ts';
import { clusterOptions } from '../options.ts';

export const rulesCommand: CommandFile = {
  name: 'rules',
  summary:
    "list the rules of a CNF in the order of OpenWRT's configuration, with the state on each pod",
  description: 'Exits 0 when all are in sync, 1 when one is not, 3 when not all can be seen.',
  args: [new Argument('<cnf>', 'the value of label sdewanPurpose')],
  options: clusterOptions(),
  examples: [
    ['cnf-1', 'the rules, and the pods that do not have them'],
    ['cnf-1 -o wide', 'with a column for each pod'],
  ],
  run: async (...given) => (await import('./run.ts')).runRules(...given),
};
