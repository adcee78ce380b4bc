/** `sdewan explain`. */
import { Argument } from 'commander';
import type { CommandFile } from '../command.ts';
import { clusterOptions } from '../options.ts';

export const explainCommand: CommandFile = {
  name: 'explain',
  summary: 'show all of one rule: the UCI that it becomes, where it is in force, what it refers to',
  description:
    'Of a NetworkPolicy or MultiNetworkPolicy: at which CNFs it is enforced, for which pods, and for which not and why. Exits 0 when it is in sync, wherever it is enforced, else 1.',
  args: [new Argument('<kind/name>', 'such as FirewallRule/reject-80, or networkpolicy/web')],
  options: clusterOptions(),
  examples: [
    ['FirewallRule/reject-80', 'a rule in the namespace of the context'],
    ['firewallzone/lan1 -n edge -o yaml', 'for a program'],
    ['networkpolicy/web -n shop', 'a policy that CNFs enforce'],
  ],
  run: async (...given) => (await import('./run.ts')).runExplain(...given),
};
