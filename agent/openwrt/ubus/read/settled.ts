/**
 * Reads packages while they are not being written. An editor, a shell's `>` and rpcd's roll-back
 * write in place: for as long as that takes the file is empty, or a beginning that may well parse,
 * and looks as if rules had gone. So what is not as it was known is believed only when it is the
 * same a moment later.
 */
import type { Clock } from '#shared/runtime/clock.ts';
import type { UbusSession } from '../login/session.ts';
import type { PackageState } from './packages.ts';
import type { WritePath } from '../write/write-path.ts';

/** An editor's write takes some milliseconds. */
const SETTLED_MS = 100;
const READ_ATTEMPTS = 3;

export type SettledRead = {
  path: Pick<WritePath, 'read' | 'versions'>;
  session: UbusSession;
  packages: readonly string[];
  /** The versions that were believed before. */
  known: ReadonlyMap<string, string>;
  clock: Pick<Clock, 'sleep'>;
};

/** One that keeps changing is unusable for now; others are as read. @throws OpenwrtError */
export const readSettled = async (
  { path, session, packages, known, clock }: SettledRead,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PackageState>> => {
  let states: ReadonlyMap<string, PackageState> = new Map();
  let changing: readonly string[] = packages;
  for (let attempt = 1; attempt <= READ_ATTEMPTS; attempt += 1) {
    states = await path.read(session, packages, signal);
    changing = differingIn(states, known);
    if (changing.length === 0) return states;
    await clock.sleep(SETTLED_MS, signal);
    changing = differingIn(states, await path.versions(session, packages, signal));
    if (changing.length === 0) return states;
  }
  return new Map([...states, ...changing.map((name) => [name, BEING_WRITTEN] as const)]);
};

const BEING_WRITTEN: PackageState = {
  state: 'unusable',
  version: 'being written',
  why: 'another program is writing it',
  passes: true,
};

const differingIn = (
  states: ReadonlyMap<string, PackageState>,
  versions: ReadonlyMap<string, string>,
): readonly string[] =>
  [...states].flatMap(([name, state]) =>
    versions.get(name) === stateVersion(state) ? [] : [name],
  );

export const stateVersion = (state: PackageState | undefined): string =>
  state === undefined || state.state === 'absent' ? 'absent' : state.version;
