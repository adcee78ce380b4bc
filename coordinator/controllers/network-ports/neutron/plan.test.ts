import { describe, expect, it } from 'vitest';
import { addressesIn, fixedIpsOf, fixedProblem, planInNeutron, type FoundNetwork } from './plan.ts';
import { NETWORK, SUBNET } from './testing.ts';

const SLAAC = {
  id: 's6',
  cidr: 'fd00:70::/64',
  ip_version: 6 as const,
  gateway_ip: 'fd00:70::1',
  allocation_pools: [{ start: 'fd00:70::2', end: 'fd00:70::ffff' }],
  ipv6_address_mode: 'slaac',
};
const OTHER = { ...SUBNET, id: 's5', cidr: '10.71.0.0/24' };
const found = (some: Partial<FoundNetwork> = {}): FoundNetwork => ({
  project: 'ours',
  network: { id: NETWORK, project_id: 'ours', mtu: 1_442, port_security_enabled: true },
  subnets: [SUBNET, SLAAC],
  ...some,
});
const planned = (some?: Partial<FoundNetwork>, subnets?: string[]) =>
  planInNeutron({ network: NETWORK, ...(subnets && { subnets }) }, found(some));
const plan = () => {
  const known = planned({ subnets: [SLAAC, SUBNET] });
  if ('problem' in known) throw new Error(known.problem);
  return known.neutron;
};

describe('what a network of Neutron gives', () => {
  it('has one subnet for each family, IPv4 first', () => {
    expect(planned()).toMatchObject({
      range: '10.70.0.10-10.70.0.60 and fd00:70::2-fd00:70::ffff',
    });
    expect(plan().subnets.map(({ id }) => id)).toEqual(['s4', 's6']);
    expect(planned({ subnets: [SUBNET, OTHER] }, ['s5'])).toMatchObject({
      neutron: { subnets: [{ id: 's5' }] },
    });
  });

  it.each<[string, Partial<FoundNetwork>, string[] | undefined, string, string]>([
    ['is not there', { network: undefined }, undefined, 'NotFound', NETWORK],
    ['lacks a subnet that is named', {}, ['s9'], 'NotFound', 'has no subnet s9'],
    [
      'is of another project',
      { project: 'theirs' },
      undefined,
      'NotOurNetwork',
      'is of project ours, and clouds.yaml of project theirs',
    ],
    ['has two of a family', { subnets: [SUBNET, OTHER] }, undefined, 'InvalidSpec', 's5 (10.71'],
    ['has no subnet', { subnets: [] }, undefined, 'InvalidSpec', 'they are none'],
  ])('is nothing where it %s, and says why', (_, some, subnets, reason, words) => {
    expect(planned(some, subnets)).toMatchObject({
      reason,
      problem: expect.stringContaining(words),
    });
  });
});

describe('an address that a pod fixes', () => {
  it.each(['10.70.0.10', '10.70.0.60'])('%s is one of the pool', (text) => {
    expect(fixedProblem(plan(), [text])).toBeUndefined();
  });

  it.each([
    ['10.70.0.9', 'is not in 10.70.0.10-10.70.0.60'],
    ['10.70.0.1', 'is not in 10.70.0.10-10.70.0.60'],
    ['10.71.0.10', 'is not in its subnets'],
    ['fd00:70::10', 'follow from MACs'],
  ])('%s is refused: %s', (text, problem) => {
    expect(fixedProblem(plan(), [text])).toContain(problem);
  });

  it('is not that of the gateway, also where the pool has it, and one of each subnet', () => {
    const known = planned({ subnets: [{ ...SUBNET, gateway_ip: '10.70.0.20' }] });
    if ('problem' in known) throw new Error(known.problem);
    expect(fixedProblem(known.neutron, ['10.70.0.20'])).toContain('is not in');
    expect(fixedProblem(known.neutron, ['10.70.0.21', '10.70.0.22'])).toContain('one subnet');
  });
});

describe('the addresses of a port', () => {
  it('are asked for again, but for those that follow from its MAC', () => {
    expect(fixedIpsOf(plan(), ['10.70.0.11', 'fd00:70::2'])).toEqual([
      { subnet_id: 's4', ip_address: '10.70.0.11' },
      { subnet_id: 's6' },
    ]);
  });

  it('are read in the order of the subnets, in their one spelling', () => {
    const ips = [
      { subnet_id: 's6', ip_address: 'FD00:70:0::2' },
      { subnet_id: 'another', ip_address: '10.9.0.1' },
      { subnet_id: 's4', ip_address: '10.70.0.11' },
    ];
    expect(addressesIn(plan(), { fixed_ips: ips })).toEqual(['10.70.0.11', 'fd00:70::2']);
  });
});
