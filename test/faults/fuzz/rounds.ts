/** Runs many cases, counts what became of each, and looks at memory on the way. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { caseCount, SEED } from '#shared/runtime/testing.ts';
import { usedHeap } from '#shared/runtime/testing/heap.ts';
import { markReplay } from '../../run/replay.ts';
import { randomOfTest, type Random } from '../../run/random.ts';

/** 1 % of what is promised; `npm run suite nightly unit` runs all of it. */
export const CASES = caseCount(1_000);
export const TIMEOUT_MS = 300_000 + CASES * 20;
const LOOKS_AT_MEMORY = 10;
/** What runs of any size may keep: compiled code and caches. */
const KEPT_BYTES = 32 * 1_048_576;

export type Counts = Map<string, number>;

export const count = (counts: Counts, what: string): void => {
  counts.set(what, (counts.get(what) ?? 0) + 1);
};

export type Rounds = {
  /** Bytes of heap after a collection, first when a tenth of the cases was done. */
  heap: number[];
};

const MAX_WRONG = 5;

/** @throws with the cases, at most a few, of which `once` said what is wrong */
export const runRounds = async (
  title: string,
  counts: Counts,
  once: (random: Random, index: number) => Promise<string | undefined>,
): Promise<Rounds> => {
  const random = randomOfTest();
  const wrong: string[] = [];
  const heap: number[] = [];
  for (let index = 0; index < CASES && wrong.length < MAX_WRONG; index += 1) {
    // A server's loop turns between requests: their timers end, and their memory is released.
    await nextTurn();
    const problem = await once(random, index);
    if (problem !== undefined) wrong.push(`case ${index}: ${problem}`);
    if ((index + 1) % Math.ceil(CASES / LOOKS_AT_MEMORY) === 0) {
      heap.push(usedHeap());
    }
  }
  const table = [...counts]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([what, times]) => `  ${String(times).padStart(7)}  ${what}`);
  const megabytes = heap.map((bytes) => (bytes / 1_048_576).toFixed(0)).join(' ');
  console.log(`${CASES} ${title}, seed ${SEED}\n${table.join('\n')}\n  heap, MiB: ${megabytes}`);
  if (wrong.length > 0)
    throw new Error(`wrong answers to ${title}\nreplay: ${markReplay()}\n${wrong.join('\n')}`);
  return { heap };
};

/** The last look against the first: what grows with the number of cases shows. */
export const grows = ({ heap }: Rounds): boolean =>
  (heap.at(-1) ?? 0) - (heap[0] ?? 0) > KEPT_BYTES;
