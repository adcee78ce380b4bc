/** For tests of what stays in memory. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
export const collectGarbage = runInNewContext('gc') as () => void;

const COPIES = 10;

/** Bytes of heap after a collection. */
export const usedHeap = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

/** Bytes that stay in memory, on average, of what `make` makes of a text of `length` characters that nothing else has. */
export const heldBytes = (make: (long: string) => unknown, length = 200_000): number => {
  // As what comes from an API server: a text of its own, in one piece.
  const fresh = (at: number): string =>
    Buffer.from(`${at}`.padEnd(length, 'x'), 'latin1').toString('latin1');
  make(fresh(-1));
  const before = usedHeap();
  const made = Array.from({ length: COPIES }, (_, at) => make(fresh(at)));
  return (usedHeap() - before) / made.length;
};
