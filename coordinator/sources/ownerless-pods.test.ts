import { expect, it } from 'vitest';
import { cnfPod } from '../testing/facts.ts';
import { ownerlessAmong } from './ownerless-pods.ts';
import type { CnfPod } from './cnf-pod.ts';

const bare = cnfPod('bare', { owned: false });
const namesOf = (...pods: CnfPod[]): string[] => [...ownerlessAmong(pods)].map(({ name }) => name);

it.each<[string, CnfPod[], string[]]>([
  ['beside one that has an owner', [bare, cnfPod('a')], ['bare']],
  ['beside one that ends', [bare, cnfPod('a', { terminating: true })], ['bare']],
  ['alone', [bare], []],
  ['beside another one without', [bare, cnfPod('b', { owned: false })], []],
  ['beside one that has ended', [bare, cnfPod('a', { finished: true })], []],
  [
    'beside one of an owner that has no agent',
    [bare, cnfPod('a', { agent: { state: 'missing' } })],
    [],
  ],
  ['beside one of another purpose', [bare, cnfPod('a', { purpose: 'cnf-2' })], []],
  ['beside one of another namespace', [bare, cnfPod('a', { namespace: 'else' })], []],
])('knows a pod without an owner %s', (_, pods, ownerless) => {
  expect(namesOf(...pods)).toEqual(ownerless);
});
