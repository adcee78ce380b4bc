/**
 * The agent's own loop until a pass gets through, with its waits between tries: how many it took,
 * and how long.
 */
import { silentLogger } from '#shared/runtime/log.ts';
import { createLoop, type LoopDeps } from '../../../../agent/reconcile/loop.ts';
import type { TestClock } from './time.ts';

/** What a loop needs of its agent, in any test. */
export type LoopParts = Omit<LoopDeps, 'onAttempt' | 'timings' | 'clock' | 'log'>;

/** The agent's own loop, which goes on by itself until it is stopped. */
export type Following = { mark: () => void; stop: () => Promise<void> };

export const follow = (deps: LoopParts, { agent: clock }: TestClock): Following => {
  const over = new AbortController();
  const onAttempt = (): void => undefined;
  const loop = createLoop({ ...deps, onAttempt, timings: TIMINGS, clock, log: silentLogger });
  const ended = loop.run(over.signal);
  return {
    mark: loop.mark,
    stop: async () => {
      over.abort();
      await ended;
    },
  };
};

export type Effort = { tries: number; ms: number };

/** As agents have them by default. */
const TIMINGS = { probeIntervalMs: 1_000, fullPassIntervalMs: 300_000 };
/**
 * Where nothing fails: a few rules take the device some milliseconds, and what others changed is
 * believed after 100 ms.
 */
const AT_ONCE: Effort = { tries: 1, ms: 200 };
/** After a single call that failed: the first wait of the loop, jittered by a quarter. */
export const AFTER_ONE_FAILURE: Effort = { tries: 2, ms: 1_450 };

/**
 * @throws Error that tells the tries when they, or the time that they took, are more than `most`
 */
export const converge = async (
  deps: LoopParts,
  { agent: clock, until }: TestClock,
  most = AT_ONCE,
): Promise<Effort> => {
  const begin = clock.monotonic();
  const tries: string[] = [];
  const over = new AbortController();
  const loop = createLoop({
    ...deps,
    onAttempt: (attempt) => {
      const at = Math.round(clock.monotonic() - begin);
      tries.push(`${at} ms: ${'message' in attempt ? attempt.message : attempt.outcome}`);
      if (attempt.outcome === 'passed' || tries.length > most.tries) over.abort();
    },
    timings: TIMINGS,
    clock,
    log: silentLogger,
  });
  await until(loop.run(over.signal));
  const effort = { tries: tries.length, ms: clock.monotonic() - begin };
  if (effort.tries > most.tries || effort.ms > most.ms)
    throw new Error(`not within ${most.tries} tries and ${most.ms} ms:\n${tries.join('\n')}`);
  return effort;
};
