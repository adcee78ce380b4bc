/**
 * The table of policies in the kernel of OpenWRT: one file of nft in one transaction, so that all
 * of a change is in force or nothing of it. fw4's reload, restart and stop leave the table alone.
 * What was written is read back, and a marker beside the table tells whether it is still the one
 * that was loaded. Never logs in: that would undo what another part of the agent has not confirmed
 * yet.
 */
import {
  changedSets,
  membersFile,
  removalFile,
  trialFile,
  wholeFile,
  type PolicyTable,
} from '#shared/policy/nft-table.ts';
import {
  OpenwrtError,
  OpenwrtUnreachableError,
  type Policies,
  type PoliciesLoaded,
} from '../driver.ts';
import { foundIn, runVerb, runVerbOn } from '../kernel/calls.ts';
import { POLICIES_FILE, POLICIES_LISTED } from '../kernel/helper.ts';
import type { UbusSession } from '../ubus/login/session.ts';
import { countersIn, differingSet, markerIn } from './listing.ts';

export type PoliciesDeps = {
  /** Undefined while there is none. */
  session: () => UbusSession | undefined;
  /** Why this OpenWRT cannot have the table; undefined when it can. */
  whyNot: () => string | undefined;
};

const REFUSED = '== refused\n';
const LEFT = /^== left ([0-9a-f]{32})/;
const ATTEMPTED = 'load the table of policies';

export const createPolicies = ({ session, whyNot }: PoliciesDeps): Policies => {
  const now = (): UbusSession => {
    const current = session();
    if (current) return current;
    throw new OpenwrtUnreachableError(ATTEMPTED, 'the agent is not logged in to OpenWRT');
  };

  const loadedFile = async (
    file: string,
    signal: AbortSignal,
  ): Promise<Exclude<PoliciesLoaded, { outcome: 'loaded' }> | { printed: string }> => {
    const current = now();
    const unsupported = whyNot();
    if (unsupported !== undefined) return { outcome: 'unsupported', message: unsupported };
    const answer = await runVerbOn(current, { [POLICIES_FILE]: file }, 'load-policies', signal);
    if ('whyNot' in answer) return { outcome: 'unsupported', message: answer.whyNot };
    if (answer.stdout.startsWith(REFUSED))
      return { outcome: 'refused', message: answer.stdout.slice(REFUSED.length).trim() };
    return { printed: answer.stdout };
  };

  return {
    marker: async (signal) => {
      const current = now();
      const unsupported = whyNot();
      if (unsupported !== undefined) return { unsupported };
      const answer = await runVerb(current, 'policies', signal);
      return 'whyNot' in answer
        ? { unsupported: answer.whyNot }
        : { marker: markerOfWhole(answer.stdout) };
    },

    load: async (after, before, signal) => {
      const { file, written } = fileFor(after, before);
      const answer = await loadedFile(file, signal);
      if ('outcome' in answer) return answer;
      const listed = await listedBy(now(), answer.printed, signal);
      assertLoaded(listed, after, written);
      return { outcome: 'loaded' };
    },

    tryOut: async (table, signal) => {
      const answer = await loadedFile(trialFile(table), signal);
      return 'outcome' in answer ? answer : { outcome: 'loaded' };
    },

    denied: async (signal) => {
      const current = now();
      if (whyNot() !== undefined) return undefined;
      const answer = await runVerb(current, 'denied', signal);
      return 'whyNot' in answer ? undefined : countersIn(answer.stdout);
    },
  };
};

/** `written`: the sets that it writes. */
const fileFor = (
  after: PolicyTable | undefined,
  before: PolicyTable | undefined,
): { file: string; written: readonly string[] } => {
  if (after === undefined) return { file: removalFile(), written: [] };
  const members = before && membersFile(after, before);
  if (before === undefined || members === undefined)
    return { file: wholeFile(after), written: [...after.sets.keys()] };
  return { file: members, written: changedSets(after, before) };
};

/** A marker without the table itself is that of a table that another program has taken away. */
const markerOfWhole = (listed: string): string =>
  listed.includes('\tset isolated_in_4 {') ? markerIn(listed) : '';

const listedBy = async (
  session: UbusSession,
  printed: string,
  signal: AbortSignal,
): Promise<string> => {
  const md5 = LEFT.exec(printed)?.[1];
  return md5 === undefined ? printed : foundIn(POLICIES_LISTED, session, md5, signal);
};

/** @throws OpenwrtError */
const assertLoaded = (
  listed: string,
  after: PolicyTable | undefined,
  written: readonly string[],
): void => {
  if (markerIn(listed) !== (after?.hash ?? ''))
    throw new OpenwrtError(ATTEMPTED, 'nft does not list it as it was loaded');
  const other = after && differingSet(listed, after, written);
  if (other !== undefined)
    throw new OpenwrtError(ATTEMPTED, `nft does not list set ${other} as it was loaded`);
};
