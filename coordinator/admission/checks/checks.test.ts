import { describe, expect, it } from 'vitest';
import { change, context, facts, rule, zone } from '../testing/changes.ts';
import {
  claimIsFree,
  isNotHidden,
  linkIsOwn,
  nameIsFree,
  networkHasOneZone,
  valueIsTheSame,
} from './conflicts.ts';
import { networkNames } from '../cnfs.ts';
import { isUnused, purposeIsServed, referencesExist } from './references.ts';
import { filtersToLookUp, linksToLookUp, indexKeysOf, keysToLookUp } from '../index-keys.ts';
import { filterOf, identified, type KeptRule } from '../../sources/kept-rule.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { RuleChange } from './check.ts';
import { findRefusals, referenceModes, verdictOf } from '../decide.ts';
import { ruleChecks } from './list.ts';
import {
  cautionsOf,
  deviceIsNoNetwork,
  metadataIsValid,
  nameIsUsual,
  networksExist,
  specIsValid,
} from './spec.ts';

const going = { deletionTimestamp: '2026-01-02T00:00:00Z' };
const reject = (name: string, spec: object = {}, metadata = {}) =>
  rule('FirewallRule', name, { src: 'lan1', target: 'REJECT', ...spec }, metadata);

describe('the spec', () => {
  it('is checked by the schema, and the message names the field', () => {
    const bad = change({ after: reject('a', { src_port: 'http' }) });
    expect(specIsValid(bad, facts(), context)).toMatchObject({
      reason: 'InvalidSpec',
      message: expect.stringContaining('spec.src_port'),
    });
    expect(specIsValid(change({ after: reject('a') }), facts(), context)).toBeUndefined();
  });

  it('is left alone on an update that does not touch it', () => {
    const bad = reject('a', { src_port: 'http' });
    const update = change({ before: bad, after: bad, specChanged: false });
    expect(specIsValid(update, facts(), context)).toBeUndefined();
  });
});

describe('names and annotations', () => {
  it('are refused with the limit when OpenWRT cannot hold them', () => {
    const long = metadataIsValid(change({ after: zone('a-zone-too-long') }), facts(), context);
    expect(long).toMatchObject({ reason: 'NameTooLong', message: expect.stringContaining('11') });
  });

  it('do not block another change when they were wrong before', () => {
    const bad = zone('lan', { annotations: { 'sdewan.akraino.org/order': 'first' } });
    const create = metadataIsValid(change({ after: bad }), facts(), context);
    expect(create?.message).toContain('sdewan.akraino.org/order');
    const update = change({ before: bad, after: bad });
    expect(metadataIsValid(update, facts(), context)).toBeUndefined();
    const worse = change({ before: zone('lan'), after: bad });
    expect(metadataIsValid(worse, facts(), context)?.reason).toBe('InvalidSpec');
  });

  it.each([
    ['the same in UCI', reject('a.b'), true],
    ['the same object again', reject('a-b'), false],
    ['the same in UCI, but being deleted', reject('a.b', {}, going), false],
    ['of another kind with another prefix', zone('a-b'), false],
  ])('%s: taken is %s', (_, other, taken) => {
    const refusal = nameIsFree(
      change({ after: reject('a-b') }),
      facts({ rules: [other] }),
      context,
    );
    expect(refusal?.reason).toBe(taken ? 'NameConflict' : undefined);
  });

  it('belong to another kind with the same prefix: taken is true', () => {
    const policy = rule('Mwan3Policy', 'balance', {});
    const create = change({ after: rule('Mwan3Rule', 'balance', {}) });
    const refusal = nameIsFree(create, facts({ rules: [policy] }), context);
    expect(refusal?.message).toContain('Mwan3Policy balance');
  });
});

it('warns of a name that a zone of the factory has', () => {
  const words = (name: string) =>
    nameIsUsual(change({ after: zone(name) }), facts(), context)?.message ?? 'none';
  expect(words('wan')).toMatch(
    /^metadata\.name: OpenWRT comes with a zone wan of its own; .*: choose another name$/,
  );
  expect([words('lan'), words('lan1')]).toEqual([expect.stringContaining('zone lan'), 'none']);
});

describe('references', () => {
  it('must exist, and the message names what is missing and where', () => {
    const create = change({ after: reject('a', { dest: 'wan1' }) });
    expect(referencesExist(create, facts({ rules: [zone('lan1')] }), context)).toEqual({
      reason: 'UnknownReference',
      message:
        'spec.dest: FirewallZone wan1 does not exist for purpose cnf-1 in this namespace; create it first; there is: lan1',
    });
    const none = facts({ rules: [zone('lan1', going), rule('FirewallRule', 'r', {})] });
    expect(referencesExist(create, none, context)?.message).toMatch(/; create it first$/);
    const both = facts({ rules: [zone('lan1'), zone('wan1')] });
    expect(referencesExist(create, both, context)).toBeUndefined();
  });

  it('count as missing when the rule is being deleted', () => {
    const create = change({ after: reject('a') });
    const refusal = referencesExist(create, facts({ rules: [zone('lan1', going)] }), context);
    expect(refusal?.reason).toBe('UnknownReference');
  });

  it('may use the name as OpenWRT has it', () => {
    const create = change({ after: reject('a', { src: 'lan_1' }) });
    expect(referencesExist(create, facts({ rules: [zone('lan-1')] }), context)).toBeUndefined();
  });

  it('are not looked at when the spec stays', () => {
    const update = change({ before: reject('a'), after: reject('a'), specChanged: false });
    expect(referencesExist(update, facts(), context)).toBeUndefined();
  });
});

describe('the deletion of a CR', () => {
  const rules = (count: number, metadata = {}) =>
    Array.from({ length: count }, (_, index) => reject(`r${index}`, {}, metadata));

  it('is refused when others use it, with their names', () => {
    const deletion = change({ before: zone('lan1') });
    const one = isUnused(deletion, facts({ rules: [zone('lan1'), ...rules(1)] }), context);
    expect(one?.message).toBe('it is used by FirewallRule r0; delete or change it first');
    const many = isUnused(deletion, facts({ rules: rules(7) }), context);
    expect(many?.message).toBe(
      'it is used by FirewallRule r0, FirewallRule r1, FirewallRule r2, FirewallRule r3, FirewallRule r4 and 2 more; delete or change them first',
    );
  });

  it('is not blocked when only rules being deleted refer to it', () => {
    const deletion = change({ before: zone('lan1') });
    expect(isUnused(deletion, facts({ rules: rules(3, going) }), context)).toBeUndefined();
    expect(isUnused(deletion, facts({ rules: [zone('lan1')] }), context)).toBeUndefined();
  });
});

describe('networks', () => {
  const create = change({ after: rule('FirewallZone', 'lan1', { network: ['ovn-net1', 'x'] }) });

  it('must be among those of the CNF, which the message lists', () => {
    const networks = new Set(['ovn-net2', 'ovn-net1']);
    expect(networksExist(create, facts({ networks }), context)).toEqual({
      reason: 'UnknownNetwork',
      message: 'spec.network[1]: x is not a network of the CNF; it has: ovn-net1, ovn-net2',
    });
  });

  it('may be named with an interface that Multus has not written yet', () => {
    const both = networkNames([
      { namespace: 'edge', nodus: undefined, selections: 'lan,apps/wan', status: undefined },
    ]);
    const named = (network: string) =>
      networksExist(
        change({ after: rule('FirewallZone', 'z', { network: [network] }) }),
        facts({ networks: both }),
        context,
      )?.message;
    for (const network of ['lan@net1', 'edge/lan', 'apps/wan'])
      expect(named(network)).toBeUndefined();
    expect(named('wan@net1')).toContain('it has: apps/wan, lan');
  });

  it('are listed in part where there are many', () => {
    const networks = new Set(['a', 'b', 'c', 'd', 'e', 'f']);
    const message = networksExist(create, facts({ networks }), context)?.message;
    expect(message).toMatch(/; it has: a, b, c, d, e and 1 more$/);
  });

  it('are not looked at while there is no CNF', () => {
    expect(networksExist(create, facts(), context)).toBeUndefined();
  });
});

describe('a device', () => {
  it('is warned of where it has the name of a network', () => {
    const networks = new Set(['office', 'wan']);
    const routeBy = (dev: string) =>
      deviceIsNoNetwork(
        change({ after: rule('CNFRoute', 'r', { dst: '10.0.0.0/8', dev }) }),
        facts({ networks }),
        context,
      )?.message;
    expect(routeBy('office')).toBe(
      'spec.dev: office is a network of the CNF: name its interface, as the annotations of the pod have it',
    );
    expect(routeBy('net0')).toBeUndefined();
  });
});

describe('a place that each reload of mwan3 clears', () => {
  const zones = ['lan', 'wan'].map((name) => rule('FirewallZone', name, {}));
  const removed =
    'is removed by each reload of mwan3; the agent puts it back, and for some seconds packets go another way';
  const cautionsOf = (kind: string, spec: object): readonly string[][] =>
    referenceModes.map((mode) => {
      const created = change({ after: rule(kind, 'one', spec) });
      const found = findRefusals(ruleChecks, created, facts({ rules: zones }), context);
      const verdict = verdictOf(found, { mode, dryRun: false });
      expect(verdict.allowed).toBe(true);
      return [...verdict.warnings];
    });
  const inAllModes = (warnings: string[]) => referenceModes.map(() => warnings);

  it.each([
    [
      'CNFRoute',
      { dst: '10.0.0.0/8', dev: 'net0', table: 'cnf' },
      `spec.table: a route in table 40 ${removed}`,
    ],
    [
      'CNFRouteRule',
      { src: '10.0.0.1', prio: '1000' },
      `spec.prio: a rule with a priority from 1000 to 3999 ${removed}`,
    ],
    [
      'CNFRouteRule',
      { src: '10.0.0.1', prio: 3999 },
      `spec.prio: a rule with a priority from 1000 to 3999 ${removed}`,
    ],
  ])('is allowed for a %s (%j), with a warning in all modes', (kind, spec, warning) => {
    expect(cautionsOf(kind, spec)).toEqual(inAllModes([warning]));
  });

  it.each([
    ['CNFRoute', { dst: '10.0.0.0/8', dev: 'net0', table: 'default' }],
    ['CNFRouteRule', { src: '10.0.0.1', prio: '999' }],
    ['CNFRouteRule', { src: '10.0.0.1', prio: '4000' }],
    ['CNFRouteRule', { src: '10.0.0.1' }],
  ])('is not that of a %s (%j)', (kind, spec) => {
    expect(cautionsOf(kind, spec)).toEqual(inAllModes([]));
  });

  const SNAT = { src_dip: '1.2.3.4', dest: 'wan' };
  it.each([
    ['FirewallSNAT', { ...SNAT, src: 'lan' }, 'spec.src: .* the rule is not written'],
    ['FirewallSNAT', { ...SNAT, src: 'lan', src_ip: '10.0.0.1' }, 'whichever zone they come from'],
    ['IpsecProposal', { encryption_algorithm: 'aes128' }, 'spec.dh_group: without it'],
    [
      'FirewallRule',
      { src: 'lan', target: 'MARK', set_mark: '1', set_xmark: '2' },
      'spec.set_xmark: .* takes set_mark alone',
    ],
    [
      'FirewallDNAT',
      { src: 'lan', proto: 'tcp', src_dport: '!80', dest_ip: '10.0.0.1' },
      'spec.dest_port: .* excluded port',
    ],
    ['Mwan3Rule', { policy: 'default', proto: 'icmp', family: 'ipv6' }, 'spec.proto: in IPv6'],
    ['Mwan3Rule', { policy: 'default', proto: 'icmp', dest_ip: 'fd00::1' }, 'spec.proto: in IPv6'],
    [
      'Mwan3Policy',
      {
        members: [
          { network: 'a', metric: 1, weight: 1000 },
          { network: 'c', metric: 2, weight: 1 },
          { network: 'b', metric: 1, weight: 1 },
        ],
      },
      'spec.members.2..weight: mwan3 takes less',
    ],
  ])(
    'is allowed with a warning for a %s (%j) that may not do what its author intends',
    (kind, spec, warning) => {
      const expected = [expect.stringMatching(warning)];
      expect(cautionsOf(kind, spec)).toEqual(referenceModes.map(() => expected));
    },
  );
});

describe('a wrong label', () => {
  const purposes = new Set(['cnf-2', 'cnf-1']);
  const wrong = { labels: { sdewanPurpose: 'cnf1' } };
  const words =
    'metadata.labels.sdewanPurpose: no CNF has purpose cnf1 here; there is: cnf-1, cnf-2';

  it('is what a refusal of its references is about', () => {
    const create = change({ after: reject('a', {}, wrong) });
    expect(referencesExist(create, facts({ purposes }), context)?.message).toBe(
      `${words}; spec.src: FirewallZone lan1 does not exist for purpose cnf1 in this namespace`,
    );
    expect(purposeIsServed(create, facts({ purposes }), context)).toBeUndefined();
  });

  it.each<[string, RuleChange, Set<string>, string | undefined]>([
    ['without references', change({ after: zone('a', wrong) }), purposes, words],
    ['before there is any CNF', change({ after: zone('a', wrong) }), new Set(), undefined],
    ['of a CNF that there is', change({ after: zone('a') }), purposes, undefined],
    [
      'that it had before',
      change({ before: zone('a', wrong), after: zone('a', wrong) }),
      purposes,
      undefined,
    ],
    [
      'that it did not have before',
      change({ before: zone('a'), after: zone('a', wrong) }),
      purposes,
      words,
    ],
    ['of a rule that goes', change({ before: zone('a', wrong) }), purposes, undefined],
    ['that is not there', change({ after: zone('a', { labels: {} }) }), purposes, undefined],
  ])('%s', (_what, of, there, message) => {
    expect(purposeIsServed(of, facts({ purposes: there }), context)?.message).toBe(message);
  });

  it('names five of many CNFs', () => {
    const many = new Set(Array.from({ length: 9 }, (_, at) => `cnf-${at}`));
    const of = change({ after: zone('a', wrong) });
    expect(purposeIsServed(of, facts({ purposes: many }), context)?.message).toMatch(
      / cnf-4 and 4 more$/,
    );
  });
});

describe('two zones on one network', () => {
  const on = (name: string, network: string, metadata = {}) =>
    rule('FirewallZone', name, { network: ['ovn-net9', network] }, metadata);
  const words = (of: RuleObject, ...rules: RuleObject[]) =>
    networkHasOneZone(change({ after: of }), facts({ rules }), context)?.message;

  it('are warned of, with the network and the other zone', () => {
    expect(words(on('lan', 'ovn-net1'), zone('wan'))).toBe(
      'spec.network[1]: ovn-net1 is in FirewallZone wan as well; the firewall puts each packet into the zone that comes first',
    );
  });

  it('are warned of by either name of an attachment in the namespace', () => {
    const namespace = 'ns';
    const wan = (network: string) =>
      rule('FirewallZone', 'wan', { network: [network] }, { namespace });
    const attached = on('lan', 'ns/net', { namespace });
    expect(words(attached, wan('net'))).toContain('FirewallZone wan');
    expect(words(attached, wan('apps/net'))).toBeUndefined();
  });

  it.each([
    ['another network', on('lan', 'ovn-net2'), zone('wan')],
    ['the same zone', zone('wan'), zone('wan')],
    ['a zone that goes', zone('lan'), zone('wan', going)],
  ])('%s is none', (_what, of, other) => {
    expect(words(of, other)).toBeUndefined();
  });

  it('are found by what stays in memory of a zone', () => {
    const read = {
      revision: 'r',
      indexKeys: indexKeysOf(zone('wan'), undefined),
      shape: undefined,
      filter: undefined,
    };
    const kept: KeptRule = { ...identified(zone('wan')), ...read };
    expect(keysToLookUp(change({ after: zone('lan') }))).toContain(kept.indexKeys.at(-1));
    expect(words(zone('lan'), kept)).toContain('FirewallZone wan');
    const elsewhere: KeptRule = {
      ...kept,
      indexKeys: indexKeysOf(on('wan', 'x'), undefined).slice(0, -2),
    };
    expect(words(on('lan', 'ovn-net2'), elsewhere)).toBeUndefined();
  });
});

describe('a rule to which no packet comes', () => {
  const all = reject('all', { proto: 'all' });
  const words = (some: Parameters<typeof change>[0], others: readonly RuleObject[]) =>
    isNotHidden(change(some), facts({ filters: others }), context)?.message;
  const web = reject('web', { proto: 'tcp', dest_port: '80' }, { creationTimestamp: '' });

  it('is named with what decides before it, and with what to do', () => {
    expect(words({ after: web }, [all])).toBe(
      'spec: no packet comes to it: FirewallRule all decides before it for all that it matches; if that is not meant, have it come first by annotation sdewan.akraino.org/order, or change one of them',
    );
  });

  it('is named when another one is created that decides first', () => {
    const same = { ...web, metadata: all.metadata };
    const later = { ...same, metadata: { ...all.metadata, name: 'web', uid: 'web' } };
    expect(words({ after: all }, [later])).toBe(
      'spec: no packet comes to FirewallRule web any more, for which it now decides first; if that is not meant, give it a higher number in annotation sdewan.akraino.org/order, or change one of them',
    );
  });

  it('is found by what stays in memory of the other, where that is short', () => {
    const kept = (one: RuleObject): KeptRule => ({
      ...identified(one),
      revision: 'r',
      indexKeys: indexKeysOf(one, filterOf(one)),
      shape: undefined,
      filter: filterOf(one),
    });
    expect(kept(all).spec).toBeUndefined();
    expect(filtersToLookUp(change({ after: web }))).toContain(kept(all).indexKeys.at(-1));
    expect(words({ after: web }, [kept(all)])).toContain('FirewallRule all decides');
    const long = reject('all', { proto: 'all', name: 'x'.repeat(600) });
    expect([kept(long).filter, kept(long).indexKeys.join()]).toEqual([
      undefined,
      expect.not.stringContaining('/filters/'),
    ]);
    expect(words({ after: web }, [kept(long)])).toBeUndefined();
  });

  it('is not looked for on a deletion, or where the spec stays', () => {
    expect(words({ before: web }, [all])).toBeUndefined();
    expect(words({ before: web, after: web, specChanged: false }, [all])).toBeUndefined();
  });
});

describe('what only one rule of a CNF can have', () => {
  const address = (name: string, spec: object = {}, metadata = {}) =>
    rule(
      'VirtualAddress',
      name,
      { network: 'ovn-net1', addresses: ['10.0.0.1/24'], ...spec },
      metadata,
    );
  const words = (of: RuleObject, ...rules: RuleObject[]) =>
    claimIsFree(change({ after: of }), facts({ rules }), context)?.message;
  const elsewhere = { addresses: ['10.0.0.2/24'] };

  it.each([
    [
      'a virtual router of a network',
      address('a', elsewhere),
      'spec.virtualRouterId: VirtualAddress b has virtual router 51 on ovn-net1 on this CNF; choose another',
    ],
    [
      'an address, whatever its prefix',
      address('a', { virtualRouterId: 7, addresses: ['10.0.0.9', '10.0.0.1'] }),
      'spec.addresses[1]: VirtualAddress b has virtual address 10.0.0.1 on this CNF; choose another',
    ],
  ])('%s is refused to a second one', (_what, of, message) => {
    expect(words(of, address('b'))).toBe(message);
  });

  it.each([
    ['another network', address('a', { network: 'ovn-net2', ...elsewhere }), address('b')],
    ['another virtual router', address('a', { virtualRouterId: 7, ...elsewhere }), address('b')],
    ['the same rule', address('b'), address('b')],
    ['one that goes', address('a'), address('b', {}, going)],
    ['one of another form', address('a'), address('b', { addresses: ['here'] })],
    ['a kind that has none', zone('a'), zone('b')],
  ])('%s is free', (_what, of, other) => {
    expect(words(of, other)).toBeUndefined();
  });

  it('is not asked about when the spec stays', () => {
    const same = change({ after: address('a'), specChanged: false });
    expect(claimIsFree(same, facts({ rules: [address('b')] }), context)).toBeUndefined();
  });

  it('is found by what stays in memory of a rule', () => {
    const read = {
      revision: 'r',
      indexKeys: indexKeysOf(address('b'), undefined),
      shape: undefined,
      filter: undefined,
    };
    const kept: KeptRule = { ...identified(address('b')), ...read };
    const looked = keysToLookUp(change({ after: address('a') }));
    expect(looked.filter((indexKey) => kept.indexKeys.includes(indexKey))).toHaveLength(2);
    expect(words(address('a'), kept)).toContain('VirtualAddress b');
  });
});

describe('IPsec remotes of one CNF', () => {
  const remote = (name: string, spec: object = {}, metadata = {}) =>
    rule(
      'IpsecSite',
      name,
      {
        remote: '203.0.113.1',
        authentication_method: 'psk',
        pre_shared_key: `key-of-${name}`,
        crypto_proposal: ['p'],
        connections: [{ name: 'net', conn_type: 'tunnel', mode: 'add' }],
        ...spec,
      },
      metadata,
    );
  const host = (name: string, connection: string) => ({
    ...remote(name, { connections: [{ name: connection, conn_type: 'tunnel', mode: 'add' }] }),
    kind: 'IpsecHost',
  });
  const kept = (of: RuleObject): KeptRule => ({
    ...identified(of),
    revision: 'r',
    indexKeys: indexKeysOf(of, undefined),
    shape: undefined,
    filter: undefined,
  });

  it.each([
    ['of another site', remote('b')],
    ['of a host, as OpenWRT has it', host('b', 'n-e.t')],
  ])('do not get the name of a connection %s, also when they change', (_what, other) => {
    const own = remote('a', {
      connections: ['x', 'n_e_t', 'net'].map((name) => ({
        name,
        conn_type: 'tunnel',
        mode: 'add',
      })),
    });
    for (const rules of [[other], [kept(other)]]) {
      const refusal = claimIsFree(change({ before: own, after: own }), facts({ rules }), context);
      expect(refusal).toMatchObject({
        reason: 'NameConflict',
        message: expect.stringMatching(
          /^spec\.connections\[[12]\]\.name: Ipsec(Site|Host) b has IPsec connection n\S+ on this CNF; choose another$/,
        ),
      });
    }
  });

  const words = (of: RuleObject, other: RuleObject) =>
    [other, kept(other)].map(
      (one) => valueIsTheSame(change({ after: of }), facts({ rules: [one] }), context)?.message,
    );
  const ANOTHER_KEY =
    /^spec\.local_identifier: IpsecSite b has another key .*: give each a pair of local_identifier and remote_identifier/;
  const pair = { local_identifier: 'us', remote_identifier: 'them' };

  it.each<[string, object, object, RegExp | undefined]>([
    ['different keys without identities', {}, {}, ANOTHER_KEY],
    ['different keys with one pair', pair, pair, ANOTHER_KEY],
    ['the same key', { pre_shared_key: 'k' }, { pre_shared_key: 'k' }, undefined],
    ['pairs of their own', pair, { ...pair, remote_identifier: 'others' }, undefined],
    [
      'a key of a Secret',
      {},
      { pre_shared_key: '', pre_shared_key_from: { name: 'vpn', key: 'psk' } },
      undefined,
    ],
  ])('conflict with %s', (_what, own, others, expected) => {
    for (const message of words(remote('a', own), remote('b', others)))
      expect(message ?? 'none').toMatch(expected ?? /^none$/);
  });

  it('are found by what stays in memory of them, which has no key', () => {
    const looked = keysToLookUp(change({ after: remote('a') }));
    const { indexKeys } = kept(remote('b'));
    expect(looked.filter((indexKey) => indexKeys.includes(indexKey))).toHaveLength(2);
    expect(indexKeys.join()).not.toContain('key-of-b');
  });

  it('are not looked at when the spec stays, or the other goes', () => {
    const same = change({ after: remote('a'), specChanged: false });
    expect(valueIsTheSame(same, facts({ rules: [remote('b')] }), context)).toBeUndefined();
    expect(words(remote('a'), remote('b', {}, going))).toEqual([undefined, undefined]);
  });
});

describe('what CNFs on one link must not have in common', () => {
  const router = (name: string, purpose: string, spec: object = {}, metadata = {}) =>
    rule(
      'VirtualAddress',
      name,
      { network: 'ovn-net1', addresses: ['10.0.0.1/24'], ...spec },
      { labels: { sdewanPurpose: purpose }, ...metadata },
    );
  const own = router('a', 'cnf-1');
  const words = (...links: RuleObject[]) =>
    linkIsOwn(change({ after: own }), facts({ links }), context)?.message;

  it('is told of a virtual router of the same number on a network of that name', () => {
    expect(words(own, router('b', 'cnf-2', { addresses: ['10.0.0.2/24'] }))).toBe(
      'spec.virtualRouterId: VirtualAddress b of CNF cnf-2 has virtual router 51 on ovn-net1 as well; where both are on one link, one CNF takes the address from the other: choose another',
    );
  });

  it.each([
    ['of the same CNF, which is refused', router('b', 'cnf-1')],
    ['of another number', router('b', 'cnf-2', { virtualRouterId: 7 })],
    ['of another network', router('b', 'cnf-2', { network: 'ovn-net2' })],
    ['that goes', router('b', 'cnf-2', {}, going)],
  ])('is not told of one %s', (_, other) => {
    expect(words(own, other)).toBeUndefined();
  });

  it('is found by what stays in memory of a rule, whatever its CNF, and in its namespace alone', () => {
    const read = { revision: 'r', shape: undefined, filter: undefined };
    const kept = (of: RuleObject): KeptRule => ({
      ...identified(of),
      ...read,
      indexKeys: indexKeysOf(of, undefined),
    });
    const looked = linksToLookUp({ after: own });
    const indexKeys = (of: RuleObject) =>
      kept(of).indexKeys.filter((indexKey) => looked.includes(indexKey));
    const other = router('b', 'cnf-2');
    expect(indexKeys(other)).toHaveLength(1);
    expect(indexKeys(router('b', 'cnf-2', {}, { namespace: 'elsewhere' }))).toEqual([]);
    expect(words(kept(other))).toContain('VirtualAddress b of CNF cnf-2');
    expect(linksToLookUp({ after: zone('a') })).toEqual([]);
  });

  it('is not asked about when the spec stays', () => {
    const same = change({ after: own, specChanged: false });
    expect(linkIsOwn(same, facts({ links: [router('b', 'cnf-2')] }), context)).toBeUndefined();
  });
});

describe('what is legal and rarely meant', () => {
  const cautions = (after: RuleObject): string | undefined =>
    cautionsOf(change({ after }), facts(), context)?.message;
  it.each<[string, RuleObject, RegExp | undefined]>([
    [
      'a zone that drops',
      rule('FirewallZone', 'a', { network: ['n'], input: 'DROP' }),
      /^spec.input: DROP/,
    ],
    [
      'a zone that rejects',
      rule('FirewallZone', 'a', { network: ['n'], input: 'REJECT' }),
      undefined,
    ],
    [
      'a rule that rejects all',
      reject('a'),
      /^spec: REJECT of all packets from zone lan1 to the CNF itself/,
    ],
    ['of any zone', reject('a', { src: '*', proto: 'all' }), /from any zone/],
    ['all of a protocol', reject('a', { proto: 'udp' }), undefined],
    ['all of a port', reject('a', { dest_port: '80' }), undefined],
    ['all to another zone', reject('a', { dest: 'wan' }), undefined],
    ['a rule that accepts all', reject('a', { target: 'ACCEPT' }), undefined],
    [
      'a DNAT without address',
      rule('FirewallDNAT', 'a', { src: 'wan', src_dport: '80', proto: 'tcp', dest_port: '81' }),
      /^spec.dest_ip: absent/,
    ],
    [
      'a DNAT with one',
      rule('FirewallDNAT', 'a', {
        src: 'wan',
        src_dport: '80',
        proto: 'tcp',
        dest_ip: '10.0.0.1',
      }),
      undefined,
    ],
    [
      'an option that firewall4 ignores',
      reject('a', { dest_port: '80', extra: '-m comment' }),
      /^spec.extra: fw4 ignores arguments of iptables, .*; it is not in force$/,
    ],
    [
      'one of a zone',
      rule('FirewallZone', 'a', { network: ['n'], extra_src: '-m x' }),
      /^spec.extra_src: fw4/,
    ],
    [
      'an option that swanctl does not have',
      rule('IpsecSite', 'a', {
        remote: '203.0.113.1',
        authentication_method: 'psk',
        pre_shared_key: 'k',
        crypto_proposal: ['p'],
        connections: [{ name: 'net', conn_type: 'tunnel', mode: 'add', mark: 16 }],
      }),
      /^spec.connections\[0\].mark: swanctl of OpenWRT has no such option/,
    ],
    [
      'a protocol that it does not negate',
      rule('CNFNAT', 'a', { dest: '#default', src_dip: '10.0.0.1', target: 'SNAT', proto: '!tcp' }),
      /^spec.proto: fw4 leaves out/,
    ],
  ])('%s', (_what, after, words) => {
    expect(cautions(after) ?? 'none').toMatch(words ?? /^none$/);
  });
});
