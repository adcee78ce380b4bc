/** `sdewan check`: what works now and will be refused by a later release. Changes nothing. */
import { Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { contextOption, kubeconfigOption } from '../options.ts';

export const checkCommand: CommandFile = {
  name: 'check',
  summary: 'list roles that grant bucket types in a way that a later release refuses',
  description: 'Changes nothing.',
  options: [
    new Option('--bucket-types <list>', 'separated by commas').default(
      'basic,app-intent,k8s-service',
    ),
    contextOption(),
    kubeconfigOption(),
  ],
  examples: [['', 'ask before an upgrade which roles must change']],
  run: async (...given) => (await import('./run.ts')).runCheck(...given),
};
