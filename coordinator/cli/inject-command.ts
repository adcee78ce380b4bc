/** `sdewan inject` and `sdewan uninject`. */
import { Option } from 'commander';
import type { CommandFile } from './command.ts';
import { filenameOption } from './options.ts';

export const injectCommand: CommandFile = {
  name: 'inject',
  summary: 'inject the agent into the CNFs of a manifest, as the webhook does',
  description:
    'Prints the manifest. Other defaults of the agent: variables SDEWAN_AGENT_... as for the coordinator; for one CNF, its annotations.',
  options: [
    filenameOption(),
    new Option('--agent-image <image>', 'default: SDEWAN_AGENT_IMAGE, or sdewan-agent:dev'),
    new Option('--system-namespace <name>', 'where the coordinator runs').default('sdewan-system'),
    new Option(
      '--default-reads-keys',
      "service account default of the CNF's namespace may read IPsec kinds",
    ),
    new Option(
      '--without-webhook',
      'the pods start without the coordinator; adds the RoleBindings that their agents need',
    ),
    new Option('-n, --namespace <name>', 'for these RoleBindings, where a CNF names none'),
  ],
  examples: [
    ['-f cnf.yaml | kubectl apply -f -', 'deploy a CNF with the agent in its manifest'],
    ['-f cnf.yaml --without-webhook -n edge', 'let its pods start while no coordinator runs'],
  ],
  run: async (...given) => (await import('./inject-run.ts')).runInject(...given),
};

export const uninjectCommand: CommandFile = {
  name: 'uninject',
  summary: 'remove the agent from the CNFs of a manifest again',
  options: [filenameOption()],
  examples: [['-f cnf.yaml', 'print the manifest as it was before inject']],
  run: async (...given) => (await import('./inject-run.ts')).runUninject(...given),
};
