/** `sdewan docs`. */
import { Argument } from 'commander';
import type { CommandFile } from '../command.ts';

export const docsCommand: CommandFile = {
  name: 'docs',
  summary: 'show the part of the documentation that an answer names',
  description: 'It needs no cluster. Without a topic it lists those that there are.',
  args: [new Argument('[topic]', 'as the answer names it')],
  examples: [
    ['', 'all topics'],
    ['security#rights', 'one of them'],
  ],
  run: async (...given) => (await import('./run.ts')).runDocs(...given),
};
