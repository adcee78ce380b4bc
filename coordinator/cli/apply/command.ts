/** `sdewan apply` and `sdewan delete`. */
import { Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { contextOption, filenameOption, kubeconfigOption, scopeOptions } from '../options.ts';

const options = (): readonly Option[] => [
  filenameOption(),
  new Option('--timeout <seconds>', 'how long to wait in all').default('60'),
  ...scopeOptions().slice(0, 1),
  contextOption(),
  kubeconfigOption(),
];

export const applyCommand: CommandFile = {
  name: 'apply',
  summary: 'apply rules in files, each after those that it refers to',
  description:
    'Takes rules alone; kubectl applies what is none. A rule that is refused because another one is missing is tried again until time is up.',
  options: options(),
  examples: [['-f rules.yaml', 'rules in any order']],
  run: async (...given) => (await import('./run.ts')).runApply(...given),
};

export const deleteCommand: CommandFile = {
  name: 'delete',
  summary: 'delete the rules in files, each before those that it refers to',
  description:
    'A rule that others refer to is refused until they are gone, so it waits for them. Exits 1 with what blocks them when rules are still there in the end.',
  options: options(),
  examples: [['-f rules.yaml', 'what sdewan apply -f has made of this file']],
  run: async (...given) => (await import('./run.ts')).runDelete(...given),
};
