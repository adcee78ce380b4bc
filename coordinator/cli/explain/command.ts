/** `sdewan explain`. */
import { Argument } from 'commander';
import type { CommandFile } from '../command.ts';
import { clusterOptions } from '../options.ts';

export const explainCommand: CommandFile = {
  name: 'explain',
  summary: 'show all of one rule: the UCI that it becomes, where it is in force, what it refers to',
  description: 'Exits 0 when it is in sync, else 1.',
  args: [new Argument('<kind/name>', 'such as FirewallRule/reject-80, or fwr/reject-80')],
  options: clusterOptions(),
  examples: [
    ['FirewallRule/reject-80', 'a rule in the namespace of the context'],
    ['firewallzone/lan1 -n edge -o yaml', 'for a program'],
  ],
  run: async (...given) => (await import('./run.ts')).runExplain(...given),
};
