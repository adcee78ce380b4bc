import { describe, expect, it } from 'vitest';
import { compile } from '../../compile/compile.ts';
import { inputOf, ruleOf } from '../../compile/testing.ts';
import { ASSUMED } from '../capabilities.ts';
import { newPortCautions, newPortLacks, type Redirected } from './new-port.ts';

const fw4 = { capabilities: ASSUMED };
const fw3 = { capabilities: { ...ASSUMED, firewall: 'fw3' as const } };

describe('a new port that nft refuses with all other rules', () => {
  // Each was loaded by nft as firewall4's templates render it.
  it.each<['DNAT' | 'SNAT', Redirected, string]>([
    ['DNAT', { dest_port: '80' }, 'spec.dest_port'],
    ['SNAT', { src_dport: '5000' }, 'spec.src_dport'],
  ])('%s %j is not written', (target, rule, path) => {
    expect(newPortLacks(target, rule, fw4)).toEqual([
      expect.objectContaining({
        path,
        reason: 'UnsupportedByDriver',
        message: expect.stringMatching(/add (src_dport|dest_port) \(1-65535 for all ports\)/),
      }),
    ]);
    expect(newPortCautions(target, rule)).toEqual([expect.stringContaining(`${path}: `)]);
    expect(newPortLacks(target, rule, fw3)).toEqual([]);
  });
});

describe('a new port that nft takes', () => {
  it.each<['DNAT' | 'SNAT', Redirected]>([
    ['DNAT', {}],
    ['DNAT', { src_dport: '81', dest_port: '80' }],
    ['DNAT', { src_dport: '!81', dest_port: '80' }],
    ['DNAT', { src_port: '1000', dest_port: '80' }],
    ['DNAT', { src_dport: '81' }],
    ['SNAT', { dest_port: '80' }],
    ['SNAT', { src_dport: '5000', dest_port: '80' }],
    ['SNAT', { src_dport: '5000', src_port: '80' }],
  ])('%s %j is written', (target, rule) => {
    expect(newPortLacks(target, rule, fw4)).toEqual([]);
    expect(newPortCautions(target, rule)).toEqual([]);
  });
});

it.each<[string, Record<string, unknown>, string]>([
  ['FirewallDNAT', { src: 'wan', dest_ip: '10.0.0.9', dest_port: '80' }, 'spec.dest_port'],
  ['FirewallSNAT', { dest: 'wan', src_dip: '10.9.0.1', src_dport: '5000' }, 'spec.src_dport'],
  ['CNFNAT', { target: 'DNAT', proto: 'tcp', dest_port: '80' }, 'spec.dest_port'],
])('lets a %s with it wait, and says what would be right', (kind, spec, path) => {
  const { verdicts, desired } = compile(inputOf([ruleOf(kind, 'a', spec)]));
  expect(verdicts).toMatchObject([
    { reason: 'UnsupportedByDriver', message: expect.stringContaining(`${path}: firewall4 takes`) },
  ]);
  expect(desired.get('firewall')).toEqual([]);
});

it('writes a CNFNAT that translates sources, since its section has the protocol', () => {
  const spec = {
    target: 'SNAT',
    proto: 'tcp',
    src_dip: '10.9.0.1',
    src_dport: '5000',
    dest: 'net1',
  };
  const { verdicts } = compile(inputOf([ruleOf('CNFNAT', 'a', spec)]));
  expect(verdicts).toMatchObject([{ verdict: 'wanted' }]);
});
