/** `sdewan diff`. */
import { Argument } from 'commander';
import type { CommandFile } from '../command.ts';
import { clusterOptions, filenameOption } from '../options.ts';

export const diffCommand: CommandFile = {
  name: 'diff',
  summary:
    'show what of OpenWRT is not as it should be, or what applying rules in files would change',
  description: `With the name of a CNF or of a pod: asks each agent what OpenWRT has and what it should have, as UCI. That takes a port-forward to
the pods: ClusterRole sdewan-debug. With -f: rule by rule, before an apply. Changes nothing.
Exits 0 when nothing differs, 1 when something does, above that when it cannot tell.`,
  args: [new Argument('[cnf|pod]', 'the value of label sdewanPurpose, or one of its pods')],
  options: [filenameOption(), ...clusterOptions()],
  examples: [
    ['cnf-1', 'whether all its pods have what they should have'],
    ['cnf-1-7fbdd9fcd6-729vd', 'of one pod'],
    ['-f rules.yaml', 'before sdewan apply -f rules.yaml'],
  ],
  run: async (...given) => (await import('./run.ts')).runDiff(...given),
};
