import { describe, expect, it } from 'vitest';
import { compile } from '../../compile/compile.ts';
import { inputOf, ruleOf } from '../../compile/testing.ts';
import { ASSUMED } from '../capabilities.ts';
import {
  masqueradedSubnetCautions,
  masqueradedSubnetLacks,
  type MasqueradingZone,
} from './masqueraded-subnets.ts';

const fw4 = { capabilities: ASSUMED };
const fw3 = { capabilities: { ...ASSUMED, firewall: 'fw3' as const } };

// Each was given to nft as firewall4's templates render it, with a forwarding to the zone.
describe('a zone that nft refuses with all other rules', () => {
  it.each<[string, MasqueradingZone, number]>([
    ['of IPv6', { masq: '1', subnet: ['2001:db8::/64'] }, 0],
    ['of both', { masq: '1', subnet: ['10.0.0.0/8', '2001:db8::/64'] }, 1],
    ['of IPv6 and negated', { masq: '1', subnet: ['!2001:db8::/64'] }, 0],
    ['of IPv6, as its family says', { masq: '1', subnet: ['::/0'], family: 'ipv6' }, 0],
  ])('has subnets %s and is not written', (_, zone, at) => {
    const path = `spec.subnet[${at}]`;
    expect(masqueradedSubnetLacks(zone, fw4)).toEqual([
      {
        path,
        reason: 'UnsupportedByDriver',
        message: expect.stringMatching(/set masq_allow_invalid to 1.*it is not in force$/),
      },
    ]);
    expect(masqueradedSubnetCautions(zone)).toEqual([expect.stringContaining(`${path}: `)]);
    expect(masqueradedSubnetLacks(zone, fw3)).toEqual([]);
  });
});

describe('a zone that nft takes', () => {
  it.each<[string, MasqueradingZone]>([
    ['without subnets', { masq: '1' }],
    ['with subnets of IPv4', { masq: '1', subnet: ['10.0.0.0/8'] }],
    ['that does not masquerade', { masq: '0', subnet: ['2001:db8::/64'] }],
    ['that lets all out', { masq: '1', masq_allow_invalid: '1', subnet: ['2001:db8::/64'] }],
    ['of IPv4 alone', { masq: '1', family: 'ipv4', subnet: ['10.0.0.0/8', '2001:db8::/64'] }],
  ])('%s is written', (_, zone) => {
    expect(masqueradedSubnetLacks(zone, fw4)).toEqual([]);
    expect(masqueradedSubnetCautions(zone)).toEqual([]);
  });
});

it('waits as a FirewallZone, and so does what refers to it', () => {
  const zone = { network: ['ovn-net1'], masq: 1, subnet: ['2001:db8::/64'] };
  const rule = { src: 'far', target: 'DROP', proto: 'tcp' };
  const { verdicts, desired } = compile(
    inputOf([ruleOf('FirewallZone', 'far', zone), ruleOf('FirewallRule', 'a', rule)]),
  );
  expect(verdicts).toMatchObject([
    {
      reason: 'UnsupportedByDriver',
      message: expect.stringContaining('spec.subnet[0]: firewall4'),
    },
    { verdict: 'pending' },
  ]);
  expect(desired.get('firewall')).toEqual([]);
});
