/**
 * What is in force on a device, from its journal, and since when. A file alone does nothing: what
 * counts is the file that its service took at the last reload.
 */
import { readUci, type DeviceSection } from './uci.ts';

/** One line of the journal, as far as it is judged; `ms` since 1970. */
export type JournalEntry = {
  ms: number;
  event: string;
  package?: string | undefined;
  /** The hash of the whole file. */
  text?: string | undefined;
  service?: string | undefined;
  ok?: boolean | undefined;
  by?: { call: string } | undefined;
};

/** What a device has of a package: its file, and the file that its service took last. */
export type Held = { file: readonly DeviceSection[]; taken: readonly DeviceSection[] };

export type Device = {
  /**
   * Takes in the next line of the journal. Gives the package whose file a service took by it, if
   * one did.
   */
  follow: (entry: JournalEntry) => string | undefined;
  of: (packageName: string) => Held;
};

/** A device as its journal shows it so far. */
export const createDevice = (): Device => {
  const held = new Map<string, Held>();
  const of = (name: string): Held => held.get(name) ?? { file: [], taken: [] };
  return {
    of,
    follow: (entry) => {
      const { event, package: written = '', text = '' } = entry;
      if (event === 'write') held.set(written, { ...of(written), file: readUci(text) });
      const taken = takenBy(entry);
      if (taken !== undefined) held.set(taken, { file: of(taken).file, taken: of(taken).file });
      return taken;
    },
  };
};

/**
 * The service of a package has its file after a reload, when its table was brought to the same, and
 * that which a device writes at its start.
 */
const takenBy = ({
  event,
  package: written,
  service,
  ok,
  by,
}: JournalEntry): string | undefined => {
  if (event === 'write' && by?.call === 'factory') return written;
  return (event === 'reload' || event === 'amend') && ok === true ? service : undefined;
};

/**
 * Since when, without a break, OpenWRT does what `holds` says of the sections of `package`, ms
 * since 1970: a file counts when its service has been reloaded after it was written. undefined: it
 * does not now.
 */
export const inForceSince = (
  journal: readonly JournalEntry[],
  packageName: string,
  holds: (sections: readonly DeviceSection[]) => boolean,
): number | undefined => {
  const device = createDevice();
  let since: number | undefined;
  for (const entry of journal) {
    if (device.follow(entry) !== packageName) continue;
    since = holds(device.of(packageName).taken) ? (since ?? entry.ms) : undefined;
  }
  return since;
};

/** Since when no section for which `is` holds is in force, ms since 1970; undefined: one is. */
export const goneSince = (
  journal: readonly JournalEntry[],
  packageName: string,
  is: (options: Record<string, string | string[]>) => boolean,
): number | undefined =>
  inForceSince(journal, packageName, (sections) => !sections.some(({ options }) => is(options)));
