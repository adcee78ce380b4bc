import { describe, expect, it } from 'vitest';
import type { MadePort } from '../../../neutron/ports.ts';
import { networkPortName } from '../../../neutron/names.ts';
import { sweepOf, type ListedPorts } from './sweep.ts';
import { CLUSTER, MINUTE, neutronPort } from './testing.ts';

const uidOf = (at: number): string => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`;
const named = (name: string, some: Partial<MadePort> = {}): MadePort => ({
  id: `id of ${name}`,
  name,
  mac_address: '02:00:00:00:00:01',
  status: 'DOWN',
  fixed_ips: [],
  ...some,
});
const ours = (at: number, some?: Partial<MadePort>): MadePort =>
  named(networkPortName(CLUSTER, uidOf(at)), some);
const sweep = (some: Partial<ListedPorts>) =>
  sweepOf({
    cluster: CLUSTER,
    listed: [],
    objects: [],
    network: 'lan',
    now: 0,
    seen: new Map(),
    afterMs: 10 * MINUTE,
    ...some,
  });
const twice = (listed: readonly MadePort[], after = 10 * MINUTE) => {
  const { seen } = sweep({ listed });
  return sweep({ listed, seen, now: after }).remove.map(({ name }) => name);
};
const many = (from: number, count: number): MadePort[] =>
  Array.from({ length: count }, (_, at) => ours(from + at));

describe('a port without a NetworkPort', () => {
  it('is deleted when two lists ten minutes apart show it, and not before', () => {
    expect(sweep({ listed: [ours(1)] }).remove).toEqual([]);
    expect(twice([ours(1)], 10 * MINUTE - 1)).toEqual([]);
    expect(twice([ours(1)])).toEqual([ours(1).name]);
  });

  it('counts from anew, when it had a NetworkPort between', () => {
    const listed = [ours(1)];
    const { seen } = sweep({ listed });
    const object = neutronPort(uidOf(1), '02:00:00:00:00:01', { network: 'other' });
    const between = sweep({ listed, seen, objects: [object], now: 5 * MINUTE });
    expect(sweep({ listed, seen: between.seen, now: 10 * MINUTE }).remove).toEqual([]);
  });

  it('stays while it is plugged in', () => {
    expect(twice([ours(1, { status: 'ACTIVE' })])).toEqual([]);
  });

  it.each([
    'no uid',
    `sdewan/${CLUSTER}/np/`,
    `sdewan/${CLUSTER}/np/${uidOf(1)}/x`,
    `sdewan/${CLUSTER}/np/${uidOf(1).toUpperCase().replace('4', 'A')}`,
    `sdewan/${CLUSTER}/${uidOf(1)}`,
    `sdewan/00000000/np/${uidOf(1)}`,
    `Sdewan/${CLUSTER}/np/${uidOf(1)}`,
    ` ${networkPortName(CLUSTER, uidOf(1))}`,
  ])('stays where its name is not exactly ours: %s', (name) => {
    expect(twice([named(name)])).toEqual([]);
  });

  it('stays with all others, where they are more than twenty and more than a fifth', () => {
    expect(twice(many(0, 20))).toHaveLength(20);
    expect(twice(many(0, 21))).toEqual([]);
    const held = sweep({ listed: many(0, 21) });
    expect(held.held).toContain('21 of 21 ports of this cluster in Neutron have no NetworkPort');
    const objects = many(100, 84).map(({ name }) =>
      neutronPort(name.slice(-36), '02:00:00:00:00:02'),
    );
    const listed = [...many(0, 21), ...many(100, 84)];
    const { seen, held: few } = sweep({ listed, objects });
    expect(few).toBeUndefined();
    expect(sweep({ listed, objects, seen, now: 10 * MINUTE }).remove).toHaveLength(21);
  });
});

describe('a NetworkPort whose port is not listed', () => {
  const port = (some: object) => neutronPort(uidOf(1), '02:00:00:00:00:01', some);

  it('is missing, unless it is of another network, has none yet, or is released', () => {
    expect(sweep({ objects: [port({ portID: 'x' })] }).missing).toHaveLength(1);
    const others = [
      port({ portID: 'x', network: 'other' }),
      port({}),
      port({ portID: 'x', releasedAt: '2026-01-01T00:00:00Z' }),
    ];
    expect(sweep({ objects: others }).missing).toEqual([]);
  });
});
