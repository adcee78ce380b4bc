/** Finds the change that cuts the agent off, by what `blame.ts` wants to be tried next. */
import type { Backoff } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { begin, isTrial, next, undoneIn, type Search } from './blame.ts';
import { inOrder, type Watched } from './changes.ts';
import { namesOf, type Looks } from './looks.ts';
import type { Target } from './reachability.ts';

export type SearchDeps = {
  looks: Looks;
  /** Has a pass undo the changes with these uids, and make all others. */
  bring: (uids: readonly string[], signal: AbortSignal) => Promise<void>;
  /** Until changes are made again of which none is to blame. */
  again: Backoff;
  deadlineMs: number;
  clock: Clock;
  log: Logger;
};

/**
 * Length of a trial, whatever was lost so soon. A loss is known when a look of this length ends,
 * and was there when it began: so much is spare in each trial.
 */
const LEAST_TRIAL_MS = 5_000;

export const searchIn = async (
  changes: readonly Watched[],
  lost: readonly Target[],
  { looks, bring, again, deadlineMs, clock, log }: SearchDeps,
  signal: AbortSignal,
): Promise<{ guilty: string } | 'judged' | 'outage'> => {
  const inTurn = inOrder(changes);
  const madeAt = Math.max(...changes.map(({ confirmedAt = 0 }) => confirmedAt));
  const tookMs = Math.max(0, Math.min(clock.monotonic() - (madeAt - deadlineMs), deadlineMs));
  log.error(
    { targets: namesOf(lost), changes: inTurn.length },
    'not reached since the last changes: undoing them',
  );
  let state: Search = begin(inTurn.map(({ uid }) => uid));
  for (;;) {
    await bring(undoneIn(state), signal);
    const reached = isTrial(state)
      ? await looks.stays(lost, Math.max(tookMs, LEAST_TRIAL_MS), signal)
      : await looks.comesBack(lost, signal);
    if (reached === 'outage') {
      log.warn(
        { targets: namesOf(lost) },
        'not reached by the coordinators either: the changes are made again',
      );
      return 'outage';
    }
    const after = next(state, reached === 'yes');
    if (after === 'none' && undoneIn(state).length === 0) {
      log.warn({ targets: namesOf(lost) }, 'reached with the same changes: they stay');
      return 'judged';
    }
    if (after === 'none') {
      const retryInMs = again.next();
      log.warn(
        { targets: namesOf(lost), retryInMs: Math.round(retryInMs) },
        'no rule is to blame for what was lost: the changes are made again',
      );
      await clock.sleep(retryInMs, signal);
      return 'judged';
    }
    if ('guilty' in after) return after;
    state = after;
  }
};
