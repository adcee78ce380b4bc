/** `sdewan render`. */
import { Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { collected, filenameOption, formatOption } from '../options.ts';

export const renderCommand: CommandFile = {
  name: 'render',
  summary: 'print the UCI configuration that rules in files come to, without a cluster',
  description:
    'Takes an OpenWRT with firewall4 that has the interfaces that rules name. What is wrong is said with file, line and column; exits 1 then.',
  options: [
    filenameOption(),
    new Option(
      '--networks <name=interface>',
      'networks of the CNF, separated by commas; default: those of the CNF manifests in the input',
    ).argParser(collected),
    formatOption(),
  ],
  examples: [
    ['-f rules.yaml --networks ovn-net1=net1', 'the configuration of rules'],
    ['-f cnf.yaml -f rules.yaml', 'with the networks of the CNF'],
    ['-f - < rules.yaml', 'in a pipe'],
  ],
  run: async (...given) => (await import('./run.ts')).runRender(...given),
};
