/** `sdewan rollout`. */
import { Argument, Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { contextOption, kubeconfigOption } from '../options.ts';
import { ACTIONS } from './actions.ts';

export const rolloutCommand: CommandFile = {
  name: 'rollout',
  summary: 'show what a roll-out of a CNFDeployment waits for, and steer it',
  description: [
    'status    which set of pods serves, which one is staged, and what it waits for; exits 1 while there is a roll-out, or the last one has failed',
    'history   the sets of pods that are kept, with the state of each',
    'undo      back to the template of before, or to that of --to-revision',
    'pause     nothing new is rolled out or handed over',
    'resume    the same, undone',
    'restart   a new set of pods of the same template',
    'promote   the staged set gets the traffic now, with rules that it does not have; it still has to run',
    'adopt     the Deployment of its name becomes its own, and no pod changes',
  ].join('\n'),
  args: [
    new Argument('<action>', 'what to do').choices(ACTIONS),
    new Argument('<cnfdeployment>', 'its name'),
  ],
  options: [
    new Option('-n, --namespace <name>', 'default: that of the context'),
    new Option('--timeout <seconds>', 'status: wait that long for its end').default('0'),
    new Option('--to-revision <number>', 'undo: one of those that history shows'),
    contextOption(),
    kubeconfigOption(),
  ],
  examples: [
    ['status cnf-1 --timeout 600', 'waits, and says for what'],
    ['undo cnf-1 --to-revision 3', 'the template of a revision that history shows'],
  ],
  run: async (...given) => (await import('./run.ts')).runRollout(...given),
};
