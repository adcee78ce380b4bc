import { describe, expect, it } from 'vitest';
import { bounded, informationSchema } from '#shared/protocol/information.ts';
import { interfacesOf, wansOf } from './information.ts';

const ok = (data: unknown) => ({ code: 0, data });
describe('information from OpenWRT', () => {
  it('lists interfaces and their routes, without a next hop where there is none', () => {
    const dump = {
      interface: [
        {
          interface: 'net1',
          up: true,
          l3_device: 'net1',
          'ipv4-address': [{ address: '172.16.30.10', mask: 24 }],
          'ipv6-address': [{ address: 'fd00::1', mask: 64 }],
          route: [
            { target: '0.0.0.0', mask: 0, nexthop: '172.16.30.1', metric: 10, source: '0.0.0.0/0' },
            { target: '10.0.0.0', mask: 8, nexthop: '0.0.0.0' },
            // Not of table main.
            { target: '10.9.0.0', mask: 16, nexthop: '172.16.30.1', table: 40 },
          ],
        },
        { interface: 'down' },
      ],
    };
    expect(interfacesOf(ok(dump))).toEqual({
      interfaces: [
        { name: 'net1', device: 'net1', up: true, addresses: ['172.16.30.10/24', 'fd00::1/64'] },
        { name: 'down', up: false, addresses: [] },
      ],
      routes: [
        { target: '0.0.0.0/0', gateway: '172.16.30.1', interface: 'net1', metric: 10 },
        { target: '10.0.0.0/8', interface: 'net1' },
      ],
    });
  });

  it('has sixteen addresses of an interface', () => {
    const addresses = Array.from({ length: 20 }, (_, at) => ({
      address: `10.0.0.${at}`,
      mask: 24,
    }));
    const dump = { interface: [{ interface: 'net1', up: true, 'ipv4-address': addresses }] };
    expect(interfacesOf(ok(dump)).interfaces[0]?.addresses).toHaveLength(16);
  });

  it('lists WANs sorted by name', () => {
    const interfaces = { net2: { status: 'offline', up: false }, net1: { status: 'online' } };
    expect(wansOf({ interfaces })).toEqual([
      { interface: 'net1', up: true, status: 'online' },
      { interface: 'net2', up: false, status: 'offline' },
    ]);
  });

  it.each([
    ['a refusal', { code: 6, data: undefined }],
    ['an answer of another shape', ok({ interface: 'x', interfaces: [1] })],
    ['no answer', undefined],
  ])('is nothing where there is %s', (_what, answer) => {
    expect(interfacesOf(answer)).toEqual({ interfaces: [], routes: [] });
    expect(wansOf(answer?.data)).toEqual([]);
  });

  it('is read up to the first element that is wrong', () => {
    const reads: unknown[] = [];
    const get = (list: object, key: string | symbol): unknown => {
      if (/^\d+$/.test(String(key))) reads.push(key);
      return Reflect.get(list, key);
    };
    interfacesOf(ok({ interface: new Proxy([0, 0, 0], { get }) }));
    wansOf({ interfaces: new Proxy({ 0: 0, 1: 0, 2: 0 }, { get }) });
    expect(reads).toEqual(['0', '0']);
  });

  it('is cut where it is too long, routes first, and says so', () => {
    const route = { target: `${'x'.repeat(40)}/32`, interface: 'net1' };
    const wan = { interface: 'net1', up: true, status: 'online' };
    const addresses = Array.from(
      { length: 16 },
      (_, at) => `fd00:1234:5678:9abc:def0:1234:5678:${at}/128`,
    );
    const all = {
      firewall: 'fw4' as const,
      interfaces: Array.from({ length: 15 }, (_, at) => ({ name: `i${at}`, up: true, addresses })),
      wans: [wan],
      tunnels: [],
      routes: Array.from({ length: 1_000 }, () => route),
    };
    const told = bounded(all);
    expect(informationSchema.safeParse(told).success).toBe(true);
    expect(JSON.stringify(told).length).toBeLessThanOrEqual(16_384);
    expect([told.firewall, told.wans.length, told.interfaces.length]).toEqual(['fw4', 1, 15]);
    expect(told.leftOut).toBe(1_000 - told.routes.length);
  });
});
