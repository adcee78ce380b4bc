import { describe, expect, it } from 'vitest';
import { MAX_INFORMATION_BYTES, bounded, informationSchema } from '#shared/protocol/information.ts';
import { interfacesOf, tunnelsOf, wansOf } from './information.ts';

const ok = (data: unknown) => ({ code: 0, data });
const remote = (name: string, options: Record<string, string | string[]>) => ({
  name,
  anonymous: false,
  type: 'remote',
  options,
});

/** `ipsec status` as recorded (icn-rest-more.json). */
const STATUS = `Security Associations (1 up, 1 connecting):
  site1-c2[2]: CONNECTING, 10.10.70.39[%any]...10.10.70.41[%any]
  site1-c1[1]: ESTABLISHED 5 minutes ago, 10.10.70.39[C=CN, CN=a]...10.10.70.40[C=CN, CN=b]
  site1-c1{1}:  INSTALLED, TUNNEL, reqid 1, ESP SPIs: c1234567_i c7654321_o
  site1-c1{1}:   192.168.1.0/24 === 192.168.0.1/32
`;

describe('what OpenWRT tells', () => {
  it('of tunnels: those that are up or on their way, and those that are configured and missing', () => {
    const sections = [
      remote('site1', { tunnel: ['c1', 'c2', 'c3'] }),
      remote('off', { enabled: '0', tunnel: ['c'] }),
    ];
    expect(tunnelsOf(sections, ok({ code: 0, stdout: STATUS }))).toEqual([
      { name: 'site1-c1', up: true, state: 'ESTABLISHED' },
      { name: 'site1-c2', up: false, state: 'CONNECTING' },
      { name: 'site1-c3', up: false, state: 'DOWN' },
    ]);
  });

  it('of a tunnel that is renewed: up as long as one of its connections is', () => {
    const stdout =
      '  a-b[2]: CONNECTING, x\n  a-b[1]: ESTABLISHED 3 hours ago, x\n  a-b[3]: DELETING, x\n';
    expect(tunnelsOf([], ok({ stdout }))).toEqual([
      { name: 'a-b', up: true, state: 'ESTABLISHED' },
    ]);
  });

  it('of interfaces and their routes, without a next hop where there is none', () => {
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

  it('of WANs, in order of their names', () => {
    const interfaces = { net2: { status: 'offline', up: false }, net1: { status: 'online' } };
    expect(wansOf(ok({ interfaces }))).toEqual([
      { interface: 'net1', up: true, status: 'online' },
      { interface: 'net2', up: false, status: 'offline' },
    ]);
  });

  it.each([
    ['a refusal', { code: 6, data: undefined }],
    ['an answer of another shape', ok({ interface: 'x', interfaces: [1], stdout: 7 })],
    ['no answer', undefined],
  ])('is nothing where there is %s', (_what, answer) => {
    expect(interfacesOf(answer)).toEqual({ interfaces: [], routes: [] });
    expect([wansOf(answer), tunnelsOf([], answer)]).toEqual([[], []]);
  });

  it('is cut where there is too much of it, routes first, and says so', () => {
    const route = { target: `${'x'.repeat(40)}/32`, interface: 'net1' };
    const wan = { interface: 'net1', up: true, status: 'online' };
    const addresses = Array.from(
      { length: 16 },
      (_, at) => `fd00:1234:5678:9abc:def0:1234:5678:${at}/128`,
    );
    const all = {
      interfaces: Array.from({ length: 15 }, (_, at) => ({ name: `i${at}`, up: true, addresses })),
      wans: [wan],
      tunnels: [],
      routes: Array.from({ length: 1_000 }, () => route),
    };
    const told = bounded(all);
    expect(informationSchema.safeParse(told).success).toBe(true);
    expect(JSON.stringify(told).length).toBeLessThanOrEqual(MAX_INFORMATION_BYTES);
    expect([told.wans.length, told.interfaces.length]).toEqual([1, 15]);
    expect(told.leftOut).toBe(1_000 - told.routes.length);
  });
});
