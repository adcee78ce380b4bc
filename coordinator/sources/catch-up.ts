/**
 * Whether this replica knows the pods well enough to write of them: it has listed them since its
 * term began. What it had watched until then may be old, as when it stood still and came to lead
 * before its watch told it what it had missed, and nothing fences a status to the pods that it is
 * about.
 */
import type { Leadership } from '#shared/kube/leadership.ts';
import type { CnfPods } from './cnf-pods.ts';

export type CatchUp = {
  isDone: () => boolean;
  /** Lists them in each term, then runs `work`, until the signal aborts. */
  lead: (work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal) => Promise<void>;
};

export const createCatchUp = (
  pods: Pick<CnfPods, 'catchUp'>,
  leadership: Pick<Leadership, 'lead' | 'term'>,
): CatchUp => {
  let knownIn: number | undefined;
  return {
    isDone: () => knownIn !== undefined && knownIn === leadership.term(),
    lead: (work, signal) =>
      leadership.lead(async (ended) => {
        const term = leadership.term();
        await pods.catchUp(ended);
        if (ended.aborted) return;
        knownIn = term;
        await work(ended);
      }, signal),
  };
};
