import { describe, expect, it } from 'vitest';
import { ownersOf, type PolicyPod } from '#shared/policy/groups.ts';
import { ownStatusOf } from './status.ts';

const pod = (name: string, more: Partial<PolicyPod> = {}): PolicyPod => ({
  namespace: 'apps',
  name,
  uid: name,
  labels: {},
  creationTimestamp: '2026-01-01T00:00:00Z',
  addresses: [`10.0.0.${name.length}`],
  ports: [],
  isHostNetwork: false,
  isFinished: false,
  ...more,
});
const of = (pods: PolicyPod[], isInSync = true) =>
  ownStatusOf({
    selector: { pods: {}, namespaces: { name: 'apps' } },
    pods,
    labelsOf: () => ({}),
    owners: ownersOf(pods),
    cnf: new Set(['cnf']),
    purpose: 'cnf-1',
    isInSync,
  });

describe('pods that a policy selects', () => {
  it('are enforced when each agent of the CNF has the policy', () => {
    expect(of([pod('a'), pod('bb')])).toMatchObject({
      selectedPods: { selected: 2, enforced: 2, summary: '2/2' },
    });
    expect(of([pod('a'), pod('bb', { namespace: 'other' })]).selectedPods?.summary).toBe('1/1');
  });

  it.each<[string, Partial<PolicyPod>]>([
    ['HostNetwork', { isHostNetwork: true }],
    ['Finished', { isFinished: true }],
    ['NoAddressYet', { addresses: [] }],
    ['IsTheEnforcer', { uid: 'cnf' }],
    ['AddressTaken', { addresses: ['10.0.0.9'] }],
  ])('are not, and are named: %s', (reason, more) => {
    const later = { creationTimestamp: '2026-01-01T00:00:01Z', addresses: ['10.0.0.9'] };
    const result = of([pod('a', more), pod('later', later)]);
    expect(result.selectedPods?.summary).toBe('1/2');
    expect(result.notEnforced).toEqual([{ reason, pods: 1, examples: ['apps/a'] }]);
  });

  it('are not while an agent has not said that it has the policy', () => {
    expect(of([pod('a')], false)).toMatchObject({
      selectedPods: { summary: '0/1' },
      notEnforced: [{ reason: 'AgentNotReady', pods: 1, examples: ['apps/a'] }],
    });
  });
});
