/** `sdewan version`. */
import { Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { clusterOptions } from '../options.ts';

export const versionCommand: CommandFile = {
  name: 'version',
  summary:
    'show the versions of this program, the coordinator and the agents, and whether they fit',
  description: 'Exits 1 when they do not fit, 3 when it cannot be told.',
  options: [new Option('--client', 'of this program only'), ...clusterOptions()],
  examples: [
    ['', 'all sides'],
    ['--client', 'without a cluster'],
  ],
  run: async (...given) => (await import('./run.ts')).runVersion(...given),
};
