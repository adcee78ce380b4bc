import { expect, it } from 'vitest';
import { Recent } from './recent.ts';

it('forgets the oldest when there are too many', () => {
  const recent = new Recent<number>({ most: 2 });
  recent.set('a', 1);
  recent.set('b', 2);
  recent.set('a', 3);
  recent.set('c', 4);
  expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([3, undefined, 4]);
});

it('forgets the oldest that are of no more use', () => {
  let now = 0;
  const recent = new Recent<number>({ most: 9, isOver: (until) => until <= now });
  recent.set('a', 5);
  recent.set('b', 6);
  recent.set('c', 20);
  now = 10;
  recent.set('d', 30);
  expect(recent.size).toBe(2);
  expect(recent.get('c')).toBe(20);
});
