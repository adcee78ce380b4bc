/** The options of commands that look at CNFs. */
import type { Option } from 'commander';
import { contextOption, kubeconfigOption } from '../options.ts';
import { formatOption } from '../output/format.ts';
import { scopeOptions } from './scope.ts';

export const clusterOptions = (): readonly Option[] => [
  ...scopeOptions(),
  formatOption(),
  contextOption(),
  kubeconfigOption(),
];
