/**
 * The truth about a device, from its journal: since when it does what was asked. A file alone does nothing: what counts is the
 * file that its service took at the last reload.
 */
import { readUci, type JudgedSection } from './uci.ts';

/** One line of the journal, as far as it is judged; `ms` since 1970. */
export type JournalEntry = {
  ms: number;
  event: string;
  package?: string | undefined;
  /** Of the whole file. */
  text?: string | undefined;
  service?: string | undefined;
  ok?: boolean | undefined;
  by?: { call: string } | undefined;
};

/**
 * Since when, without a break, OpenWRT does what `holds` says of the sections of `package`, ms since 1970: a file counts when its
 * service has been reloaded after it was written. undefined: it does not now.
 */
export const inForceSince = (
  journal: readonly JournalEntry[],
  packageName: string,
  holds: (sections: readonly JudgedSection[]) => boolean,
): number | undefined => {
  let file: readonly JudgedSection[] = [];
  let since: number | undefined;
  for (const entry of journal) {
    if (entry.event === 'write' && entry.package === packageName) file = readUci(entry.text ?? '');
    if (!isTaken(entry, packageName)) continue;
    since = holds(file) ? (since ?? entry.ms) : undefined;
  }
  return since;
};

/** Whether the service has what is in the file from here on: after a reload, and from the file that a device writes at its start. */
const isTaken = (
  { event, service, ok = false, package: written, by }: JournalEntry,
  packageName: string,
): boolean =>
  (event === 'reload' && service === packageName && ok) ||
  (event === 'write' && written === packageName && by?.call === 'factory');

/** Since when no section for which `is` holds is in force, ms since 1970; undefined: one is. */
export const goneSince = (
  journal: readonly JournalEntry[],
  packageName: string,
  is: (options: Record<string, string | string[]>) => boolean,
): number | undefined =>
  inForceSince(journal, packageName, (sections) => !sections.some(({ options }) => is(options)));
