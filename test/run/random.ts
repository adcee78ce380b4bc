/** Random numbers for walks and fuzz: the same ones in every run with the same seed. */
import { SEED } from '#shared/runtime/testing.ts';
import { markReplay } from './replay.ts';

export type Random = {
  /** From 0 to below 1. */
  next: () => number;
  /** From 0 to below `end`. */
  int: (end: number) => number;
  /** @throws for an empty list */
  pick: <T>(list: readonly T[]) => T;
};

/** mulberry32: small, fast and good enough to choose with. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (end: number): number => Math.floor(next() * end);
  return {
    next,
    int,
    pick: (list) => {
      const [chosen] = list.slice(int(list.length));
      if (chosen === undefined && list.length === 0) throw new Error('nothing to pick from');
      // oxlint-disable-next-line typescript/no-non-null-assertion
      return chosen!;
    },
  };
};

/** From the seed of the run, outside of any one test. */
export const randomOfRun = (): Random => createRandom(SEED);

/**
 * From the seed of the run. Where the test that runs now fails, the last lines of the run show how
 * to repeat them; `env`: what it needs for that.
 */
export const randomOfTest = (env?: Readonly<Record<string, string>>): Random => {
  markReplay(undefined, env);
  return createRandom(SEED);
};
