/** `sdewan completion`. */
import { Argument } from 'commander';
import { EXIT, type CommandFile } from '../command.ts';
import { scripts } from './scripts.ts';
import { own } from '#shared/runtime/own.ts';

const shells = Object.keys(scripts);

export const completionCommand: CommandFile = {
  name: 'completion',
  summary: 'print what a shell needs to complete commands, options and names of CNFs',
  description:
    'kubectl completes `kubectl sdewan` by itself where kubectl_complete-sdewan is in the PATH.',
  args: [new Argument('<shell>', 'which').choices(shells)],
  examples: [
    ['bash > /etc/bash_completion.d/sdewan', 'for all users'],
    ['zsh > "${fpath[1]}/_sdewan"', 'for zsh'],
    ['fish | source', 'for this session'],
  ],
  run: async ({ args: [shell = ''] }, { out }) => {
    out(own<string>(scripts, shell) ?? '');
    return EXIT.done;
  },
};
