import { expect, it } from 'vitest';
import { shortened } from './shortened.ts';
import { heldBytes, LONG } from '../runtime/testing/heap.ts';

it('is the beginning of a text, with half of a pair as it is', () => {
  const text = 'a\u{1f600}b\u00e9c';
  for (let most = 0; most < 9; most += 1) expect(shortened(text, most)).toBe(text.slice(0, most));
  expect(shortened(undefined, 3)).toBeUndefined();
});

it('does not keep the rest of it in memory, as slice does', () => {
  expect(heldBytes((long) => long.slice(0, 256))).toBeGreaterThan(LONG / 2);
  expect(heldBytes((long) => shortened(long, 256))).toBeLessThan(LONG / 2);
});
