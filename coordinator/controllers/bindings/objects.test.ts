import { expect, it } from 'vitest';
import { desiredBindings } from './objects.ts';

const accountsOf = (accounts: string[], defaultReadsKeys: boolean) =>
  desiredBindings(accounts, defaultReadsKeys).map(([, of]) => of);

it('let every service account of a CNF read rules, once and in order', () => {
  expect(accountsOf(['b', 'a', 'b'], false)).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ]);
});

it('service account default reads keys only if the namespace allows it', () => {
  expect(accountsOf(['default', 'a'], false)).toEqual([['a', 'default'], ['a']]);
  expect(accountsOf(['default'], true)).toEqual([['default'], ['default']]);
});

it('include no bindings without a CNF', () => {
  expect(accountsOf([], true)).toEqual([[], []]);
});
