import { describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { deltaOf } from '#shared/uci/delta.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { beginningIn, endingBy, lackingTunnels } from './ipsec-tunnels.ts';

const remote = (name: string, child: string[], options: UciSection['options'] = {}): UciSection =>
  namedSection('remote', name, {
    remote_addrs: ['203.0.113.1'],
    tunnel: child,
    child,
    crypto_proposal: ['ike'],
    sdewan_made: `IpsecSite/${name}`,
    ...options,
  });
const tunnel = (name: string, options: UciSection['options'] = {}): UciSection =>
  namedSection('tunnel', name, {
    local_subnet: ['10.1.0.0/24'],
    crypto_proposal: ['esp'],
    sdewan_made: `IpsecSite/${name}`,
    ...options,
  });
const proposal = (name: string, encryption_algorithm = 'aes128'): UciSection =>
  namedSection('crypto_proposal', name, { encryption_algorithm });

describe('what a change ends', () => {
  const { sdewan_made: _stamp, ...unstamped } = remote('theirs', ['t']).options;
  const theirs = [
    namedSection('remote', 'theirs', unstamped),
    namedSection('tunnel', 't', { crypto_proposal: ['esp'] }),
  ];
  const proposals = [proposal('ike'), proposal('esp')];
  const hub = [remote('hub', ['one', 'two']), tunnel('one'), tunnel('two')];
  const before = [...theirs, ...proposals, ...hub];
  const ending = (desired: readonly UciSection[]): readonly string[] => {
    const isOurs = ({ name }: UciSection): boolean => !['theirs', 't'].includes(name);
    const observed = { name: 'ipsec', sections: before };
    const names = new Set(desired.map(({ name }) => name));
    const all = [...proposals.filter(({ name }) => !names.has(name)), ...desired];
    return endingBy(deltaOf({ observed, desired: all, isOurs }), before);
  };

  it.each<[string, UciSection[], string[]]>([
    ['nothing, where nothing changes', hub, []],
    ['all of a remote that goes', [], ['hub', 'hub/one', 'hub/two']],
    [
      'a connection that goes, and not the others of its remote',
      [remote('hub', ['one']), tunnel('one')],
      ['hub/two'],
    ],
    [
      'a connection that changes',
      [
        remote('hub', ['one', 'two']),
        tunnel('one', { local_subnet: ['10.9.0.0/24'] }),
        tunnel('two'),
      ],
      ['hub/one'],
    ],
    [
      'one under its old name',
      [remote('hub', ['new', 'two']), tunnel('new'), tunnel('two')],
      ['hub/one'],
    ],
    [
      'a remote that changes',
      [
        remote('hub', ['one', 'two'], { remote_addrs: ['203.0.113.2'] }),
        tunnel('one'),
        tunnel('two'),
      ],
      ['hub'],
    ],
    [
      'nothing of a remote with another key',
      [remote('hub', ['one', 'two'], { pre_shared_key: 'another' }), tunnel('one'), tunnel('two')],
      [],
    ],
    ['a remote whose proposal changes', [proposal('ike', 'aes256'), ...hub], ['hub']],
    [
      'nothing of a remote that has the same algorithms by another name',
      [
        proposal('same'),
        remote('hub', ['one', 'two'], { crypto_proposal: ['same'] }),
        ...hub.slice(1),
      ],
      [],
    ],
    [
      'connections whose proposal changes, but those of an administrator',
      [proposal('esp', 'aes256'), ...hub],
      ['hub/one', 'hub/two'],
    ],
    [
      'nothing of what moves, or is added beside it',
      [
        tunnel('two'),
        remote('other', ['x']),
        tunnel('x'),
        remote('hub', ['one', 'two']),
        tunnel('one'),
      ],
      [],
    ],
  ])('%s', (_what, desired, expected) => {
    expect(ending(desired)).toEqual(expected);
  });

  it('is nothing where the package does not change', () => {
    expect(endingBy(undefined, before)).toEqual([]);
  });
});

it.each(['start', 'route'] as const)(
  'begins with mode %s, and a name or a remote that there was not before',
  (mode) => {
    const starts = { startaction: mode };
    const after = [
      remote('hub', ['same', 'new', 'waiting']),
      remote('other', ['moved']),
      tunnel('same', starts),
      tunnel('new', starts),
      tunnel('waiting', { startaction: 'add' }),
      tunnel('moved', starts),
    ];
    const before = new Set(['hub', 'hub/same', 'hub/old', 'gone', 'gone/moved']);
    expect(beginningIn(mode, after, before)).toEqual(['hub/new', 'other/moved']);
  },
);

describe('what charon has not loaded', () => {
  const sections = [
    remote('hub', ['one', 'two'], { enabled: '1' }),
    tunnel('one'),
    tunnel('two'),
    remote('off', ['three']),
    tunnel('three'),
    proposal('esp'),
  ];
  const HUB = 'hub: IKEv2, no reauthentication, rekeying every 14400s\n';
  const one = '  one: TUNNEL, rekeying every 3600s\n';
  const up = 'hub: #3, ESTABLISHED, IKEv2\n  two: #7, reqid 1, INSTALLED, TUNNEL, ESP\n';

  it.each<[string, string, Record<string, string>]>([
    ['is nothing, where it has all', `${HUB}${one}  two: TRANSPORT, rekeying every 1s\n`, {}],
    [
      'is a connection, also one that is up',
      up + HUB + one,
      { hub: 'connection hub/two in charon' },
    ],
    ['is a remote with all of it, said once', '', { hub: 'connection hub in charon' }],
  ])('%s', (_what, told, expected) => {
    const { lacking, incomparable } = lackingTunnels(sections, told);
    expect(Object.fromEntries(lacking)).toEqual(expected);
    expect(incomparable.size).toBe(0);
  });

  it('is not known where charon does not answer, and then nothing counts as loaded', () => {
    const { lacking, incomparable } = lackingTunnels(sections, undefined);
    expect([...incomparable.keys()]).toEqual(['hub']);
    expect(lacking.size).toBe(0);
  });
});
