import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { begin, isTrial, next, undoneIn, type Outcome } from './blame.ts';

const uids = (count: number): string[] => Array.from({ length: count }, (_, at) => `uid-${at}`);

type Run = { outcome: Outcome; trials: string[][]; undone: number };

/** `reached`: whether the target is there at the given step, with so many changes in force. */
const run = (
  changes: readonly string[],
  reached: (inForce: readonly string[], step: number) => boolean,
): Run => {
  let search = begin(changes);
  const trials: string[][] = [];
  let undone = 0;
  for (let step = 0; ; step += 1) {
    const held = new Set(undoneIn(search));
    const inForce = changes.filter((uid) => !held.has(uid));
    if (isTrial(search)) trials.push(inForce);
    else undone += 1;
    const after = next(search, reached(inForce, step));
    if (after === 'none' || 'guilty' in after) return { outcome: after, trials, undone };
    search = after;
  }
};

const anyChanges = fc.integer({ min: 1, max: 300 }).map(uids);
const withCulprit = anyChanges.chain((changes) =>
  fc.record({ changes: fc.constant(changes), culprit: fc.constantFrom(...changes) }),
);

describe('the search for the change that cuts the agent off', () => {
  it('finds it at any place, in at most log2(n) + 3 changes, the one that applies all others included', () => {
    fc.assert(
      fc.property(withCulprit, ({ changes, culprit }) => {
        const { outcome, trials } = run(changes, (inForce) => !inForce.includes(culprit));
        expect(outcome).toEqual({ guilty: culprit });
        expect(trials.length + 1).toBeLessThanOrEqual(Math.ceil(Math.log2(changes.length)) + 3);
      }),
    );
  });

  it('undoes each trial that lost the target, and keeps in each trial what kept the target before', () => {
    fc.assert(
      fc.property(withCulprit, ({ changes, culprit }) => {
        const { trials, undone } = run(changes, (inForce) => !inForce.includes(culprit));
        expect(undone).toBe(1 + trials.filter((inForce) => inForce.includes(culprit)).length);
        const alone = trials.findLast((inForce) => inForce.includes(culprit)) ?? [];
        expect(alone.at(-1)).toBe(culprit);
      }),
    );
  });

  it('blames no rule for one unrelated outage, whenever it begins and ends', () => {
    fc.assert(
      fc.property(anyChanges, fc.nat(30), (changes, end) => {
        expect(run(changes, (_inForce, step) => step >= end).outcome).toBe('none');
      }),
    );
  });

  it('makes all changes again at once after an outage that ends while they are undone', () => {
    fc.assert(
      fc.property(anyChanges, (changes) => {
        const { outcome, trials, undone } = run(changes, () => true);
        expect({ outcome, trials, undone }).toEqual({
          outcome: 'none',
          trials: [changes],
          undone: 1,
        });
      }),
    );
  });

  it('never blames the wrong rule while outages come and go', () => {
    for (let count = 1; count <= 20; count += 1)
      for (const culprit of uids(count))
        for (let from = 0; from < 12; from += 1)
          for (let to = from; to < 12; to += 1) {
            const isOut = (step: number): boolean => step >= from && step < to;
            const { outcome } = run(
              uids(count),
              (inForce, step) => !inForce.includes(culprit) && !isOut(step),
            );
            expect(['none', { guilty: culprit }]).toContainEqual(outcome);
          }
  });

  it('tries one change alone again before it is blamed', () => {
    expect(run(['a'], (inForce) => inForce.length === 0)).toEqual({
      outcome: { guilty: 'a' },
      trials: [['a']],
      undone: 2,
    });
    // What the first loss was about is over.
    expect(run(['a'], () => true)).toMatchObject({ outcome: 'none', trials: [['a']] });
  });

  it('tries the last one alone when only others together with it have lost the target', () => {
    const { outcome, trials } = run(['a', 'b', 'c'], (inForce) => !inForce.includes('c'));
    expect(outcome).toEqual({ guilty: 'c' });
    expect(trials).toEqual([['a', 'b', 'c'], ['a'], ['a', 'b'], ['a', 'b', 'c']]);
  });
});
