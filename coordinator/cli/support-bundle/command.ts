/** `sdewan support-bundle`. */
import { Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { contextOption, kubeconfigOption, scopeOptions } from '../options.ts';

export const supportBundleCommand: CommandFile = {
  name: 'support-bundle',
  summary: 'write what somebody else needs to help you into a folder, without secrets',
  description: `Rules, statuses, Events, pods, what agents answer, logs, versions, metrics. What you may not see is named, and the rest is written.
Secrets are removed; contents.txt lists each file. Read it before you give it to anybody.
Exits 0 when all of it is there, 3 when something could not be had.`,
  options: [
    new Option('--output-directory <folder>', 'must not exist yet; default: sdewan-support'),
    new Option('--tail <lines>', 'how many lines of each log').default('2000'),
    ...scopeOptions(),
    contextOption(),
    kubeconfigOption(),
  ],
  examples: [
    ['-A', 'of all CNFs'],
    ['-n edge --output-directory edge-1', 'of one namespace'],
  ],
  run: async (...given) => (await import('./run.ts')).runSupportBundle(...given),
};
