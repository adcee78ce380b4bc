import { expect, it } from 'vitest';
import { AGENTS_FINALIZER, PURPOSE_LABEL } from '#shared/names.ts';
import { ruleOf } from './rule.ts';

const object = {
  apiVersion: 'v1',
  kind: 'FirewallRule',
  metadata: { namespace: 'edge', name: 'a', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
  spec: {},
};
const withMetadata = (metadata: object) =>
  ruleOf({ ...object, metadata: { ...object.metadata, ...metadata } }, 'r');

it('gives a rule to the CNF that its label names, and finds our finalizer among others', () => {
  const marks = { labels: { [PURPOSE_LABEL]: 'cnf-1' }, finalizers: ['x', AGENTS_FINALIZER] };
  expect(withMetadata({ ...marks, generation: 2 })).toEqual({
    kind: 'FirewallRule',
    namespace: 'edge',
    name: 'a',
    uid: 'u',
    generation: 2,
    revision: 'r',
    purpose: 'cnf-1',
    deletedAt: undefined,
    hasFinalizer: true,
    status: undefined,
  });
});

it('gives one with an empty label, or none, to no CNF', () => {
  const none = { generation: 0, purpose: undefined, hasFinalizer: false };
  expect(withMetadata({ labels: { [PURPOSE_LABEL]: '' } })).toMatchObject(none);
  expect(withMetadata({ finalizers: ['x'] })).toMatchObject(none);
});
