/** For tests of what stays in memory. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
export const collectGarbage = runInNewContext('gc') as () => void;

const COPIES = 40;
/**
 * So long that so many of them are more than what other tests of the process leave and free
 * meanwhile, which came to 5.2 MB. Longer ones are not in the heap.
 */
export const LONG = 1_000_000;

/** Bytes of heap after a collection. */
export const usedHeap = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

/** Bytes that stay in memory, on average, of what `make` makes of a text of `LONG` characters. */
export const heldBytes = (make: (long: string) => unknown, copies = COPIES): number => {
  // As what comes from an API server: a text of its own, in one piece.
  const fresh = (at: number): string =>
    Buffer.from(`${at}`.padEnd(LONG, 'x'), 'latin1').toString('latin1');
  make(fresh(-1));
  const before = usedHeap();
  const made = Array.from({ length: copies }, (_, at) => make(fresh(at)));
  return (usedHeap() - before) / made.length;
};
