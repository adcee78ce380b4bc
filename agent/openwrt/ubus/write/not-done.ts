/**
 * Changes that OpenWRT says it has made, and of which it has made nothing. What it lacks may be
 * over at the next try, so no rule is to blame; where it goes on for long with one and the same
 * change, that is how OpenWRT refuses it.
 */
import { formatDeltaFile } from '#shared/uci/format.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { UciDelta } from '#shared/uci/model.ts';

/** Some six tries of the loop, whose waits become longer. */
const LASTING_MS = 20_000;

export type NotDone = {
  /** These were not made, once more. Whether that has gone on for long. */
  isLasting: (changes: readonly UciDelta[]) => boolean;
  /** OpenWRT makes changes. */
  over: () => void;
};

export const createNotDone = (clock: Pick<Clock, 'monotonic'>): NotDone => {
  let latest: { text: string; since: number } | undefined;
  return {
    isLasting: (changes) => {
      const text = changes.map((delta) => formatDeltaFile(delta)).join('');
      const now = clock.monotonic();
      if (latest?.text !== text) latest = { text, since: now };
      return now - latest.since >= LASTING_MS;
    },
    over: () => {
      latest = undefined;
    },
  };
};
