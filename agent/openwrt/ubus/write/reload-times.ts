/**
 * How long OpenWRT takes to put a package into force. The way back that an apply arms has to stay
 * open longer than that, or OpenWRT undoes what it is about to apply; and the wait for the reload
 * has to be long enough.
 */
import type { UciPackage } from '#shared/uci/model.ts';

/** On a slow CNF: 5,000 rules took 33 s on a busy device (measured); idle, a tenth of that. */
const FIRST_GUESS_MS_PER_SECTION = 7;
/** What a loaded device takes longer than it last did. */
const MARGIN = 2;
const LEAST_ROLLBACK_SECONDS = 30;
/** Where the device is not known. A reload that is cut off goes on there; its output is lost. */
const LEAST_WAIT_MS = 120_000;
const LONGEST_MS = 600_000;
/** Before the timer ends, for what is between the two. */
const SPARE_MS = 5_000;

export type ReloadTimes = {
  /** A reload took that long, or longer when its end was not received. */
  add: (content: UciPackage, ms: number) => void;
  /** For what is to be reloaded in one change. */
  limitsFor: (contents: Iterable<UciPackage>) => ReloadLimits;
};

export type ReloadLimits = {
  /** The timer of the apply. */
  rollbackSeconds: number;
  /** After the apply, at which a change that is not made permanent yet would be undone too soon. */
  keepAfterMs: number;
  /** For the answer of one reload. */
  waitMs: number;
};

export const createReloadTimes = (): ReloadTimes => {
  /** Milliseconds for each section, in the last reload of each package. */
  const last = new Map<string, number>();
  const expected = ({ name, sections }: UciPackage): number =>
    (last.get(name) ?? FIRST_GUESS_MS_PER_SECTION) * Math.max(1, sections.length);
  return {
    add: ({ name, sections }, ms) => last.set(name, ms / Math.max(1, sections.length)),
    limitsFor: (contents) => {
      const each = [...contents].map(expected);
      const longest = Math.max(0, ...each) * MARGIN;
      const all = each.reduce((sum, ms) => sum + ms, 0) * MARGIN;
      const rollbackMs = Math.min(LEAST_ROLLBACK_SECONDS * 1_000 + all, LONGEST_MS);
      const rollbackSeconds = Math.ceil(rollbackMs / 1_000);
      return {
        rollbackSeconds,
        keepAfterMs: rollbackSeconds * 1_000 - SPARE_MS,
        waitMs: Math.min(Math.max(LEAST_WAIT_MS, longest), LONGEST_MS),
      };
    },
  };
};
