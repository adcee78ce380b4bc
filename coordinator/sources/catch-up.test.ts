import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Leadership } from '#shared/kube/leadership.ts';
import { createCatchUp } from './catch-up.ts';

let stop: AbortController;
beforeEach(() => {
  stop = new AbortController();
});
afterEach(() => stop.abort());

/** Microtasks only. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const fixture = () => {
  let number: number | undefined;
  let ended = new AbortController();
  let begin: (() => void) | undefined;
  const lists: (() => void)[] = [];
  const leadership: Pick<Leadership, 'lead' | 'term'> = {
    term: () => number,
    lead: async (work, signal) => {
      while (!signal.aborted) {
        await new Promise<void>((resolve) => (begin = resolve));
        await work(AbortSignal.any([signal, ended.signal]));
      }
    },
  };
  const pods = {
    catchUp: (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        lists.push(resolve);
        signal.addEventListener('abort', () => resolve());
      }),
  };
  const terms: number[] = [];
  const catchUp = createCatchUp(pods, leadership);
  void catchUp.lead(async () => void terms.push(number ?? -1), stop.signal);
  return {
    catchUp,
    /** Those in which the work began. */
    terms,
    lists,
    begin: (term: number): Promise<void> => {
      number = term;
      ended = new AbortController();
      begin?.();
      return settled();
    },
    end: (): Promise<void> => {
      number = undefined;
      ended.abort();
      return settled();
    },
  };
};

it('is done in each term once the pods were listed in it, and the work begins then', async () => {
  const { begin, catchUp, end, lists, terms } = fixture();
  expect(catchUp.isDone()).toBe(false);
  for (const term of [1, 2]) {
    await begin(term);
    expect([catchUp.isDone(), lists.length, terms.includes(term)]).toEqual([false, term, false]);
    lists.at(-1)?.();
    await settled();
    expect([catchUp.isDone(), terms.includes(term)]).toEqual([true, true]);
    await end();
    expect(catchUp.isDone()).toBe(false);
  }
});

it('is not done by a list of a term that ended before it came', async () => {
  const { begin, catchUp, end, lists, terms } = fixture();
  await begin(1);
  await end();
  await begin(2);
  lists[0]?.();
  await settled();
  expect([catchUp.isDone(), terms]).toEqual([false, []]);
  lists[1]?.();
  await settled();
  expect([catchUp.isDone(), terms]).toEqual([true, [2]]);
});
