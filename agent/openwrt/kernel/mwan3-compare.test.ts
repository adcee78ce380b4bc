/**
 * Texts are those of mwan3 2.11 with iptables 1.8.9 (nf_tables) on a device;
 * test/contract/conformance/mwan3.test.ts compares with one.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UciSection } from '#shared/uci/model.ts';
import { parsePackage } from '#shared/uci/parse.ts';
import { compareMwan3, type Mwan3Compared } from './mwan3-compare.ts';
import { readMwan3 } from './mwan3-read.ts';

const UPLINKS = `
config interface net1
	option enabled 1
config interface net2
	option enabled 1
config interface six
	option enabled 1
	option family ipv6
`;
const UNMARKED = '-m mark --mark 0x0/0x3f00';
/** `ipv4` and `ipv6`: lines of `iptables -S`; absent: no ip6tables. `refused`: of IPv4. */
type There = {
  online?: string;
  ipv4?: readonly string[];
  ipv6?: readonly string[];
  refused?: string;
};

const textOf = ({ online = 'net1 net2 six', ipv4 = [], ipv6, refused }: There): string =>
  [
    `== online ${online}`,
    '== ipv4',
    ...ipv4,
    ...(refused === undefined ? [] : [`== refused ipv4\n${refused}`]),
    ...(ipv6 ? ['== ipv6', ...ipv6] : []),
    '',
  ].join('\n');

const compare = (uci: string, there: There): Mwan3Compared => {
  const { sections } = parsePackage('mwan3', UPLINKS + uci);
  return compareMwan3(sections, () => readMwan3(textOf(there)));
};
const lackingIn = (uci: string, there: There): Record<string, string> =>
  Object.fromEntries(compare(uci, there).lacking);

/** `options` as `name value`, one a line. */
const rule = (name: string, ...options: readonly string[]): string =>
  [
    `config rule ${name}`,
    ...['use_policy both', ...options].map((each) => `	option ${each}`),
    '',
  ].join('\n');
const loaded = (match = '', target = '-j mwan3_policy_both'): string =>
  ['-A mwan3_rules', match, UNMARKED, target].filter((part) => part !== '').join(' ');

describe('a rule of mwan3 is in force', () => {
  it.each<[string, readonly string[], string]>([
    ['for everything', [], ''],
    ['for all protocols', ['proto all'], ''],
    ['to one host', ['dest_ip 8.8.8.8', 'family ipv4'], '-d 8.8.8.8/32'],
    ['from a network with bits of a host', ['src_ip 10.1.2.3/8'], '-s 10.0.0.0/8'],
    ['from a network by its mask', ['src_ip 10.0.0.1/255.255.0.0'], '-s 10.0.0.0/16'],
    ['from a mask with a gap', ['src_ip 10.0.0.1/255.0.255.0'], '-s 10.0.0.0/255.0.255.0'],
    ['to all addresses of IPv4', ['dest_ip 0.0.0.0/0', 'proto icmp'], '-p icmp'],
    ['for a protocol without a name', ['proto udplite', 'family ipv4'], '-p 136'],
    [
      'for ports',
      ['proto tcp', 'src_port 1024:65535', 'dest_port 80,443,8000:8100'],
      '-p tcp -m multiport --sports 1024:65535 -m multiport --dports 80,443,8000:8100',
    ],
    ['for ports that mwan3 leaves out', ['proto icmp', 'dest_port 80'], '-p icmp'],
  ])('%s', (_what, options, match) => {
    const ipv6 = [loaded(match)];
    expect(lackingIn(rule('web', ...options), { ipv4: [loaded(match)], ipv6 })).toEqual({});
    expect(lackingIn(rule('web', ...options), { ipv4: [loaded('-d 1.1.1.1/32')], ipv6 })).toEqual({
      web: "its rule in mwan3's chain mwan3_rules for IPv4",
    });
  });

  it.each<[string, readonly string[], string]>([
    ['for IPv6', ['family ipv6'], ''],
    ['from a network of IPv6', ['src_ip 2001:DB8:0:0::1/64'], '-s 2001:db8::/64'],
    ['to one host of IPv6', ['dest_ip 2001:db8::1'], '-d 2001:db8::1/128'],
  ])('%s, and not of IPv4', (_what, options, match) => {
    expect(lackingIn(rule('web', ...options), { ipv6: [loaded(match)] })).toEqual({});
    expect(lackingIn(rule('web', ...options), { ipv4: [loaded(match)], ipv6: [] })).toEqual({
      web: "its rule in mwan3's chain mwan3_rules for IPv6",
    });
  });

  it('needs each of the families that it asks for', () => {
    const both = rule('web', 'proto tcp');
    expect(lackingIn(both, { ipv4: [loaded('-p tcp')], ipv6: [] })).toHaveProperty('web');
    expect(lackingIn(both, { ipv4: [loaded('-p tcp')] })).toEqual({});
  });

  it.each([
    ['default', '0x3f00'],
    ['unreachable', '0x3e00'],
    ['blackhole', '0x3d00'],
  ])('needs no own policy when it leads to one that mwan3 has built in: %s', (policy, mark) => {
    const uci = rule('web', `use_policy ${policy}`);
    expect(lackingIn(uci, { ipv4: [loaded('', `-j MARK --set-xmark ${mark}/0x3f00`)] })).toEqual(
      {},
    );
    expect(
      lackingIn(uci, { ipv4: [loaded('', '-j MARK --set-xmark 0x100/0x3f00')] }),
    ).toHaveProperty('web');
  });

  it('needs a chain of its own when it is sticky', () => {
    const uci = rule('web', 'sticky 1');
    const chain = (policy: string): readonly string[] => [
      '-N mwan3_rule_web',
      `-A mwan3_rule_web ${UNMARKED} -j mwan3_policy_${policy}`,
      '-A mwan3_rule_web -m mark ! --mark 0xfc00/0xfc00 -j SET --add-set mwan3_rule_ipv4_web src,src',
      loaded('', '-j mwan3_rule_web'),
    ];
    expect(lackingIn(uci, { ipv4: chain('both') })).toEqual({});
    expect(lackingIn(uci, { ipv4: chain('other') })).toHaveProperty('web');
    expect(lackingIn(uci, { ipv4: [loaded()] })).toHaveProperty('web');
  });
});

describe('the order of rules', () => {
  const uci = rule('a', 'proto tcp') + rule('b', 'proto udp') + rule('c', 'proto icmp');
  const [a, b, c] = ['tcp', 'udp', 'icmp'].map((proto) => loaded(`-p ${proto}`));

  it('is that of the package, whatever of others is between', () => {
    const ipv4 = [loaded('-p gre'), a, '-A mwan3_rules -i eth7 -j LOG', b, c].map(String);
    expect(lackingIn(uci, { ipv4 })).toEqual({});
  });

  it('concerns each rule that another one is on the wrong side of', () => {
    expect(lackingIn(uci, { ipv4: [a, c, b].map(String) })).toEqual({
      b: "its place in mwan3's chain mwan3_rules for IPv4",
      c: "its place in mwan3's chain mwan3_rules for IPv4",
    });
  });

  it('has two places for two rules that are alike', () => {
    const twice = rule('a', 'proto tcp') + rule('b', 'proto tcp');
    expect(lackingIn(twice, { ipv4: [a, a].map(String) })).toEqual({});
    expect(Object.keys(lackingIn(twice, { ipv4: [a].map(String) }))).toEqual(['b']);
  });
});

describe('what keeps rules out', () => {
  const SAID = `iptables-restore v1.8.9 (nf_tables): too many ports specified
Error occurred at line: 4
Try \`iptables-restore -h' or 'iptables-restore --help' for more information.`;
  const ports = '1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16';
  const uci = rule('good', 'proto udp') + rule('bad', 'proto tcp', `dest_port ${ports}`);
  const bad = `-A mwan3_rules -p tcp -m multiport --dports ${ports} -m mark --mark 0/0x3f00 -j mwan3_policy_both`;

  it('is the rule that iptables-restore names, and the others say so', () => {
    const { lacking, incomparable, refused } = compare(uci, { refused: `${bad}\n${SAID}` });
    expect(Object.fromEntries(refused)).toEqual({
      bad: 'too many ports specified, and mwan3 then puts none of its rules into the kernel',
    });
    expect(incomparable.get('good')).toBe(
      'mwan3 puts in none of its rules because of section bad: too many ports specified',
    );
    // To load it again would not help.
    expect(lacking).toEqual(new Map());
  });

  it.each([
    ['its chain', '-A mwan3_rule_bad -j SET --add-set mwan3_rule_ipv4_bad src,src'],
    ['the way there', '-A mwan3_rules -p tcp -m mark --mark 0/0x3f00 -j mwan3_rule_bad'],
  ])('is a sticky rule by %s', (_what, line) => {
    const said = `iptables-restore v1.8.9 (nf_tables): Set mwan3_rule_ipv4_bad doesn't exist.\n`;
    const { refused } = compare(uci, { refused: `${line}\n${said}` });
    expect(refused.get('bad')).toContain("Set mwan3_rule_ipv4_bad doesn't exist., and");
  });

  it('is no rule where none is named', () => {
    const { lacking, refused } = compare(uci, { refused: '*mangle\nAnother app has the lock' });
    expect(refused).toEqual(new Map());
    expect(lacking.get('good')).toContain('puts in none of its rules: Another app has the lock');
  });

  it.each([
    [
      'addresses of two families',
      ['src_ip 10.0.0.1', 'dest_ip 2001:db8::1'],
      'invalid ipv4 address 2001:db8::1',
    ],
    [
      'an address of the other family',
      ['family ipv6', 'dest_ip 10.0.0.1'],
      'invalid ipv6 address 10.0.0.1',
    ],
    ['IPv4 inside of IPv6', ['dest_ip ::ffff:10.0.0.1'], 'invalid ipv4 address ::ffff:10.0.0.1'],
  ])('is %s, which mwan3 makes no rule of', (_what, options, words) => {
    const { lacking, refused } = compare(rule('web', ...options), { ipv4: [], ipv6: [] });
    expect(refused.get('web')).toBe(`${words} specified for rule web`);
    expect(lacking).toEqual(new Map());
  });

  it('is IPv6 where OpenWRT has no ip6tables', () => {
    expect(compare(rule('web', 'family ipv6'), {}).refused.get('web')).toContain('no ip6tables');
  });
});

it('leaves other rules alone when mwan3 makes something of an option that is not compared', () => {
  const uci =
    rule('theirs', 'src_iface lan') + 'config rule listed\n\tlist use_policy both\n' + rule('ours');
  const { lacking, incomparable } = compare(uci, { ipv4: [loaded()] });
  expect([...incomparable.keys()]).toEqual(['theirs', 'listed']);
  expect(lacking).toEqual(new Map());
});

describe('a policy of mwan3', () => {
  const member = (name: string, uplink: string, metric: number, weight = 1): string =>
    `config member ${name}\n\toption interface ${uplink}\n\toption metric ${metric}\n\toption weight ${weight}\n`;
  const policy = (...more: readonly string[]): string =>
    [
      'config policy both',
      ...['one', 'two', 'six'].map((name) => `	list use_member m_${name}`),
      ...more,
      '',
    ].join('\n');
  const members = (one: number, two: number): string =>
    member('m_one', 'net1', one, 3) + member('m_two', 'net2', two) + member('m_six', 'six', 1);
  const NEW = '-N mwan3_policy_both';
  const to = (comment: string): string =>
    `-A mwan3_policy_both ${UNMARKED} -m comment --comment ${comment} -j MARK --set-xmark 0x100/0x3f00`;
  const OUT = `-A mwan3_policy_both -o eth2 ${UNMARKED} -m comment --comment "out net2 eth2" -j MARK --set-xmark 0x3f00/0x3f00`;
  const SIX = [NEW, to('"six 1 1"')];
  const lackOf = (uci: string, there: There): string | undefined =>
    lackingIn(uci, { ipv6: SIX, ...there })['both'];

  it('has the members that are online, of their least metric', () => {
    const alike = members(1, 1) + policy();
    expect(lackOf(alike, { ipv4: [NEW, to('"net2 1 4"'), to('"net1 3 3"')] })).toBeUndefined();
    expect(lackOf(members(1, 2) + policy(), { ipv4: [NEW, to('"net1 3 3"')] })).toBeUndefined();
    expect(lackOf(alike, { ipv4: [NEW, to('"net1 3 3"')] })).toBe(
      "member net2 with weight 1 in mwan3's chain mwan3_policy_both for IPv4",
    );
    expect(lackOf(alike, { ipv4: [NEW, to('"net2 1 3"'), to('"net1 2 2"')] })).toContain(
      'member net1 with weight 3',
    );
    expect(
      lackOf(members(1, 2) + policy(), { ipv4: [NEW, to('"net2 1 4"'), to('"net1 3 3"')] }),
    ).toBe("mwan3's chain mwan3_policy_both for IPv4 without net2");
  });

  it('is in force with what is left when an uplink goes down', () => {
    const uci = members(1, 2) + policy();
    expect(lackOf(uci, { online: 'net2 six', ipv4: [NEW, to('"net2 1 1"')] })).toBeUndefined();
    expect(lackOf(uci, { online: 'net1 six', ipv4: [NEW, OUT, to('"net1 3 3"')] })).toBeUndefined();
    const ipv4 = [NEW, OUT, to('unreachable')];
    expect(lackOf(uci, { online: 'six', ipv4 })).toBeUndefined();
    expect(lackOf(uci, { ipv4 })).toContain('member net1 with weight 3');
  });

  it('has its last resort when no member is online', () => {
    const uci = members(1, 1) + policy('	option last_resort blackhole');
    const nothing = { online: 'six', ipv4: [NEW, to('blackhole')] };
    expect(lackOf(uci, nothing)).toBeUndefined();
    expect(lackOf(members(1, 1) + policy(), nothing)).toBe(
      "unreachable in mwan3's chain mwan3_policy_both for IPv4, since no member is online",
    );
  });

  it('has no member of a metric over 256', () => {
    const uci = members(300, 400) + policy();
    expect(lackOf(uci, { ipv4: [NEW, to('unreachable')] })).toBeUndefined();
    expect(
      lackOf(members(256, 400) + policy(), { ipv4: [NEW, to('"net1 3 3"'), to('unreachable')] }),
    ).toBeUndefined();
  });

  it('has a chain for each family', () => {
    const uci = members(1, 1) + policy();
    expect(lackOf(uci, {})).toBe("mwan3's chain mwan3_policy_both for IPv4");
    const ipv4 = [NEW, to('"net2 1 4"'), to('"net1 3 3"')];
    expect(lackOf(uci, { ipv4, ipv6: [NEW, to('unreachable')] })).toContain('member six');
  });
});

describe('what cannot be read', () => {
  it('is why no section is in force, where that is all', () => {
    const { sections } = parsePackage('mwan3', UPLINKS + rule('web'));
    const { incomparable, lacking } = compareMwan3(sections, () => {
      throw new Error('no such chain');
    });
    expect(Object.fromEntries(incomparable)).toMatchObject({ web: 'no such chain' });
    expect(lacking).toEqual(new Map());
  });

  it('is another mwan3 where there is no iptables', () => {
    expect(readMwan3('== online net1\n')).toBeUndefined();
    expect(readMwan3('')).toBeUndefined();
  });

  const words = fc.constantFrom(
    '-A',
    '-N',
    '==',
    'ipv4',
    'refused',
    'mwan3_rules',
    'mwan3_policy_a',
    '-j',
    '-s',
    '--set-xmark',
    '1/',
    '\n',
    '"',
    'out',
    '256',
    ',:',
    '!',
    '::/0',
    '10.0.0.0/33',
  );
  const texts = fc.array(words).map((all) => all.join(' ').replaceAll(' \n ', '\n'));
  const value = fc.oneof(texts, fc.array(texts));
  const sections = fc.array(
    fc.record<UciSection>({
      name: fc.constantFrom('a', 'toString', '__proto__', 'm'),
      anonymous: fc.constant(false),
      type: fc.constantFrom('rule', 'policy', 'member', 'interface'),
      options: fc.dictionary(
        fc.constantFrom(
          'use_policy',
          'use_member',
          'src_ip',
          'dest_port',
          'proto',
          'metric',
          'interface',
        ),
        value,
      ),
    }),
  );
  it('stops nothing', () => {
    fc.assert(
      fc.property(sections, texts, (uci, text) => {
        const there = readMwan3(`== ipv4\n${text}`);
        compareMwan3(uci, () => there);
      }),
    );
  });
});
