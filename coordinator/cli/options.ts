/** Options that several commands have. What they mean is elsewhere, so that help loads fast. */
import { Option } from 'commander';
import { FORMATS } from '../views/output/formats.ts';

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

export const connectionOptions = (): readonly Option[] => [
  new Option('--context <name>', 'context of the kubeconfig; default: its current one'),
  new Option('--kubeconfig <file>', 'default: KUBECONFIG, or ~/.kube/config'),
];

export const namespaceOption = (): Option =>
  new Option('-n, --namespace <name>', 'default: that of the context');
export const scopeOptions = (): readonly Option[] => [
  namespaceOption(),
  new Option('-A, --all-namespaces', 'in all namespaces'),
];

export const formatOption = (): Option =>
  new Option('-o, --output <format>', 'how to print').choices(FORMATS).default('table');

/** Options of commands that look at CNFs. */
export const clusterOptions = (): readonly Option[] => [
  ...scopeOptions(),
  formatOption(),
  ...connectionOptions(),
];
