/**
 * No rule lets more through than it says: of what the kinds take, firewall4's own templates leave
 * no option out, and what they would leave out is not written at all, so that the kernel accepts no
 * packet that the rule as written would not.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { referencesOf } from '#shared/compile/check.ts';
import { compileOffline } from '#shared/compile/offline.ts';
import { ruleOf } from '#shared/compile/testing.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { kindOf } from '#shared/resources/registry.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { readReload } from '../../../../agent/openwrt/services/fw4-reload.ts';
import { allSamples } from '../../../samples/all.ts';
import { DEVICES, type SentPacket } from '../random-firewalls.ts';
import { Kernel } from './kernel.ts';

let kernel: Kernel;
beforeAll(() => {
  kernel = new Kernel();
});
afterAll(() => kernel.close());

const networks = new Map([
  ...['ovn-priv-net', 'ovn-net1', 'ovn-net2'].map((name, at) => [name, `n${at}`] as const),
  ...DEVICES.map((_, at) => [`n${at}`, `n${at}`] as const),
]);
const zone = (name: string, network: string, spec: object = {}) =>
  ruleOf('FirewallZone', name, { network: [network], ...policies, ...spec });
const policies = { input: 'REJECT', output: 'ACCEPT', forward: 'REJECT' };
const defaults: UciSection = {
  name: 'defaults',
  type: 'defaults',
  anonymous: true,
  options: { ...policies },
};

/** Undefined: it is not written. */
const writtenFor = (rule: RuleObject, others: readonly RuleObject[]): UciSection[] | undefined => {
  const { desired, verdicts } = compileOffline([...others, rule], { networks });
  const verdict = verdicts.find((one) => one.rule === rule)?.verdict;
  return verdict === 'wanted' ? [defaults, ...(desired.get('firewall') ?? [])] : undefined;
};

const firewallSamples = allSamples.flatMap(({ kind, ofIcn, rendered, accepted }) =>
  kindOf(kind)?.uci?.package === 'firewall'
    ? [
        ...[...ofIcn, ...rendered].map(({ name, spec }) => ({ kind, about: name, name, spec })),
        ...Object.entries(accepted).map(([about, { name = 'sample', spec }]) => ({
          kind,
          about,
          name,
          spec,
        })),
      ]
    : [],
);

/** With what it refers to. */
const writtenSample = ({ kind, name, spec }: (typeof firewallSamples)[number]) => {
  const rule = ruleOf(kind, name, spec);
  return writtenFor(
    rule,
    referencesOf(rule).map((one) => zone(one.name, 'ovn-net1')),
  );
};

it('there are samples of each kind, most of which are written', () => {
  expect(new Set(firewallSamples.map(({ kind }) => kind)).size).toBe(7);
  const written = firewallSamples.filter((sample) => writtenSample(sample) !== undefined);
  expect(written.length).toBeGreaterThan(firewallSamples.length / 2);
});

it.each(firewallSamples)('firewall4 leaves no option out of $kind: $about', (sample) => {
  const sections = writtenSample(sample);
  if (sections === undefined) return;
  const warnings = kernel.warnings({ sections });
  expect([...readReload(warnings, sections).wider]).toEqual([]);
});

type Case = {
  rule: RuleObject;
  /** One that the rule as written does not accept. */
  packet: SentPacket;
  /** As firewall4 would get the rule without the look. */
  naive: UciSection;
};
const section = (type: string, options: UciSection['options']): UciSection => ({
  name: 'naive',
  type,
  anonymous: false,
  options,
});
const filter = (spec: Record<string, string | string[]>, packet: SentPacket): Case => ({
  rule: ruleOf('FirewallRule', 'rule', { src: 'lan', target: 'ACCEPT', ...spec }),
  packet,
  naive: section('rule', { name: 'rule', src: 'lan', target: 'ACCEPT', ...spec }),
});
const sent = { in: 'd0', source: '10.0.0.2', destination: '10.0.0.1', dscp: 0 } as const;
const tcp: SentPacket = { ...sent, protocol: 6, sourcePort: 40_000, destinationPort: 80 };
const ping: SentPacket = { ...sent, protocol: 1, icmp: { type: 8, code: 0 } };

const cases: Readonly<Record<string, Case>> = {
  'arguments of iptables': filter({ proto: 'tcp', extra: '-m string --string x' }, tcp),
  'a negated protocol': filter({ proto: '!tcp' }, tcp),
  'a type of ICMP that the version of IP has not': filter(
    { proto: 'icmp', family: 'ipv4', icmp_type: ['neighbour-solicitation'] },
    ping,
  ),
  'a type of ICMP beside another protocol': filter(
    { proto: 'tcp', icmp_type: ['echo-request'] },
    tcp,
  ),
  'one port less on both sides': filter({ proto: 'tcp', src_port: '!22', dest_port: '!80' }, tcp),
  'arguments of iptables of a zone': {
    rule: zone('open', 'n0', { input: 'ACCEPT', extra_src: '-s 10.0.0.9' }),
    packet: tcp,
    naive: section('zone', {
      ...policies,
      name: 'open',
      network: ['n0'],
      input: 'ACCEPT',
      extra_src: '-s 10.0.0.9',
    }),
  },
};

describe.each(Object.entries(cases))('%s', (_, { rule, packet, naive }) => {
  const base = rule.kind === 'FirewallZone' ? [] : [zone('lan', 'n0')];
  const verdictWith = async (sections: readonly UciSection[]): Promise<string | undefined> => {
    const judged = await kernel.judge({ sections, packets: [packet] });
    if (judged === 'refused') throw new Error('nft refuses the ruleset');
    return judged.judgements[0]?.verdict;
  };
  const ofBase = (): UciSection[] => [
    defaults,
    ...(compileOffline(base, { networks }).desired.get('firewall') ?? []),
  ];

  it('would let the packet through', async () => {
    expect(await verdictWith([...ofBase(), naive])).toBe('accept');
  });

  it('is not written, and the packet does not pass', async () => {
    expect(writtenFor(rule, base)).toBeUndefined();
    const { desired } = compileOffline([...base, rule], { networks });
    expect(await verdictWith([defaults, ...(desired.get('firewall') ?? [])])).not.toBe('accept');
  });
});
