/**
 * Since when a peer has not answered what is answered at once: from the beginning of the first of
 * the calls in a row without an answer, whether it failed or is still under way. Calls that may
 * take long are not to be among them.
 */
import type { Clock } from '#shared/runtime/clock.ts';

export type Unanswered = {
  /** Monotonic milliseconds; undefined when no call waits, and the last one was answered. */
  since: () => number | undefined;
  /** A call, which rejects when it is not answered. */
  during: <T>(call: () => Promise<T>) => Promise<T>;
};

export const createUnanswered = (clock: Pick<Clock, 'monotonic'>): Unanswered => {
  let since: number | undefined;
  let underWay = 0;
  return {
    since: () => since,
    during: async (call) => {
      since ??= clock.monotonic();
      underWay += 1;
      let isAnswered = false;
      try {
        const answer = await call();
        isAnswered = true;
        return answer;
      } finally {
        underWay -= 1;
        if (isAnswered) since = underWay > 0 ? clock.monotonic() : undefined;
      }
    },
  };
};
