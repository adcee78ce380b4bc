/** Whether a rule says that it is in sync only while each device has it: judged at every write of its status, by the devices' own journals. */
import { createDevice, type Held, type JournalEntry } from './in-force.ts';

/** A status that a watch brought, in the order of arrival; ms since 1970. */
export type InSyncStatus = { at: number; rule: string; inSync: boolean };

/** `newly`: it did not say so before. `forMs`: how long the device did not have the rule by then. */
export type FalseStatus = { at: number; rule: string; newly: boolean; forMs: number };

/** How long the product has from a change of a device to the status. */
export type Grace = {
  /** A rule that is in sync stays so: five seconds without an answer, a second with other content, and the way. */
  staysMs: number;
  /** A report that is under way. */
  newlyMs: number;
};

/** `holds`: whether the rule is among what the services of a device have. */
export const falseStatuses = (
  said: readonly InSyncStatus[],
  journals: readonly (readonly JournalEntry[])[],
  { holds, grace }: { holds: (rule: string, of: (name: string) => Held) => boolean; grace: Grace },
): FalseStatus[] => {
  const inSync = new Set<string>();
  return said.flatMap(({ at, rule, inSync: now }) => {
    const newly = !inSync.has(rule);
    if (!now) inSync.delete(rule);
    else inSync.add(rule);
    if (!now) return [];
    const forMs = Math.max(
      ...journals.map((journal) => lackedMs(journal, at, (of) => holds(rule, of))),
    );
    return forMs > (newly ? grace.newlyMs : grace.staysMs) ? [{ at, rule, newly, forMs }] : [];
  });
};

/** For how long the device did not have it by then; 0: it has it. */
const lackedMs = (
  journal: readonly JournalEntry[],
  at: number,
  holds: (of: (name: string) => Held) => boolean,
): number => {
  const device = createDevice();
  let lackedSince: number | undefined;
  for (const entry of journal) {
    if (entry.ms > at) break;
    if (device.follow(entry) === undefined) continue;
    lackedSince = holds(device.of) ? undefined : (lackedSince ?? entry.ms);
  }
  return lackedSince === undefined ? 0 : at - lackedSince;
};
