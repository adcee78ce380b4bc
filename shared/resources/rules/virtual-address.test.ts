/** What the samples cannot show: places among a CNF's pods, and what VirtualAddresses share. */
import { describe, expect, it } from 'vitest';
import { compile } from '../../compile/compile.ts';
import { inputOf, namedSection, ruleOf } from '../../compile/testing.ts';
import type { UciSection } from '../../uci/model.ts';
import type { CnfPlace } from '../kind.ts';

const address = (name: string, spec: object = {}) =>
  ruleOf('VirtualAddress', name, { network: 'ovn-net1', addresses: ['192.168.1.1/24'], ...spec });

const PEERS = new Map([
  ['net1', ['10.1.0.3', 'fd00::3', '10.1.0.2', '10.1.0.3']],
  ['net2', ['10.2.0.2']],
]);
const at = (distance: number, peers: CnfPlace['peers'] = PEERS): CnfPlace => ({ distance, peers });

const sectionsOf = (rules: readonly ReturnType<typeof address>[], place: CnfPlace) =>
  compile(inputOf(rules, { place })).desired.get('keepalived') ?? [];
const instanceIn = (sections: readonly UciSection[]) =>
  sections.find(({ type }) => type === 'vrrp_instance')?.options ?? {};

describe('a VirtualAddress', () => {
  it('is held by the nearest pod: each step of the distance takes 20 from the priority', () => {
    const priorities = [0, 1, 3, 8].map(
      (distance) => instanceIn(sectionsOf([address('a')], at(distance)))['priority'],
    );
    expect(priorities).toEqual(['200', '180', '140', '40']);
  });

  it('names the addresses that other pods have on its device, those of its family, each once', () => {
    const peersOf = (spec: object) => instanceIn(sectionsOf([address('a', spec)], at(0)));
    expect(peersOf({})['unicast_peer']).toEqual(['10.1.0.2', '10.1.0.3']);
    expect(peersOf({ network: undefined, interface: 'net2' })['unicast_peer']).toEqual([
      '10.2.0.2',
    ]);
  });

  it('speaks from its own address with IPv6, and by multicast where that is not known', () => {
    const v6 = [address('a', { addresses: ['2001:db8::1'] })];
    const own = new Map([['net1', ['10.1.0.1', 'fd00::1']]]);
    expect(instanceIn(sectionsOf(v6, { ...at(0), own }))).toMatchObject({
      unicast_src_ip: 'fd00::1',
      unicast_peer: ['fd00::3'],
    });
    const unknown = instanceIn(sectionsOf(v6, at(0)));
    expect(unknown['unicast_src_ip']).toBeUndefined();
    expect(unknown['unicast_peer'] ?? []).toEqual([]);
  });

  it.each([
    ['none is known', {}, new Map<string, string[]>()],
    ['it is told so', { peers: 'multicast' }, PEERS],
  ])('speaks by multicast where %s', (_why, spec, peers) => {
    const sections = sectionsOf([address('a', spec)], at(0, peers));
    expect(instanceIn(sections)['unicast_peer'] ?? []).toEqual([]);
    expect(sections.filter(({ type }) => type === 'peer')).toEqual([]);
  });

  it('shares the sections of peers with others, and they go with the last of them', () => {
    const two = [address('a'), address('b', { virtualRouterId: 7, addresses: ['192.168.1.2'] })];
    const peers = (rules: ReturnType<typeof address>[]) =>
      sectionsOf(rules, at(0)).filter(({ type }) => type === 'peer');
    expect(peers(two)).toEqual([
      namedSection('peer', 'sdewan_peer_10_1_0_2', { name: '10.1.0.2', address: '10.1.0.2' }),
      namedSection('peer', 'sdewan_peer_10_1_0_3', { name: '10.1.0.3', address: '10.1.0.3' }),
    ]);
    expect(peers(two.slice(1))).toHaveLength(2);
    expect(peers([])).toEqual([]);
  });

  it.each([
    [
      'the number of its virtual router, by whatever name of the device',
      { network: undefined, interface: 'net1', addresses: ['192.168.1.9'] },
      'spec.virtualRouterId: the older VirtualAddress a has virtual router 51 on net1',
    ],
    [
      'an address',
      { network: 'ovn-net2', addresses: ['192.168.1.1'] },
      'spec.addresses: the older VirtualAddress a has virtual address 192.168.1.1',
    ],
  ])('is not applied where an older one has %s', (_what, spec, message) => {
    const { verdicts } = compile(inputOf([address('a'), address('b', spec)]));
    expect(verdicts.map(({ verdict }) => verdict)).toEqual(['wanted', 'failed']);
    expect(verdicts[1]).toMatchObject({ reason: 'NameConflict', message });
  });

  const packages = (...sections: UciSection[]) => ({
    observed: new Map([
      ...inputOf([]).observed,
      ['keepalived', { name: 'keepalived', sections }],
    ] as const),
  });

  it("is not applied beside an administrator's virtual router of that number", () => {
    const office = namedSection('vrrp_instance', 'office', {
      interface: 'net1',
      virtual_router_id: '51',
    });
    const [verdict] = compile(inputOf([address('a')], packages(office))).verdicts;
    expect(verdict).toMatchObject({
      verdict: 'failed',
      reason: 'NameTaken',
      message:
        'spec.virtualRouterId: OpenWRT already has a section of type vrrp_instance with virtual router 51 on net1 in package keepalived, which the agent did not make (section office)',
    });
  });

  it('says what to do where keepalived is not installed, or is switched off', () => {
    const { observed } = inputOf([]);
    const without = new Map([...observed].filter(([name]) => name !== 'keepalived'));
    const off = packages(namedSection('globals', 'globals', { enabled: '0' }));
    const verdictOf = (more: object) => compile(inputOf([address('a')], more)).verdicts[0];
    expect(verdictOf({ observed: without })).toMatchObject({
      verdict: 'failed',
      reason: 'UnsupportedByDriver',
      message: 'OpenWRT has no /etc/config/keepalived; install the package that it belongs to',
    });
    expect(verdictOf(off)).toMatchObject({
      reason: 'UnsupportedByDriver',
      message: expect.stringContaining('set option enabled of its section globals to 1'),
    });
  });
});
