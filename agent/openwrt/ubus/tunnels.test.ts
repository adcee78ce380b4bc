import { describe, expect, it } from 'vitest';
import { associationsIn, tunnelsOf } from './tunnels.ts';

const ok = (data: unknown) => ({ code: 0, data });
const remote = (name: string, options: Record<string, string | string[]>) => ({
  name,
  anonymous: false,
  type: 'remote',
  options,
});

/** `ipsec status` as recorded (test/contract/recordings/icn-rest-more). */
const STATUS = `Security Associations (1 up, 1 connecting):
  site1-c2[2]: CONNECTING, 10.10.70.39[%any]...10.10.70.41[%any]
  site1-c1[1]: ESTABLISHED 5 minutes ago, 10.10.70.39[C=CN, CN=a]...10.10.70.40[C=CN, CN=b]
  site1-c1{1}:  INSTALLED, TUNNEL, reqid 1, ESP SPIs: c1234567_i c7654321_o
  site1-c1{1}:   192.168.1.0/24 === 192.168.0.1/32
`;

describe('tunnels that ipsec lists', () => {
  it('are reported as up or starting, or as down when they are configured and not listed', () => {
    const sections = [
      remote('site1', { tunnel: ['c1', 'c2', 'c3'] }),
      remote('off', { enabled: '0', tunnel: ['c'] }),
    ];
    expect(tunnelsOf('classic', sections, ok({ code: 0, stdout: STATUS }))).toEqual([
      { name: 'site1-c1', up: true, state: 'ESTABLISHED' },
      { name: 'site1-c2', up: false, state: 'CONNECTING' },
      { name: 'site1-c3', up: false, state: 'DOWN' },
    ]);
  });

  it('are up during a rekey for as long as one of their connections is', () => {
    const stdout =
      '  a-b[2]: CONNECTING, x\n  a-b[1]: ESTABLISHED 3 hours ago, x\n  a-b[3]: DELETING, x\n';
    expect(tunnelsOf('classic', [], ok({ stdout }))).toEqual([
      { name: 'a-b', up: true, state: 'ESTABLISHED' },
    ]);
  });
});

/** `swanctl --list-sas` as strongSwan documents it. */
const LIST_SAS = `site1: #4, CONNECTING, IKEv2, aabbccdd11223344_i* 0000000000000000_r
  local  '%any' @ 10.10.70.39[500]
  remote '%any' @ 10.10.70.40[500]
site1: #1, ESTABLISHED, IKEv2, aabbccdd11223344_i* 8899aabb00112233_r
  local  'C=CN, CN=a' @ 10.10.70.39[500]
  remote 'C=CN, CN=b' @ 10.10.70.40[500]
  AES_CBC-256/HMAC_SHA2_256_128/PRF_HMAC_SHA2_256/MODP_2048
  established 143s ago, rekeying in 13560s
  c1: #1, reqid 1, REKEYED, TUNNEL, ESP:AES_GCM_16-256
    in  c1a2b3c4,      0 bytes,     0 packets
    local  192.168.1.0/24
  c1: #3, reqid 1, INSTALLED, TUNNEL-in-UDP, ESP:AES_GCM_16-256
  c2: #2, reqid 2, DELETING, TRANSPORT, ESP:AES_GCM_16-256
site2: #2, CONNECTING, IKEv1, aabbccdd11223345_i* 0000000000000000_r
site3: #3, ESTABLISHED, IKEv2, aabbccdd11223346_i* 8899aabb00112235_r
  theirs: #5, reqid 3, INSTALLED, TUNNEL, ESP:AES_GCM_16-256
`;

describe('tunnels that swanctl lists', () => {
  it.each([
    ['site1-c1', true, 'INSTALLED', 'its child, whose predecessor is still there'],
    ['site1-c2', false, 'DELETING', 'a child that goes'],
    ['site1-c3', false, 'CONNECTING', 'no child, while one of the connections is on its way'],
    ['site2-c', false, 'CONNECTING', 'no child before the connection is there'],
    ['site3-c', false, 'DOWN', 'no child, although the connection is there'],
    ['site3-theirs', true, 'INSTALLED', 'a child that is not configured'],
    ['site4-c', false, 'DOWN', 'nothing of the remote'],
  ])('%s: %s, %s (%s)', (name, up, state) => {
    const sections = [
      remote('site1', { tunnel: ['c1', 'c3'], transport: ['c2'], child: ['c1', 'c2', 'c3'] }),
      remote('site2', { child: ['c'] }),
      remote('site3', { child: 'c' }),
      remote('site4', { tunnel: ['c'] }),
    ];
    const told = tunnelsOf('swanctl', sections, ok({ stdout: LIST_SAS }));
    expect(told.find((tunnel) => tunnel.name === name)).toEqual({ name, up, state });
    expect(told).toHaveLength(7);
  });
});

it('read with the remote that each connection belongs to', () => {
  const listed = [
    'hub: #3, ESTABLISHED, IKEv2, aabbccdd11223344_i* 8899aabb00112233_r',
    "  local  'a' @ 10.10.70.39[500]",
    '  established 4s ago, rekeying in 13411s',
    '  one: #7, reqid 1, INSTALLED, TUNNEL, ESP:AES_GCM_16-256',
    '    installed 4s ago, rekeying in 3256s, expires in 3956s',
    '    in  c1234567,      0 bytes,     0 packets',
    'theirs: #4, CONNECTING, IKEv2, aabbccdd11223344_i* 0000000000000000_r',
    'hub/two, TUNNEL',
    '  local:  10.1.2.0/24',
    'hub: IKEv2, no reauthentication, rekeying every 14400s',
    '  one: TUNNEL, rekeying every 3600s',
    '',
  ].join('\n');
  expect(associationsIn(listed)).toEqual([
    { kind: 'ike', id: '3', name: 'hub', state: 'ESTABLISHED' },
    { kind: 'child', id: '7', name: 'hub/one', state: 'INSTALLED' },
    { kind: 'ike', id: '4', name: 'theirs', state: 'CONNECTING' },
    { kind: 'trap', id: '', name: 'hub/two', state: '' },
    { kind: 'loaded', id: '', name: 'hub', state: '' },
    { kind: 'loaded', id: '', name: 'hub/one', state: '' },
  ]);
});

describe('a tunnel that this side brings up', () => {
  const sections = (type: string, options: Record<string, string>) => [
    remote('a', { tunnel: ['b'] }),
    { ...remote('b', options), type },
  ];
  const UP = ok({ code: 0, stdout: '' });

  it.each([
    ['swanctl', { mode: 'tunnel', startaction: 'start' }, true],
    ['swanctl', { mode: 'tunnel', startaction: 'route' }, true],
    ['swanctl', { mode: 'tunnel', startaction: 'add' }, undefined],
    ['classic', { mode: 'start' }, true],
    ['classic', { mode: 'route' }, true],
    ['classic', { mode: 'add' }, undefined],
  ] as const)('is known with %s by %j', (dialect, options, expected) => {
    const [tunnel] = tunnelsOf(dialect, sections('tunnel', options), UP);
    expect(tunnel?.starts).toBe(expected);
  });

  it('is not told apart where the login may not ask how it is', () => {
    const [tunnel] = tunnelsOf('classic', sections('tunnel', { mode: 'start' }), undefined);
    expect(tunnel).not.toHaveProperty('starts');
  });
});

it.each([
  ['a refusal', { code: 6, data: undefined }],
  ['an answer of another shape', ok({ stdout: 7 })],
  ['no answer', undefined],
])('tells what is configured as down where there is %s', (_what, answer) => {
  const down = [{ name: 'a-b', up: false, state: 'DOWN' }];
  for (const dialect of ['classic', 'swanctl'] as const) {
    expect(tunnelsOf(dialect, [], answer)).toEqual([]);
    expect(tunnelsOf(dialect, [remote('a', { tunnel: ['b'] })], answer)).toEqual(down);
  }
});
