import { expect, it } from 'vitest';
import { keptRuleSchema } from './objects.ts';

it('keeps only our annotations of a watched rule, and no fields that are not read', () => {
  const metadata = {
    name: 'a',
    namespace: 'edge',
    uid: 'uid-a',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { sdewanPurpose: 'cnf-1' },
  };
  const rule = { apiVersion: 'g/v1', kind: 'FirewallRule', spec: { src: 'lan' }, status: {} };
  const annotations = {
    'kubectl.kubernetes.io/last-applied-configuration': 'x'.repeat(1_000),
    'example.org/note': 'y',
    'sdewan.akraino.org/order': '5',
  };
  const read = { ...rule, metadata: { ...metadata, annotations, managedFields: [] }, extra: 'z' };
  expect(keptRuleSchema.parse(read)).toEqual({
    ...rule,
    metadata: { ...metadata, annotations: { 'sdewan.akraino.org/order': '5' } },
  });
});
