/**
 * Texts are those of nft 1.0.6 for the commands that mwan3.sh of 3.6 gives it;
 * test/contract/conformance/mwan3-nft.test.ts compares with a device.
 */
import { describe, expect, it } from 'vitest';
import { parsePackage } from '#shared/uci/parse.ts';
import { compareMwan3 } from './mwan3-compare.ts';
import { readMwan3 } from './mwan3-read.ts';

const FREE = 'meta mark & 0x00003f00 == 0x00000000';
const RULES = {
  ports: `ip saddr 10.0.0.0/8 ip daddr 8.8.8.8 tcp sport 1024-65535 tcp dport { 80-81, 443 } ${FREE} jump mwan3_policy_both`,
  kept: `meta l4proto udp meta nfproto ipv4 ${FREE} jump mwan3_rule_kept`,
  ping4: `meta l4proto icmp ${FREE} meta mark set meta mark | 0x00003f00`,
  rest: `${FREE} jump mwan3_policy_both`,
  six: `ip6 daddr 2001:db8::/32 ${FREE} meta mark set meta mark & 0xfffffeff | 0x00003e00`,
  ping6: `meta l4proto ipv6-icmp ${FREE} meta mark set meta mark | 0x00003f00`,
};
const SET = `${FREE} meta mark set meta mark & `;
const BOTH = `${FREE} numgen inc mod 4 vmap { 0-2 : jump mwan3_or_meta_0x100, 3 : jump mwan3_or_meta_0x200 }`;
const LAST = `${SET}0xfffffdff | 0x00003d00`;
const chain = (name: string, ...rules: readonly string[]): string =>
  `\tchain ${name} {\n${rules.map((rule) => `\t\t${rule}\n`).join('')}\t}\n`;
const LOADED = [
  '== online net1 net2 up6\n== nft\n',
  chain(
    'mwan3_prerouting',
    'type filter hook prerouting priority mangle + 1; policy accept;',
    `${FREE} jump mwan3_rules`,
  ),
  chain('mwan3_rules', ...Object.values(RULES)),
  chain(
    'mwan3_rule_kept',
    'ip saddr @mwan3_sticky_v4_kept_1 jump mwan3_or_meta_0x100',
    `${FREE} jump mwan3_policy_both`,
  ),
  ...['net1', 'net2'].map((name, at) =>
    chain(
      `mwan3_iface_in_${name}`,
      `iifname "${name}" ip saddr @mwan3_connected_v4 ${FREE} meta mark set meta mark | 0x00003f00`,
      `iifname "${name}" meta nfproto ipv4 ${SET}0xffffc0ff | 0x00000${at + 1}00`,
    ),
  ),
  chain('mwan3_iface_in_up6', `iifname "up6" meta nfproto ipv6 ${SET}0xffffc3ff | 0x00000300`),
  chain(
    'mwan3_policy_both',
    `meta nfproto ipv4 ${BOTH}`,
    `meta nfproto ipv6 ${SET}0xffffc3ff | 0x00000300`,
    `${SET}0xfffffeff | 0x00003e00`,
  ),
  chain('mwan3_policy_first', `${SET}0xffffc1ff | 0x00000100`, LAST),
].join('');

const PACKAGE = `
config interface net1
config interface net2
config interface up6
	option family ipv6
config member m1
	option interface net1
	option weight 3
config member m2
	option interface net2
config member later
	option interface net2
	option metric 2
config member m6
	option interface up6
config policy both
	list use_member m1
	list use_member m2
	list use_member m6
config policy first
	list use_member m1
	list use_member later
	option last_resort blackhole
config rule six
	option use_policy unreachable
	option dest_ip 2001:db8::/32
config rule ports
	option use_policy both
	option proto tcp
	option src_ip 10.1.2.3/8
	option dest_ip 8.8.8.8
	option src_port 1024:65535
	option dest_port 443,81,80
config rule kept
	option use_policy both
	option proto udp
	option sticky 1
	option family ipv4
config rule ping
	option use_policy default
	option proto icmp
config rule rest
	option use_policy both
`;
const compared = (loaded: string, uci = PACKAGE) => {
  const { lacking, incomparable } = compareMwan3(parsePackage('mwan3', uci).sections, () =>
    readMwan3(loaded),
  );
  return { lacking: Object.fromEntries(lacking), incomparable: Object.fromEntries(incomparable) };
};

it('has all that the package asks for', () => {
  expect(compared(LOADED)).toEqual({ lacking: {}, incomparable: {} });
});

it('takes no notice of what others have there', () => {
  const others = `\t\tip daddr @theirs ${FREE} jump mwan3_policy_both\n\t\t${FREE} log prefix "MWAN3(a)"\n`;
  const theirs = LOADED.replace('\tchain mwan3_rules {\n', (head) => head + others);
  expect(compared(theirs)).toEqual({ lacking: {}, incomparable: {} });
});

const RULE_GONE = (family: string): string => `its rule in mwan3's chain mwan3_rules for ${family}`;
describe('what is gone', () => {
  it.each([
    ['a rule', RULES.ports, { ports: RULE_GONE('IPv4') }],
    ['a sticky rule', RULES.kept, { kept: RULE_GONE('IPv4') }],
    ['a rule of both families', RULES.rest, { rest: RULE_GONE('IPv4') }],
    ['what a rule has for IPv6', RULES.ping6, { ping: RULE_GONE('IPv6') }],
    ['a mark', RULES.six, { six: RULE_GONE('IPv6') }],
    [
      'the members of a policy',
      `meta nfproto ipv4 ${BOTH}`,
      { both: "member net1 with weight 3 in mwan3's chain mwan3_policy_both for IPv4" },
    ],
    [
      'the last resort',
      LAST,
      {
        first: "blackhole in mwan3's chain mwan3_policy_first for IPv6, since no member is online",
      },
    ],
  ])('is found: %s', (_what, line, lacking) => {
    const without = LOADED.replace(`\t\t${line}\n`, '');
    expect(without).not.toBe(LOADED);
    expect(compared(without)).toEqual({ lacking, incomparable: {} });
  });

  it('is all, with the table or with the jump to its rules', () => {
    const all = ['six', 'ports', 'kept', 'ping', 'rest'];
    const unhooked = LOADED.replace(`\t\t${FREE} jump mwan3_rules\n`, '');
    expect(Object.keys(compared(unhooked).lacking)).toEqual(all);
    expect(Object.keys(compared('== online net1\n== nft\n').lacking)).toEqual([
      'both',
      'first',
      ...all,
    ]);
  });
});

it('finds a rule behind one that it was before', () => {
  const moved = LOADED.replace(`\t\t${RULES.ports}\n`, '').replace(
    `\t\t${RULES.six}\n`,
    (line) => `\t\t${RULES.ports}\n${line}`,
  );
  expect(Object.keys(compared(moved).lacking)).toEqual(['ports', 'kept', 'ping', 'rest']);
});

describe('what the agent does not understand', () => {
  const CANNOT = "the agent cannot read mwan3's chain";
  it('is why it does not say that a rule is gone', () => {
    const other = LOADED.replace(RULES.ports, `socket cgroupv2 level 1 "a" ${FREE} accept`);
    const { lacking, incomparable } = compared(other);
    expect(lacking).toEqual({});
    expect(incomparable['ports']).toContain(`${CANNOT} mwan3_rules for IPv4: it does not`);
    const unhooked = LOADED.replace('mwan3_prerouting', 'prerouting');
    expect(Object.keys(compared(unhooked).incomparable)).toHaveLength(5);
  });

  it('is why it does not say what a policy has', () => {
    const other = LOADED.replaceAll(BOTH, `${FREE} numgen inc mod 4 vmap @mwan3_smooth`);
    expect(Object.keys(compared(other).lacking)).toEqual([]);
    expect(compared(other).incomparable['both']).toContain(`${CANNOT} mwan3_policy_both`);
  });

  it('is all of another mwan3', () => {
    expect(new Set(Object.values(compared('== online net1\n').incomparable))).toEqual(
      new Set(['the agent does not know this mwan3']),
    );
  });
});
