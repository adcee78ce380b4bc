import { describe, expect, it } from 'vitest';
import type { UciSection } from '../uci/model.ts';
import type { Origin } from './types.ts';
import { firewallOf } from './firewall.ts';
import { hiddenRules, hidingRulesOf } from './hidden.ts';

type Options = Record<string, string>;
const section = (type: string, name: string, options: Options): UciSection => ({
  type,
  name,
  anonymous: false,
  options: { name, ...options },
});
const ZONES = [
  section('zone', 'lan', { network: 'net1', forward: 'REJECT', input: 'ACCEPT' }),
  section('zone', 'wan', { network: 'net2', forward: 'DROP', input: 'DROP' }),
];
const networks = new Map(
  ['net1', 'net2'].map((name) => [name, { device: name, addresses: [] }] as const),
);
const rule = (name: string, options: Options): UciSection =>
  section('rule', name, { src: 'lan', dest: 'wan', proto: 'tcp', target: 'REJECT', ...options });

const names = (origins: readonly Origin[]): string[] =>
  origins.map((origin) => (origin.of === 'section' ? origin.section.name : origin.of));

/** Asked of all at once, and of each alone. */
const hidden = (...sections: readonly UciSection[]): Record<string, string[]> => {
  const firewall = firewallOf([...ZONES, ...sections], networks);
  const all = hiddenRules(firewall).map(({ section, by }) => [section.name, names(by)]);
  const alone = sections.flatMap((one) => {
    const by = hidingRulesOf(firewall, one);
    return by ? [[one.name, names(by)]] : [];
  });
  expect(alone).toEqual(all);
  return Object.fromEntries(all);
};

describe('a rule is hidden', () => {
  it.each<[string, UciSection[], Record<string, string[]>]>([
    [
      'by an earlier one that matches all of it',
      [rule('a', { dest_port: '1-100' }), rule('b', { dest_port: '80', target: 'ACCEPT' })],
      { b: ['a'] },
    ],
    [
      'by several together',
      [
        rule('a', { dest_port: '1-50' }),
        rule('b', { dest_port: '51-100' }),
        rule('c', { dest_port: '20-80' }),
      ],
      { c: ['a', 'b'] },
    ],
    [
      'by one of any zone',
      [
        rule('b', { dest_port: '80' }),
        rule('a', { src: '*', dest: '*', proto: 'all', target: 'DROP' }),
      ],
      { b: ['a'] },
    ],
    [
      'by networks around its addresses',
      [rule('a', { src_ip: '10.0.0.0/8' }), rule('b', { src_ip: '10.1.0.0/16', dest_port: '80' })],
      { b: ['a'] },
    ],
    [
      'as a forwarding, by a rule for all',
      [rule('a', { proto: 'all' }), section('forwarding', 'f', { src: 'lan', dest: 'wan' })],
      { f: ['a'] },
    ],
  ])('%s', (_, sections, expected) => {
    expect(hidden(...sections)).toEqual(expected);
  });
});

describe('a rule is not hidden', () => {
  it.each<[string, UciSection[]]>([
    ['by a later one', [rule('a', { dest_port: '80' }), rule('b', { dest_port: '1-100' })]],
    [
      'where one port is left',
      [rule('a', { dest_port: '1-99' }), rule('b', { dest_port: '80-100' })],
    ],
    ['by one with a limit', [rule('a', { limit: '1/minute' }), rule('b', { dest_port: '80' })]],
    ['by one of a time', [rule('a', { start_time: '10:00' }), rule('b', { dest_port: '80' })]],
    ['by one that goes elsewhere', [rule('a', { dest: 'lan' }), rule('b', {})]],
    ['by one of another version of IP', [rule('a', { family: 'ipv4' }), rule('b', {})]],
    ['by one that marks', [rule('a', { target: 'MARK', set_mark: '1' }), rule('b', {})]],
  ])('%s', (_, sections) => {
    expect(hidden(...sections)).toEqual({});
  });

  it('stays visible in a firewall of two hundred rules with addresses of their own', () => {
    const many = Array.from({ length: 200 }, (_, at) =>
      rule(`r${at}`, { src_ip: `10.0.${at >> 8}.${at & 255}`, dest_port: String(at + 1) }),
    );
    expect(hidden(...many)).toEqual({});
  });
});
