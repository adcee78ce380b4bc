/** The arguments of `sdewan uninstall`. */
import { Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { contextOption, kubeconfigOption } from '../options.ts';

export const uninstallCommand: CommandFile = {
  name: 'uninstall',
  summary: 'remove rules, CRDs, webhooks, rights and the coordinator from a cluster',
  options: [
    new Option('--yes', 'confirm'),
    new Option(
      '--force',
      'also remove rules that CNFs do not confirm in time; they stay on OpenWRT until the pod is re-created',
    ),
    new Option(
      '--keep-rules',
      'rules, CRDs and what is configured on CNFs stay; only those rules go that are being deleted',
    ),
    new Option(
      '--keep-namespace <name>',
      'the namespace of the coordinator stays, without what is in it of the product; Helm keeps its release there',
    ),
    new Option('--unless-rules', 'change nothing where there are rules'),
    new Option('--timeout <seconds>', 'for each step').default('120'),
    contextOption(),
    kubeconfigOption(),
  ],
  examples: [
    ['', 'say what would go, and from where'],
    ['--yes', 'remove everything'],
    ['--yes --keep-rules', 'go back to the controller of ICN'],
  ],
  run: async (...given) => (await import('./run.ts')).runUninstall(...given),
};
