import { expect, it } from 'vitest';
import { sharesOf } from './shares.ts';

const member = (wan: string, metric: string, weight: string) => ({
  interface: wan,
  metric,
  weight,
});
const members = [member('a', '1', '3'), member('b', '1', '1'), member('c', '2', '1')];

it.each([
  ['by weight', ['a', 'b', 'c'], [75, 25, 0]],
  ['all to one that alone is up of the lowest metric', ['b', 'c'], [0, 100, 0]],
  ['to those of the next metric', ['c'], [0, 0, 100]],
  ['to none', [], [0, 0, 0]],
])('traffic goes %s where %j are up', (_, up, percents) => {
  const wans = ['a', 'b', 'c'].map((name) => ({ interface: name, up: up.includes(name) }));
  expect(sharesOf('p', members, wans).map(({ percent }) => percent)).toEqual(percents);
});
