import { expect, it } from 'vitest';
import { AGENTS_FINALIZER, ICN_FINALIZERS } from '#shared/names.ts';
import type { ObjectMeta } from '#shared/kube/objects.ts';
import { withAgentsFinalizer, withoutAgentsFinalizers } from './finalizers.ts';

const metadata = (changes: Partial<ObjectMeta>): ObjectMeta => ({
  name: 'reject-80',
  namespace: 'edge',
  uid: 'rule-1',
  resourceVersion: '7',
  creationTimestamp: '2026-01-02T03:04:05Z',
  ...changes,
});

it('adds ours behind those of others, once', () => {
  expect(withAgentsFinalizer(metadata({}))).toEqual([AGENTS_FINALIZER]);
  expect(withAgentsFinalizer(metadata({ finalizers: ['x/y'] }))).toEqual(['x/y', AGENTS_FINALIZER]);
  expect(withAgentsFinalizer(metadata({ finalizers: [AGENTS_FINALIZER] }))).toBeUndefined();
});

it('adds none to an object that is being deleted, which the API server would refuse', () => {
  const deleting = metadata({ deletionTimestamp: '2026-01-02T03:04:06Z' });
  expect(withAgentsFinalizer(deleting)).toBeUndefined();
});

it("removes ours and ICN's twelve together, and nobody else's", () => {
  const finalizers = [...ICN_FINALIZERS, 'foregroundDeletion', AGENTS_FINALIZER];
  expect(withoutAgentsFinalizers(metadata({ finalizers }))).toEqual(['foregroundDeletion']);
  expect(withoutAgentsFinalizers(metadata({ finalizers: ['x/y'] }))).toBeUndefined();
  expect(withoutAgentsFinalizers(metadata({}))).toBeUndefined();
});
