import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ManagedNetworkSpec } from '#shared/resources/other-kinds/managed-network.ts';
import {
  addressesAt,
  commonIndexOf,
  conflictBetween,
  indexOf,
  macAt,
  planOf,
  type Plan,
} from './subnets.ts';

type Subnets = ManagedNetworkSpec['subnets'];
const specOf = (subnets: Subnets, some: Partial<ManagedNetworkSpec> = {}): ManagedNetworkSpec => ({
  provider: 'static',
  names: ['net-a'],
  subnets,
  ...some,
});
const V4 = { cidr: '10.1.0.0/24', ranges: ['10.1.0.10-10.1.0.13'] };
const V6 = { cidr: 'fd00::/64', ranges: ['fd00::a-fd00::d'] };
const planned = (subnets: Subnets): Plan => {
  const plan = planOf(specOf(subnets));
  if ('problem' in plan) throw new Error(plan.problem);
  return plan;
};

describe('a plan', () => {
  it('has one index for the addresses of both families', () => {
    const plan = planned([V4, V6]);
    expect(plan.indexes).toEqual([10, 11, 12, 13]);
    expect(addressesAt(plan, 12)).toEqual(['10.1.0.12', 'fd00::c']);
    expect([indexOf(plan, '10.1.0.12/24'), indexOf(plan, 'FD00:0::c')]).toEqual([12, 12]);
  });

  it('skips network, broadcast and what is excluded in either family', () => {
    const plan = planned([
      { cidr: '10.1.0.0/29', ranges: ['10.1.0.0-10.1.0.7'], excluded: ['10.1.0.2'] },
      { cidr: 'fd00::/64', ranges: ['fd00::-fd00::7'], excluded: ['fd00::5'] },
    ]);
    expect(plan.indexes).toEqual([1, 3, 4, 6]);
  });

  it.each<[string, Subnets, string[]]>([
    ['a range outside', [{ ...V4, ranges: ['10.2.0.1'] }], ['10.2.0.1', '10.1.0.0/24']],
    [
      'a range that ends before it begins',
      [{ ...V4, ranges: ['10.1.0.9-10.1.0.3'] }],
      ['10.1.0.9-10.1.0.3'],
    ],
    ['ranges that overlap', [{ ...V4, ranges: ['10.1.0.1-10.1.0.5', '10.1.0.5'] }], ['overlap']],
    [
      'a gateway in a range',
      [{ ...V4, gateway: '10.1.0.11' }],
      ['10.1.0.11', '10.1.0.10-10.1.0.13'],
    ],
    ['a gateway outside', [{ ...V4, gateway: '10.9.0.1' }], ['10.9.0.1', '10.1.0.0/24']],
    ['offsets that differ', [V4, { ...V6, ranges: ['fd00::b-fd00::e'] }], ['10-13', '11-14']],
    [
      'two subnets of one family',
      [V4, { ...V4, cidr: '10.2.0.0/24', ranges: ['10.2.0.10'] }],
      ['10.2.0.0/24'],
    ],
    ['too many', [{ cidr: '10.0.0.0/8', ranges: ['10.0.0.1-10.1.0.1'] }], ['65536', '65537']],
    ['no block', [{ ...V4, cidr: '10.1.0.0/33' }], ['10.1.0.0/33']],
  ])('is none of %s, and names both values', (_, subnets, words) => {
    const plan = planOf(specOf(subnets));
    for (const word of words)
      expect(plan).toMatchObject({ problem: expect.stringContaining(word) });
  });
});

it('takes addresses fixed by hand that have one index in both families', () => {
  const plan = planned([V4, V6]);
  expect(commonIndexOf(plan, ['10.1.0.12', 'fd00::c'])).toBe(12);
  expect(commonIndexOf(plan, ['10.1.0.12', 'fd00::d'])).toMatchObject({
    problem: expect.stringContaining('different offsets'),
  });
  expect(commonIndexOf(plan, ['10.9.0.12'])).toMatchObject({
    problem: '10.9.0.12 is not in its subnets',
  });
});

it('makes MACs that are locally administered, unicast, and the same each time', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.nat(), (uid, index) => {
      const mac = macAt(uid, index);
      expect(mac).toMatch(/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/);
      expect(Number.parseInt(mac, 16) & 0b11).toBe(0b10);
      expect(macAt(uid, index)).toBe(mac);
      expect(macAt(uid, index + 1)).not.toBe(mac);
    }),
  );
});

it('networks with a common name or address are in conflict', () => {
  const one = specOf([V4]);
  expect(
    conflictBetween(one, specOf([{ ...V4, cidr: '10.1.0.128/25' }], { names: ['b'] })),
  ).toContain('10.1.0.0/24 overlaps 10.1.0.128/25');
  expect(conflictBetween(one, specOf([V6]))).toContain('net-a');
  expect(conflictBetween(one, specOf([V6], { names: ['b'] }))).toBeUndefined();
});
