import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileOffline } from '#shared/compile/offline.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { ORDER_ANNOTATION } from '#shared/names.ts';
import { caseCount } from '#shared/runtime/testing.ts';
import { firewallOf } from '#shared/trace/firewall.ts';
import { hiddenRules } from '#shared/trace/hidden.ts';
import { hiddenBehind, hidingRulesAmong } from './hiding-rules.ts';
import { change, rule } from './testing/changes.ts';
import { filterOf } from '../sources/kept-rule.ts';
import { filtersToLookUp, indexKeysOf } from './index-keys.ts';

type Metadata = Partial<RuleObject['metadata']>;
const at = (second: number): Metadata => ({
  creationTimestamp: new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString(),
});
const filter = (name: string, spec: object = {}, metadata: Metadata = {}): RuleObject =>
  rule('FirewallRule', name, { src: 'lan', dest: 'wan', target: 'REJECT', ...spec }, metadata);
const forwarding = (name: string, spec: object = {}, metadata: Metadata = {}): RuleObject =>
  rule('FirewallForwarding', name, { src: 'lan', dest: 'wan', ...spec }, metadata);
const translation = (name: string, spec: object = {}, metadata: Metadata = {}): RuleObject =>
  rule(
    'FirewallDNAT',
    name,
    { src: 'wan', src_dport: '80', dest: 'lan', dest_ip: '10.0.0.1', ...spec },
    metadata,
  );
const uplink = (name: string, spec: object = {}, metadata: Metadata = {}): RuleObject =>
  rule('Mwan3Rule', name, { policy: 'wan', ...spec }, metadata);
const web = { proto: 'tcp', dest_port: '80' };
const fresh: Metadata = { creationTimestamp: '' };
const names = (rules: readonly RuleObject[]): string[] =>
  rules.map(({ metadata }) => metadata.name);

describe('what is hidden by', () => {
  it.each<[string, RuleObject, RuleObject[], string[]]>([
    ['an earlier rule of all', filter('new', web, fresh), [filter('a', { proto: 'all' })], ['a']],
    [
      'one for the CNF itself',
      filter('new', { ...web, dest: undefined }, fresh),
      [filter('a', { dest: undefined, proto: 'tcp' })],
      ['a'],
    ],
    [
      'one whose zone has a name that OpenWRT writes otherwise',
      filter('new', { ...web, src: 'lan-1' }, fresh),
      [filter('a', { src: 'lan_1', proto: 'all' })],
      ['a'],
    ],
    [
      'one of a zone whose name is a word of this product',
      filter('new', { ...web, dest: 'uplink' }, fresh),
      [filter('a', { dest: 'uplink', proto: 'all' })],
      ['a'],
    ],
    [
      'one that its annotation puts before',
      filter('new', web, fresh),
      [filter('a', { proto: 'all' }, { annotations: { [ORDER_ANNOTATION]: '-1' } })],
      ['a'],
    ],
    [
      'rules, as a forwarding',
      forwarding('new', {}, fresh),
      [filter('a', { proto: 'all' })],
      ['a'],
    ],
    [
      'a later rule, as a forwarding',
      forwarding('new', {}, at(1)),
      [filter('a', { proto: 'all' }, at(2))],
      ['a'],
    ],
    ['a forwarding', forwarding('new', {}, fresh), [forwarding('a')], ['a']],
    [
      'a translation of the same port',
      translation('new', { dest_ip: '10.0.0.2' }, fresh),
      [translation('a')],
      ['a'],
    ],
    [
      'a rule of mwan3 for all packets, whichever policy it leads to',
      uplink('new', { ...web, policy: 'wan-2' }, fresh),
      [uplink('a')],
      ['a'],
    ],
  ])('%s', (_, one, others, expected) => {
    expect(names(hidingRulesAmong(one, others))).toEqual(expected);
  });
});

describe('what is not hidden by', () => {
  it.each<[string, RuleObject, RuleObject[]]>([
    ['none', filter('new'), []],
    ['a later one', filter('new', web, at(1)), [filter('a', { proto: 'all' }, at(2))]],
    [
      'one that its annotation puts behind',
      filter('new', web, fresh),
      [filter('a', { proto: 'all' }, { annotations: { [ORDER_ANNOTATION]: '1' } })],
    ],
    ['itself as it was', filter('new', web, at(1)), [filter('new', { proto: 'all' })]],
    [
      'one that is being deleted',
      filter('new', web, fresh),
      [filter('a', { proto: 'all' }, { deletionTimestamp: '2026-01-02T00:00:00Z' })],
    ],
    [
      'a translation into another zone, where both may be reflected',
      translation('new', { dest: 'lan', dest_ip: '10.0.0.2' }, fresh),
      [translation('a', { dest: 'dmz' })],
    ],
    [
      'one of another family, in mwan3',
      uplink('new', { ...web, family: 'ipv6' }, fresh),
      [uplink('a', { dest_ip: '0.0.0.0/0' })],
    ],
    [
      'a rule of the firewall, in mwan3',
      uplink('new', web, fresh),
      [filter('a', { proto: 'all' })],
    ],
    ['a forwarding, as a rule', filter('new', web, fresh), [forwarding('a', {}, at(-1))]],
    [
      'one that firewall4 does not get',
      filter('new', web, fresh),
      [filter('a', { extra: '-m x' })],
    ],
    ['one with a wrong spec', filter('new', web, fresh), [filter('a', { src_port: 'http' })]],
  ])('%s', (_, one, others) => {
    expect(hidingRulesAmong(one, others)).toEqual([]);
  });
});

describe('behind a new rule of all packets', () => {
  const all = uplink('default-rule', { dest_ip: '0.0.0.0/0' });
  const four = { ...web, family: 'ipv4' };

  it('is hidden what comes later, as of the rules of one file those with a later name', () => {
    const later = [
      uplink('https', four),
      uplink('six', { family: 'ipv6' }),
      uplink('abc', { ...four, dest_port: '22' }),
    ];
    expect(names(hiddenBehind(all, later))).toEqual(['https']);
    expect(hiddenBehind(uplink('z', all.spec as object, fresh), later)).toEqual([]);
  });

  it('is not what was hidden before, or is the rule itself', () => {
    const others = [uplink('a', {}), uplink('https', four), all];
    expect(hiddenBehind(all, others)).toEqual([]);
  });
});

it('looks at those of a thousand that match most', () => {
  const many = Array.from({ length: 999 }, (_, port) =>
    filter(`r${port}`, { proto: 'tcp', dest_port: String(port + 1) }),
  );
  const all = filter('all', { proto: 'all' });
  expect(names(hidingRulesAmong(filter('new', web, fresh), [...many, all]))).toEqual(['all']);
});

it('looks at six kilobytes of rules, and one that may hide others at one', () => {
  const ports = (from: number): string =>
    Array.from({ length: 60 }, (_, port) => from + port).join(' ');
  const long = Array.from({ length: 64 }, (_, port) =>
    filter(`r${port}`, { proto: 'tcp', dest_port: ports(100 * port + 1) }, at(port)),
  );
  const one = (port: number): RuleObject =>
    filter('new', { proto: 'tcp', dest_port: String(port) }, fresh);
  expect(names(hidingRulesAmong(one(1_001), long))).toEqual(['r10']);
  expect(hidingRulesAmong(one(3_001), long)).toEqual([]);
  const first: Metadata = { annotations: { [ORDER_ANNOTATION]: '-5' } };
  expect(names(hiddenBehind(filter('new', {}, first), long))).toEqual(['r0', 'r1', 'r2']);
});

const ZONES = ['lan', 'wan', 'dmz'] as const;
const someOf = <T>(...values: readonly T[]) => fc.constantFrom(...values);

const zoneArbitrary = fc.record({
  family: someOf(undefined, undefined, 'ipv4', 'ipv6'),
  subnet: someOf(undefined, undefined, ['10.0.0.0/8'], ['2001:db8::/32'], ['!10.1.0.0/16']),
  input: someOf('ACCEPT', 'REJECT', 'DROP'),
  output: someOf('ACCEPT', 'REJECT', 'DROP'),
  forward: someOf('ACCEPT', 'REJECT', 'DROP'),
  masq: someOf(undefined, '1'),
});

const ADDRESSES = ['10.1.2.3', '10.1.0.0/16', '!10.1.0.0/16', '10.0.0.0/8', '2001:db8::1'];
const ruleArbitrary = fc.record({
  kind: someOf('FirewallRule', 'FirewallRule', 'FirewallRule', 'FirewallForwarding'),
  src: someOf('*', undefined, 'lan', 'lan', ...ZONES),
  dest: someOf('*', '*', undefined, 'wan', 'wan', ...ZONES),
  proto: someOf(undefined, 'tcp', 'tcp', 'tcp udp', 'all', 'icmp'),
  dest_port: someOf(undefined, undefined, '80', '79-81', '!80', '1-65535'),
  src_ip: someOf(undefined, undefined, undefined, undefined, ...ADDRESSES),
  dest_ip: someOf(undefined, undefined, undefined, undefined, undefined, ...ADDRESSES),
  family: someOf(undefined, undefined, 'ipv4', 'ipv6'),
  target: someOf('ACCEPT', 'REJECT', 'DROP', 'MARK'),
  mark: someOf(undefined, undefined, undefined, '0x1/0x3'),
  order: someOf('0', '0', '0', '1', '-1'),
});
type Drawn = { kind: string; order: string } & Record<string, unknown>;

const drawn = ({ kind, order, ...all }: Drawn, place: number): RuleObject => {
  const { src = 'lan', dest = '*', family, target, dest_port, proto } = all;
  const hasPorts = typeof proto === 'string' && proto !== 'all' && proto !== 'icmp';
  const spec =
    kind === 'FirewallForwarding'
      ? { src, dest, family }
      : {
          ...all,
          dest_port: hasPorts ? dest_port : undefined,
          ...(target === 'MARK' && { set_mark: '1' }),
        };
  const annotations = { [ORDER_ANNOTATION]: order };
  return rule(kind, `r${place}`, spec, { ...at(place), annotations });
};

const NETWORKS = new Map(ZONES.map((name) => [`net-${name}`, `if_${name}`]));
const STATES = new Map(
  ZONES.map((name) => [`if_${name}`, { device: `dev-${name}`, addresses: [] }] as const),
);

it('is said only of rules that are hidden in the firewall as a whole, of which the kernel is the judge', () => {
  const found = { hidden: 0 };
  fc.assert(
    fc.property(
      fc.tuple(zoneArbitrary, zoneArbitrary, zoneArbitrary),
      fc.array(ruleArbitrary, { minLength: 2, maxLength: 10 }),
      (options, specs) => {
        const zones = ZONES.map((name, index) =>
          rule('FirewallZone', name, { network: [`net-${name}`], ...options[index] }),
        );
        const rules = specs.map((spec, place) => drawn(spec, place));
        const hidden = rules.filter((one) => hidingRulesAmong(one, rules).length > 0);
        if (hidden.length === 0) return;
        found.hidden += hidden.length;
        for (const one of hidden)
          expect([one, hidingRulesAmong(one, lookedUp(one, rules)).length > 0]).toEqual([
            one,
            true,
          ]);
        const { desired, verdicts } = compileOffline([...zones, ...rules], { networks: NETWORKS });
        const own = new Set(
          verdicts.flatMap((one) =>
            hidden.includes(one.rule) ? one.sections.map(({ name }) => name) : [],
          ),
        );
        const firewall = firewallOf(desired.get('firewall') ?? [], STATES);
        const known = new Set([
          ...hiddenRules(firewall).map(({ section }) => section.name),
          ...firewall.skipped.map(({ section }) => section.name),
        ]);
        expect([...own].filter((name) => !known.has(name))).toEqual([]);
      },
    ),
    { numRuns: caseCount(500) },
  );
  expect(found.hidden).toBeGreaterThan(caseCount(50));
});

/** By what the coordinator finds them. */
const lookedUp = (after: RuleObject, rules: readonly RuleObject[]): RuleObject[] => {
  const wanted = new Set(filtersToLookUp(change({ after })));
  return rules.filter((one) =>
    indexKeysOf(one, filterOf(one)).some((indexKey) => wanted.has(indexKey)),
  );
};
