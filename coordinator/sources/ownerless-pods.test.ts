import { expect, it } from 'vitest';
import { target } from '../testing/facts.ts';
import { strangersAmong } from './ownerless-pods.ts';
import type { Target } from './cnf-pod.ts';

const bare = target('bare', { owned: false });
const namesOf = (...targets: Target[]): string[] =>
  [...strangersAmong(targets)].map(({ name }) => name);

it.each<[string, Target[], string[]]>([
  ['beside one that has an owner', [bare, target('a')], ['bare']],
  ['beside one that ends', [bare, target('a', { terminating: true })], ['bare']],
  ['alone', [bare], []],
  ['beside another one without', [bare, target('b', { owned: false })], []],
  ['beside one that has ended', [bare, target('a', { finished: true })], []],
  [
    'beside one of an owner that has no agent',
    [bare, target('a', { agent: { state: 'missing' } })],
    [],
  ],
  ['beside one of another purpose', [bare, target('a', { purpose: 'cnf-2' })], []],
  ['beside one of another namespace', [bare, target('a', { namespace: 'else' })], []],
])('a pod without an owner %s', (_, targets, strangers) => {
  expect(namesOf(...targets)).toEqual(strangers);
});
