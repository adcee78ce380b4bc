/** Looks at the targets: which are lost to this pod alone, come back, and stay. */
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { Target, Targets } from './reachability.ts';

export type LooksDeps = {
  targets: Targets;
  /** Losing one of them undoes changes. */
  decisive: readonly Target[];
  /**
   * Whether others have not reached a decisive target either within the last look, so that it need
   * not be a rule of this pod.
   */
  isOutage: (signal: AbortSignal) => Promise<boolean>;
  /** From the end of the reload, in milliseconds. */
  deadlineMs: number;
  clock: Clock;
  log: Logger;
};

type Look = { lost: readonly Target[]; isOutage: boolean };
type Reached = 'yes' | 'no' | 'outage';

export type Looks = {
  once: (at: readonly Target[], signal: AbortSignal) => Promise<Look>;
  /** Those that are lost to this pod: in an outage it looks until that is over. */
  lostHere: (at: readonly Target[], signal: AbortSignal) => Promise<readonly Target[]>;
  comesBack: (lost: readonly Target[], signal: AbortSignal) => Promise<Reached>;
  stays: (lost: readonly Target[], ms: number, signal: AbortSignal) => Promise<Reached>;
};

/** Between looks soon after a change. */
export const FIRST_GAP_MS = 1_000;

export const createLooks = (deps: LooksDeps): Looks => {
  const { targets, decisive, deadlineMs, clock, log } = deps;

  const look = async (at: readonly Target[], signal: AbortSignal): Promise<Look> => {
    const lost = await targets.lost(at, signal);
    if (!lost.some((one) => decisive.includes(one))) return { lost, isOutage: false };
    return { lost, isOutage: await deps.isOutage(signal) };
  };

  const lostHere = async (
    at: readonly Target[],
    signal: AbortSignal,
  ): Promise<readonly Target[]> => {
    for (let told = false; ; told = true) {
      const { lost, isOutage } = await look(at, signal);
      if (!isOutage) return lost;
      if (!told)
        log.warn(
          { targets: namesOf(lost) },
          'not reached by the coordinators either: nothing is undone',
        );
    }
  };

  const comesBack = async (lost: readonly Target[], signal: AbortSignal): Promise<Reached> => {
    const until = clock.monotonic() + deadlineMs;
    for (;;) {
      const seen = reachedBy(await look(lost, signal));
      if (seen !== 'no' || clock.monotonic() >= until) return seen;
    }
  };

  const stays = async (
    lost: readonly Target[],
    ms: number,
    signal: AbortSignal,
  ): Promise<Reached> => {
    const until = clock.monotonic() + ms;
    for (;;) {
      const begun = clock.monotonic();
      const seen = reachedBy(await look(lost, signal));
      if (seen !== 'yes' || begun >= until) return seen;
      await clock.sleep(FIRST_GAP_MS, signal);
    }
  };

  return { once: look, lostHere, comesBack, stays };
};

const reachedBy = ({ lost, isOutage }: Look): Reached => {
  if (isOutage) return 'outage';
  return lost.length === 0 ? 'yes' : 'no';
};

export const namesOf = (targets: readonly Target[]): string[] => targets.map(({ name }) => name);
