/** Options that several commands have. */
import { Option } from 'commander';

/** For an option that can be repeated. */
export const collected = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  value,
];

export const filenameOption = (): Option =>
  new Option(
    '-f, --filename <file>',
    'YAML or JSON; - for standard input; can be repeated',
  ).argParser(collected);

export const kubeconfigOption = (): Option =>
  new Option('--kubeconfig <file>', 'default: KUBECONFIG, or ~/.kube/config');
export const contextOption = (): Option =>
  new Option('--context <name>', 'context of the kubeconfig; default: its current one');
