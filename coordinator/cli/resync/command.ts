/** `sdewan resync`. */
import { Argument } from 'commander';
import type { CommandFile } from '../command.ts';
import { contextOption, kubeconfigOption, scopeOptions } from '../options.ts';

export const resyncCommand: CommandFile = {
  name: 'resync',
  summary: 'let the agent of a pod look at everything now, and repair what is not as it should be',
  description: `Takes a port-forward to the pod: ClusterRole sdewan-debug. Agents look by themselves, too; each takes three such requests at once, then
one in ten seconds. Of a CNF: all its pods, one after the other.`,
  args: [new Argument('<cnf|pod>', 'a pod, or the value of label sdewanPurpose')],
  options: [...scopeOptions().slice(0, 1), contextOption(), kubeconfigOption()],
  examples: [['cnf-1-7fbdd9fcd6-729vd', 'after its OpenWRT was changed by hand']],
  run: async (...given) => (await import('./run.ts')).runResync(...given),
};
