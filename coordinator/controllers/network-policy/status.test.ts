import { describe, expect, it } from 'vitest';
import { holdersIn, type PolicyPod } from '#shared/policy/group-members.ts';
import type { Scope } from '#shared/policy/networks.ts';
import { ownStatusOf, type StatusFacts } from './status.ts';

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
const CLUSTER: Scope = [{ name: 'cluster', subnets: [] }];
const NET: Scope = [{ name: 'net1', subnets: ['10.1.0.0/24'] }];
const second = (...addresses: string[]) => ({ secondAddresses: [{ network: 'net1', addresses }] });

const of = (
  pods: PolicyPod[],
  {
    isInSync = true,
    scope = CLUSTER,
    peers,
    refused,
  }: Partial<Pick<StatusFacts, 'isInSync' | 'scope'>> & {
    peers?: string[];
    refused?: StatusFacts['spec']['refused'];
  } = {},
) => {
  const holders = holdersIn(pods);
  return ownStatusOf({
    spec: { lines: peers ? [{ direction: 'ingress', group: 'peers' }] : [], refused },
    scope,
    selected: pods.filter(({ namespace }) => namespace === 'apps'),
    members: () => peers ?? [],
    holdersOf: (claim) => holders.get(claim) ?? [],
    cnf: new Set(['cnf']),
    purpose: 'cnf-1',
    isInSync,
  });
};

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
    ['AddressTaken', { addresses: ['10.0.0.9'], isTerminating: true }],
    ['AddressTaken', { addresses: ['10.0.0.9'], isUnscheduled: true }],
  ])('are not, and are named: %s', (reason, more) => {
    const later = { creationTimestamp: '2026-01-01T00:00:01Z', addresses: ['10.0.0.9'] };
    const result = of([pod('a', more), pod('later', later)]);
    expect(result.selectedPods?.summary).toBe('1/2');
    expect(result.notEnforced).toEqual([{ reason, pods: 1, examples: ['apps/a'] }]);
  });

  it('are not for certain where two that nodes run have one address', () => {
    const both = [pod('a'), pod('b'), pod('c', { isUnscheduled: true })];
    expect(of(both).notEnforced).toEqual([
      { reason: 'AddressShared', pods: 2, examples: ['apps/a', 'apps/b'] },
      { reason: 'AddressTaken', pods: 1, examples: ['apps/c'] },
    ]);
  });

  it('are not while an agent has not said that it has the policy', () => {
    expect(of([pod('a')], { isInSync: false })).toMatchObject({
      selectedPods: { summary: '0/1' },
      notEnforced: [{ reason: 'AgentNotReady', pods: 1, examples: ['apps/a'] }],
    });
  });
});

describe('in a second network', () => {
  const why = (pods: PolicyPod[], more: Parameters<typeof of>[1] = {}) =>
    of(pods, { scope: NET, ...more }).notEnforced?.map(({ reason }) => reason) ?? [];

  it('counts a pod by its address there', () => {
    expect(why([pod('a', second('10.1.0.5'))])).toEqual([]);
    expect(why([pod('a')])).toEqual(['NotInNetwork']);
  });

  it('tells of an address that the coordinator has not given, and whose it is instead', () => {
    const foreign = {
      secondAddresses: [{ network: 'net1', addresses: ['10.1.0.5'], isForeign: true as const }],
    };
    expect(why([pod('a', foreign)])).toEqual(['AddressNotManaged']);
    expect(why([pod('a', foreign), pod('b', second('10.1.0.5'))])).toEqual(['AddressTaken']);
  });

  it('tells of an address outside the subnets of the network', () => {
    expect(why([pod('a', second('10.2.0.5'))])).toEqual(['OutsideNetwork']);
  });

  it('two pods that have the same address are told apart, whatever their own addresses are', () => {
    const ending = pod('ending', { ...second('10.1.0.5'), isTerminating: true });
    expect(why([pod('a', second('10.1.0.5')), ending])).toEqual(['AddressTaken']);
  });

  it('does not call a policy between neighbours alone enforced: their packets do not come here', () => {
    expect(why([pod('a', second('10.1.0.5'))], { peers: ['10.1.0.6'] })).toEqual([
      'SameNetworkOnly',
    ]);
    expect(why([pod('a', second('10.1.0.5'))], { peers: ['10.1.0.6', '10.9.0.1'] })).toEqual([]);
    expect(why([pod('a', second('10.1.0.5'))], { peers: [] })).toEqual([]);
  });

  it('names the network in the sentence', () => {
    expect(of([], { scope: NET }).scope).toContain("forward from or to pods' addresses in net1:");
    expect(of([], { scope: [...CLUSTER, ...NET] }).scope).toContain(
      "the pods' own addresses or pods' addresses in net1:",
    );
  });
});

it('pods of a policy that is not carried are not called enforced', () => {
  const refused = { generation: 2, reason: 'TooLarge' as const, message: 'too large' };
  expect(of([pod('a')], { refused })).toMatchObject({
    selectedPods: { summary: '0/1' },
    notEnforced: [{ reason: 'TooLarge' }],
  });
});
