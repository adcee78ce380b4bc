/** `sdewan check`. Changes nothing. */
import { Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { contextOption, formatOption, kubeconfigOption } from '../options.ts';

export const checkCommand: CommandFile = {
  name: 'check',
  summary: 'check the installation, or whether a cluster is ready for it',
  description: 'Changes nothing. Exits 1 when something is wrong, 3 when not all can be told.',
  options: [
    new Option('--pre', 'before an installation'),
    formatOption(),
    contextOption(),
    kubeconfigOption(),
  ],
  examples: [
    ['', 'the installation, CNFs and agents, and Services that get no ports'],
    ['--pre', 'whether the cluster and your rights suffice'],
  ],
  run: async (...given) => (await import('./run.ts')).runCheck(...given),
};
