import { expect, it } from 'vitest';
import { inTurns } from './in-turns.ts';

it('groups take turns, and each keeps its order', () => {
  const groupOf = (item: string): string => item.slice(0, 1);
  expect(inTurns(['a1', 'a2', 'a3', 'b1', 'c1', 'c2'], groupOf)).toEqual([
    'a1',
    'b1',
    'c1',
    'a2',
    'c2',
    'a3',
  ]);
  expect(inTurns([], groupOf)).toEqual([]);
});
