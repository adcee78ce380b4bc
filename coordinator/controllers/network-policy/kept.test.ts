import { expect, it } from 'vitest';
import { PolicyShares } from './policy-shares.ts';
import { networkPolicies, watchedPods } from './kept.ts';

const read = (spec: unknown, metadata: object = {}) =>
  networkPolicies(new PolicyShares()).schema.parse({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'uid-1',
      resourceVersion: '5',
      generation: 3,
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: { note: 'n'.repeat(9_000) },
      ...metadata,
    },
    spec,
  });

it('keeps of a policy what is evaluated, and nothing else', () => {
  const kept = read({ podSelector: {}, ingress: [{ note: 'n'.repeat(9_000) }], other: [1] });
  expect(kept.policy).toMatchObject({ spec: { podSelector: {}, ingress: [{}] }, generation: 3 });
  expect(JSON.stringify(kept).length).toBeLessThan(1_000);
});

it('keeps of a policy that is too long its name and why', () => {
  const from = Array.from({ length: 6_000 }, (_, at) => ({
    ipBlock: { cidr: `10.${at >> 8}.${at & 255}.0/24` },
  }));
  const kept = read({ podSelector: {}, ingress: [{ from }] });
  expect(kept.policy).toMatchObject({
    name: 'web',
    unread: { reason: 'TooLarge', message: expect.stringMatching(/^the policy has \d{6} char/) },
  });
  expect(JSON.stringify(kept).length).toBeLessThan(1_000);
});

it('keeps of a policy that cannot be read the path of what is wrong', () => {
  expect(read({ podSelector: {}, ingress: [{ ports: [{ port: 0 }] }] }).policy).toMatchObject({
    unread: {
      reason: 'InvalidSpec',
      message: expect.stringContaining('spec.ingress.0.ports.0.port'),
    },
  });
});

it('keeps of the groups that a pod says it has what they are compared by', () => {
  const pod = watchedPods.schema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'a',
      namespace: 'shop',
      uid: 'uid-1',
      resourceVersion: '5',
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: { 'sdewan.akraino.org/policy-groups': 'g'.repeat(200_000) },
    },
    spec: { containers: [] },
  });
  expect(JSON.stringify(pod).length).toBeLessThan(1_000);
});
