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
    new Option('--migrate', "also what to look at when rules come from ICN's controller"),
    new Option('--bucket-types <list>', 'separated by commas').default(
      'basic,app-intent,k8s-service',
    ),
    formatOption(),
    contextOption(),
    kubeconfigOption(),
  ],
  examples: [
    [
      '',
      'the installation, CNFs and agents, roles that a later release refuses, and Services that get no ports',
    ],
    ['--pre', 'whether the cluster and your rights suffice'],
    ['--migrate', "before ICN's controller is replaced, and after"],
  ],
  run: async (...given) => (await import('./run.ts')).runCheck(...given),
};
