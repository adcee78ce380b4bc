/** `sdewan diff`. */
import type { CommandFile } from '../command.ts';
import {
  contextOption,
  filenameOption,
  formatOption,
  kubeconfigOption,
  scopeOptions,
} from '../options.ts';

export const diffCommand: CommandFile = {
  name: 'diff',
  summary: 'show what applying rules in files would change on OpenWRT, rule by rule',
  description: 'Changes nothing. Exits 0 when nothing would change, 1 when something would.',
  options: [
    filenameOption(),
    formatOption(),
    ...scopeOptions().slice(0, 1),
    contextOption(),
    kubeconfigOption(),
  ],
  examples: [['-f rules.yaml', 'before sdewan apply -f rules.yaml']],
  run: async (...given) => (await import('./run.ts')).runDiff(...given),
};
