import { expect, it } from 'vitest';
import type { KubeObject } from './objects.ts';
import { createOwnWrites } from './own-writes.ts';

const version = (resourceVersion: string, uid = 'one') => ({
  apiVersion: 'v1',
  kind: 'Group',
  metadata: { namespace: 'ns', name: uid, uid, resourceVersion, creationTimestamp: '' },
});

it('counts what was written until the watch shows the same, or a later one', () => {
  const written = createOwnWrites((object: KubeObject) => object);
  written.note(version('100'));
  expect(written.latest(version('99'))).toEqual(version('100'));
  written.note(version('101'));
  expect(written.latest(version('100'))).toEqual(version('101'));
  expect(written.latest(version('101'))).toEqual(version('101'));
  // Nothing is left of an answer that comes after the watch, either.
  written.note(version('101'));
  expect(written.latest(version('102'))).toEqual(version('102'));
});

it('is of one object, and forgotten with it', () => {
  const written = createOwnWrites((object: KubeObject) => object);
  written.note(version('5'));
  expect(written.latest(version('4', 'other'))).toEqual(version('4', 'other'));
  written.forget('one');
  expect(written.latest(version('4'))).toEqual(version('4'));
});
