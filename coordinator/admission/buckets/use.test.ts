import { describe, expect, it } from 'vitest';
import { grantsUse, rulesOfUse, type PolicyRule } from './use.ts';

const rule = (changes: Partial<PolicyRule> = {}): PolicyRule => ({
  verbs: ['use'],
  apiGroups: ['permissions.sdewan.akraino.org'],
  resources: ['buckettypes'],
  ...changes,
});

/** As the API server's authorizer judges them: test/attacks/buckets.test.ts. */
describe('a rule grants a type', () => {
  it.each<[string, PolicyRule, boolean]>([
    ['of all kinds', rule(), true],
    ['of this kind', rule({ resources: ['buckettypes/mwan3rules'] }), true],
    ['of another kind', rule({ resources: ['buckettypes/firewallzones'] }), false],
    ['by all resources', rule({ resources: ['*'] }), true],
    ['by all resources with this subresource', rule({ resources: ['*/mwan3rules'] }), true],
    ['by a wildcard that RBAC does not know', rule({ resources: ['buckettypes/*'] }), false],
    ['by name', rule({ resourceNames: ['basic'] }), true],
    ['by another name', rule({ resourceNames: ['app-intent'] }), false],
    ['by a wildcard for a name, which RBAC does not know', rule({ resourceNames: ['*'] }), false],
    ['by no name in particular', rule({ resourceNames: [] }), true],
    ['by all verbs', rule({ verbs: ['*'] }), true],
    ['by another verb', rule({ verbs: ['release'] }), false],
    ['by all groups', rule({ apiGroups: ['*'] }), true],
    ['by another group', rule({ apiGroups: ['batch.sdewan.akraino.org'] }), false],
    ['by no group', rule({ apiGroups: null }), false],
  ])('%s', (_, one, granted) => {
    expect(grantsUse([one], 'mwan3rules', 'basic')).toBe(granted);
    expect(grantsUse(rulesOfUse([one]), 'mwan3rules', 'basic')).toBe(granted);
  });

  it('counts no two rules together', () => {
    const some = [rule({ verbs: ['get'] }), rule({ apiGroups: ['apps'] })];
    expect(grantsUse(some, 'mwan3rules', 'basic')).toBe(false);
    expect(rulesOfUse(some)).toEqual([]);
  });
});
