/** The arguments of `sdewan install`. */
import { Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { contextOption, kubeconfigOption } from '../options.ts';

export const installCommand: CommandFile = {
  name: 'install',
  summary: 'print what an installation consists of, or apply it',
  description:
    'The same as kubectl apply -k deploy and as the chart with its defaults. Run again, it upgrades. Whoever installs with Helm goes on with Helm.',
  options: [
    new Option('--apply', 'apply it to the cluster, and wait until the coordinator serves'),
    new Option('--image <reference>', 'image of the coordinator'),
    new Option('--agent-image <reference>', 'image of the agents'),
    new Option('--timeout <seconds>', 'for the coordinator to serve').default('120'),
    contextOption(),
    kubeconfigOption(),
  ],
  examples: [
    ['| less', 'read what it would be'],
    [
      '--apply --image registry.example/sdewan-coordinator:1.0 --agent-image registry.example/sdewan-agent:1.0',
      'install',
    ],
  ],
  run: async (...given) => (await import('./run.ts')).runInstall(...given),
};
