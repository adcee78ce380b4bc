import { expect, it } from 'vitest';
import { few } from './few.ts';

it.each<[readonly string[], string]>([
  [[], ''],
  [['a', 'b'], 'a, b'],
  [['a', 'b', 'c'], 'a, b and 1 more'],
])('names the first two of %j', (names, text) => {
  expect(few(names, 2)).toBe(text);
});

it('names the first five, unless it is said how many', () => {
  expect(few(['a', 'b', 'c', 'd', 'e', 'f'])).toBe('a, b, c, d, e and 1 more');
});
