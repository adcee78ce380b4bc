/**
 * Reads packages that nobody is writing just now. An editor, a shell's `>` and rpcd's roll-back write in place: for as long as that
 * takes the file is empty, or a beginning that may well parse, and looks as if rules had gone. So what is not as it was known is
 * believed only when it is the same a moment later.
 */
import type { Clock } from '#shared/runtime/clock.ts';
import { OpenwrtBlockedError } from '../../driver.ts';
import type { UbusSession } from '../client/session.ts';
import type { PackageState, WritePath } from '../write/write-path.ts';

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

/** @throws OpenwrtBlockedError when a package keeps changing, OpenwrtError */
export const readSettled = async (
  { path, session, packages, known, clock }: SettledRead,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PackageState>> => {
  for (let attempt = 1; attempt <= READ_ATTEMPTS; attempt += 1) {
    const states = await path.read(session, packages, signal);
    const isAs = (versions: ReadonlyMap<string, string>): boolean =>
      packages.every((name) => versions.get(name) === stateVersion(states.get(name)));
    if (isAs(known)) return states;
    await clock.sleep(SETTLED_MS, signal);
    if (isAs(await path.versions(session, packages, signal))) return states;
  }
  throw new OpenwrtBlockedError('read /etc/config', 'somebody is writing it');
};

export const stateVersion = (state: PackageState | undefined): string =>
  state === undefined || state.state === 'absent' ? 'absent' : state.version;
