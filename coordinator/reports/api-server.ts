/**
 * Whether the API server still answers this replica, which asks it for the Lease every two seconds,
 * whether it leads or not.
 */
import type { Clock } from '#shared/runtime/clock.ts';

export type ApiServerSeen = {
  /** It has answered a request, whatever it said. */
  answered: () => void;
  /** It is away, or was so recently that an agent which looked, and then asks, met with that. */
  wasAway: () => boolean;
};

/**
 * More than between two requests for the Lease, and less than from the first connection of an
 * agent's look to its last one.
 */
const AWAY_AFTER_MS = 3_000;
/** An agent's look, and the time in which a coordinator must have answered. */
const TOLD_FOR_MS = 7_000;

export const createApiServerSeen = ({ monotonic }: Pick<Clock, 'monotonic'>): ApiServerSeen => {
  let at = monotonic();
  let backAt = -Infinity;
  const isAway = (): boolean => monotonic() - at > AWAY_AFTER_MS;
  return {
    answered: () => {
      if (isAway()) backAt = monotonic();
      at = monotonic();
    },
    wasAway: () => isAway() || monotonic() - backAt < TOLD_FOR_MS,
  };
};
