/**
 * The connections that charon has loaded, asked for once a minute and when it is another process,
 * and what of package ipsec that lacks.
 */
import type { Clock } from '#shared/runtime/clock.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { OpenwrtUnreachableError } from '../driver.ts';
import { lackingTunnels } from '../services/ipsec-tunnels.ts';
import { runVerb } from './calls.ts';
import { sameAgain, THOROUGH_LOOK_MS, type Look } from './look.ts';
import { NOTHING_LACKS, type Compared } from './sections.ts';

type CharonLook = {
  /** `process`: the line about it; another one has loaded nothing yet. '': there is none. */
  isDue: (look: Look, process: string) => boolean;
  read: (look: Look, process: string) => Promise<void>;
  reloaded: () => void;
  compare: (ipsec: readonly UciSection[]) => Compared;
};

/** `of`: the process. `told`: by verb `tunnels`; undefined: charon did not answer. */
type Seen = { at: number; of: string; told: string | undefined };

/** A charon that hangs holds up the other packages for no longer, once a minute. */
const ANSWERED_WITHIN_MS = 15_000;

const NOT_ASKED: Seen = { at: -Infinity, of: '', told: undefined };

export const createCharonLook = (clock: Pick<Clock, 'monotonic'>): CharonLook => {
  let seen = NOT_ASKED;
  const lacking = sameAgain(lackingTunnels);
  return {
    isDue: ({ contents, capabilities }, process) => {
      if (capabilities.ipsec.dialect !== 'swanctl') return false;
      const isOld = clock.monotonic() - seen.at >= THOROUGH_LOOK_MS;
      return process !== seen.of || (isOld && contents('ipsec').length > 0);
    },
    read: async ({ session, signal }, process) => {
      const answer = await runVerb(session, 'tunnels', signal, ANSWERED_WITHIN_MS).catch(ifHung);
      const told = answer && 'stdout' in answer ? answer.stdout : undefined;
      // One that refuses is about to answer.
      const isStarting = answer !== undefined && told === undefined;
      seen = { at: isStarting ? -Infinity : clock.monotonic(), of: process, told };
    },
    reloaded: () => {
      seen = NOT_ASKED;
    },
    compare: (ipsec) => (seen.of === '' ? NOTHING_LACKS : lacking(ipsec, seen.told)),
  };
};

/** The calls before and after it show whether OpenWRT is lost. */
const ifHung = (error: unknown): undefined => {
  if (!(error instanceof OpenwrtUnreachableError)) throw error;
};
