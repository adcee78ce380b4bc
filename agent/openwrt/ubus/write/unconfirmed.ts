/**
 * What a change that waits for its confirmation is to leave on OpenWRT, on disk before it is
 * applied: an agent that finds it unconfirmed, after a lost answer or as the next one of the pod,
 * can tell whether a roll-back would take others' changes along.
 */
import * as z from 'zod';
import type { Logger } from '#shared/runtime/log.ts';
import { holdsKeys } from '#shared/resources/parts.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { openStateFile, type StateFile } from '../../../io/state-file.ts';
import { OpenwrtBlockedError } from '../../driver.ts';
import type { Base, PackageState } from '../read/packages.ts';

const expectationSchema = z.object({
  /** md5 of the file; '' where only reading tells, and with keys, which could be guessed by it. */
  version: z.string(),
  /** What shows that the last section is there as a whole; '' when there is none. */
  end: z.string(),
});
const unconfirmedSchema = z.object({
  version: z.literal(1),
  packages: z.record(z.string(), expectationSchema),
});
type Contents = z.infer<typeof unconfirmedSchema>;

export type Unconfirmed = Omit<StateFile<Contents>, 'amend'>;

export const NOTHING_UNCONFIRMED: Contents = { version: 1, packages: {} };

/** @throws StateFileError when the file exists and cannot be read */
export const openUnconfirmed = (path: string, log: Logger): Promise<Unconfirmed> =>
  openStateFile({ path, schema: unconfirmedSchema, initial: NOTHING_UNCONFIRMED, log });

/** `foreseen`: those whose files are known before OpenWRT has written them. */
export const expectationOf = (
  wanted: Iterable<UciPackage>,
  foreseen: ReadonlyMap<string, Base>,
): Contents => ({
  version: 1,
  packages: Object.fromEntries(
    Array.from(wanted, (content) => {
      const state = foreseen.get(content.name);
      const { name, sections } = state?.content ?? content;
      const version = holdsKeys(name) ? '' : (state?.version ?? '');
      return [name, { version, end: endOf(sections) }];
    }),
  ),
});

/**
 * `keep`: another writer has changed a package since, or it cannot be told. A file that has lost
 * its end was cut short by OpenWRT, and what others had there comes back by the roll-back alone.
 * @throws OpenwrtBlockedError while it is being written
 */
export const howToSettle = (
  { packages }: Contents,
  states: ReadonlyMap<string, PackageState>,
): 'rollback' | 'keep' => {
  const expected = Object.entries(packages);
  const changed = expected.filter(([name, { version }]) => versionOf(states.get(name)) !== version);
  const isWhole = changed.every(([name, { end }]) => hasEnd(name, end, states.get(name)));
  return changed.length > 0 && isWhole ? 'keep' : 'rollback';
};

const versionOf = (state: PackageState | undefined): string | undefined =>
  state?.state === 'read' ? state.version : undefined;

const hasEnd = (name: string, end: string, state: PackageState | undefined): boolean => {
  if (state?.state === 'unusable' && state.passes === true)
    throw new OpenwrtBlockedError(`settle the last change of ${name}`, state.why);
  if (state?.state !== 'read') return false;
  return end === '' || state.content.sections.some((section) => endOf([section]) === end);
};

/**
 * Its options by name and count of values, not the values. Without the name of an anonymous one,
 * which changes with its place.
 */
const endOf = (sections: readonly UciSection[]): string => {
  const last = sections.at(-1);
  if (last === undefined) return '';
  const { name, type, anonymous, options } = last;
  // UCI has no options that are empty.
  const held = Object.entries(options).filter(([, value]) => value.length > 0);
  const counts = held.map(([option, value]): [string, number] => [
    option,
    Array.isArray(value) ? value.length : 1,
  ]);
  const entries = counts.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([type, anonymous ? '' : name, ...entries]);
};
