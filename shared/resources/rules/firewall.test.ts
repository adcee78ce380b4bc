import { describe, expect, it } from 'vitest';
import { namedSection } from '../../compile/testing.ts';
import { icnAnonymous, portsNeedProtocol, zoneName } from './firewall.ts';

describe('ports are accepted', () => {
  const port = '80';
  it.each<[string, { port?: string; other?: string; proto?: string }, boolean, boolean]>([
    ['where there are none', { proto: 'icmp' }, true, true],
    ['with tcp', { port, proto: 'tcp' }, true, true],
    ['with both', { other: port, proto: 'tcp udp' }, true, true],
    ['with a number', { port, proto: '17' }, true, true],
    ['not with another protocol', { port, proto: 'icmp' }, false, false],
    ['not with another one besides', { port, proto: 'tcp icmp' }, false, false],
    ['not with one that only begins like it', { other: port, proto: 'tcp6' }, false, false],
    ['without a protocol where that means tcp and udp', { port }, true, false],
  ])('%s', (_name, spec, usual, whereAbsentIsAll) => {
    expect(portsNeedProtocol(['port', 'other']).holds(spec)).toBe(usual);
    expect(portsNeedProtocol(['port', 'other'], 'all').holds(spec)).toBe(whereAbsentIsAll);
  });
});

describe("ICN's name of a section", () => {
  const made = {
    ...namedSection('redirect', 'cfg05', { name: 'a', target: 'DNAT' }),
    anonymous: true,
  };
  const { nameOf } = icnAnonymous('redirect', 'DNAT');
  it.each([
    ['is its option', made, 'a'],
    ['is not that of a named section', { ...made, anonymous: false }, undefined],
    ['is not that of another type', { ...made, type: 'rule' }, undefined],
    [
      'is not that of another target',
      { ...made, options: { name: 'a', target: 'SNAT' } },
      undefined,
    ],
    ['is none where there is no option', { ...made, options: { target: 'DNAT' } }, undefined],
    ['is no list', { ...made, options: { name: ['a'], target: 'DNAT' } }, undefined],
  ])('%s', (_name, section, expected) => {
    expect(nameOf(section)).toBe(expected);
  });

  it('is that of any target where the kind has one for all', () => {
    expect(icnAnonymous('redirect').nameOf({ ...made, options: { name: 'a' } })).toBe('a');
  });
});

it.each([
  [undefined, undefined],
  ['*', '*'],
  ['lan', 'lan!'],
])('writes a reference to the zone %j as %j', (reference, expected) => {
  expect(zoneName(reference, (name) => `${name}!`)).toBe(expected);
});
