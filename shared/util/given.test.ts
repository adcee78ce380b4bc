import { expect, it } from 'vitest';
import { given } from './given.ts';

it('leaves out what is undefined, and nothing else', () => {
  const set = given({ a: 1, b: undefined, c: null, d: '' });
  expect(set).toEqual({ a: 1, c: null, d: '' });
  expect(Object.hasOwn(set, 'b')).toBe(false);
});
