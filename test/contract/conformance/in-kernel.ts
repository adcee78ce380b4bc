/**
 * Whether a device's kernel does what a rule says: the samples' lines of it, compared with what was
 * seen.
 */
import { samplesOf } from '../../samples/all.ts';
import type { Difference } from '../../openwrt/checks/kernel.ts';
import { OPERATIONS, type Looks, type Operation } from './lives.ts';
import type { Path } from './stage.ts';

/** What is not as it must be after an operation; empty: all is. */
export const problemsInKernel = (
  path: Path,
  kind: string,
  operation: Operation,
  { added, gone }: Difference,
): string[] => {
  const { fw4, fw3 } = samplesOf(kind).kernel;
  const { created, changed } = path === 'icn' ? (fw3 ?? fw4) : fw4;
  const lost = gone.map((line) => `gone: ${line}`);
  if (operation === 'deleted') return [...added.map((line) => `left: ${line}`), ...lost];
  const [wanted, others] = operation === 'created' ? [created, changed] : [changed, created];
  const isWanted = (line: string): boolean => wanted.some((one) => one.test(line));
  const stale = added.filter((line) => !isWanted(line) && others.some((one) => one.test(line)));
  return [
    ...wanted
      .filter((one) => !added.some((line) => one.test(line)))
      .map((one) => `absent: ${one.source}`),
    ...stale.map((line) => `stale: ${line}`),
    ...lost,
  ];
};

const STATE_AFTER: Readonly<Record<Operation, RegExp>> = {
  created: /: Applied$/,
  changed: /: Applied$/,
  deleted: /: Removed$/,
};

/** By operation, with what the agent reports. */
export const problemsOf = (path: Path, kind: string, looks: Looks): string[] =>
  OPERATIONS.flatMap((operation) => {
    const { states, kernel } = looks[operation];
    const said = states.filter((state) => !STATE_AFTER[operation].test(state));
    const found = [...problemsInKernel(path, kind, operation, kernel), ...said];
    return found.map((problem) => `${operation}: ${problem}`);
  });
