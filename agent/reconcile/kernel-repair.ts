/**
 * What the kernel lacks of ours: which packages are to be loaded anew for it, and whether another
 * program has taken it away. What a repair did not bring, or what went again at once, is tried
 * again at growing intervals, since each try is a reload.
 */
import { createBackoff } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { lackingIn, type PassState } from './pass-state.ts';
import { inForceIn, NOTHING_KNOWN, type RuleStates } from './rule-states.ts';
import { packageOf, sectionOf } from './takeover.ts';

const BACKOFF = { baseMs: 2_000, maxMs: 300_000 };

export type KernelDrift = {
  /** Packages to repair are doubtful in the state that comes back. `drifted`: what was there. */
  found: (state: PassState) => { state: PassState; drifted: readonly string[] };
  /** What a pass has left. */
  left: (standing: RuleStates) => void;
  /** A pass is to try again. */
  isDue: () => boolean;
};

export const createKernelDrift = (clock: Pick<Clock, 'monotonic'>): KernelDrift => {
  const backoff = createBackoff(BACKOFF);
  let before = NOTHING_KNOWN;
  let retryAt = Infinity;
  const isDue = (): boolean => clock.monotonic() >= retryAt;
  return {
    found: (state) => {
      const { warnings } = state.ledger;
      const isRefused = (key: string): boolean =>
        warnings.get(packageOf(key))?.has(sectionOf(key)) === true;
      // What OpenWRT has refused no reload brings.
      const keys = [...lackingIn(state).keys()].filter((key) => !isRefused(key));
      const repaired = keys.filter((key) => isDue() || !before.lacking.has(key));
      const drifted = keys.length === 0 ? keys : [...inForceIn(before).intersection(new Set(keys))];
      return {
        state: { ...state, doubtful: new Set([...state.doubtful, ...repaired.map(packageOf)]) },
        drifted,
      };
    },
    left: (standing) => {
      before = standing;
      if (standing.lacking.size === 0) {
        backoff.reset();
        retryAt = Infinity;
      } else if (retryAt === Infinity || isDue()) retryAt = clock.monotonic() + backoff.next();
    },
    isDue,
  };
};
