/** `sdewan logs`. */
import { Argument, Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { contextOption, kubeconfigOption, scopeOptions } from '../options.ts';

export const logsCommand: CommandFile = {
  name: 'logs',
  summary: 'print the logs of all agents of a CNF, readable, by time',
  description: 'Needs the rights to list pods and to get pods/log.',
  args: [new Argument('<cnf>', 'the value of label sdewanPurpose')],
  options: [
    new Option('--follow', 'go on with what is logged from now on'),
    new Option('--tail <lines>', 'how many lines of each pod').default('100'),
    new Option('--since <seconds>', 'only lines that are younger'),
    new Option('-o, --output <format>', 'json: the lines as they are')
      .choices(['text', 'json'])
      .default('text'),
    ...scopeOptions().slice(0, 1),
    contextOption(),
    kubeconfigOption(),
  ],
  examples: [
    ['cnf-1', 'what its agents have logged last'],
    ['cnf-1 --follow --since 60', 'of the last minute, and on'],
  ],
  run: async (...given) => (await import('./run.ts')).runLogs(...given),
};
