/** The text is that of fw4 with nftables 1.0.6, less what is not looked at. */
import { describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { lackingRules, nftRulesIn } from './nft-rules.ts';

const TEXT = `table inet fw4 {
	ct helper ftp {
		type "ftp" protocol tcp
		l3proto inet
	}

	chain input {
		type filter hook input priority filter; policy drop;
		iifname "net1" jump input_lan_1 comment "!fw4: Handle lan_1 IPv4/IPv6 input traffic"
		jump handle_reject
	}

	chain forward_lan {
		jump accept_to_lan_1 comment "!fw4: fwd"
		jump accept_to_wan comment "!fw4: Accept lan to wan forwarding"
	}

	chain input_lan_1 {
		tcp dport 80 counter jump handle_reject comment "!fw4: reject-80"
		udp dport 80 counter jump handle_reject comment "!fw4: reject-80"
		tcp dport 22 counter accept comment "!fw4: admin"
		jump reject_from_lan_1
	}

	chain reject_from_lan_1 {
		iifname "net1" counter jump handle_reject comment "!fw4: reject lan_1 IPv4/IPv6 traffic"
	}

	chain dstnat_lan {
		ip saddr 192.168.1.0/24 tcp dport 8080 dnat ip to 192.168.1.2:80 comment "!fw4: dn (reflection)"
	}
}
`;
const sections = [
  namedSection('zone', 'sdewan_zone_a', { name: 'lan_1' }),
  namedSection('rule', 'sdewan_rule_a', { name: 'reject-80', src: 'lan_1' }),
  namedSection('rule', 'cfg01', { name: 'admin', src: 'lan_1' }),
  namedSection('forwarding', 'sdewan_fw_a', { name: 'fwd', src: 'lan', dest: 'lan_1' }),
  namedSection('redirect', 'sdewan_dnat_a', { name: 'dn' }),
];
const lackingIn = (text: string): ReadonlyMap<string, string> =>
  lackingRules(sections, nftRulesIn(TEXT), nftRulesIn(text)).lacking;
const without = (...words: string[]): string =>
  TEXT.split('\n')
    .filter((line) => !words.some((word) => line.includes(word)))
    .join('\n');

describe('a missing nft rule counts for the section that it was made from', () => {
  it.each([
    ['udp dport 80', 'sdewan_rule_a'],
    ['"!fw4: fwd"', 'sdewan_fw_a'],
    ['(reflection)', 'sdewan_dnat_a'],
    ['"!fw4: Handle lan_1', 'sdewan_zone_a'],
    ['\tjump reject_from_lan_1', 'sdewan_zone_a'],
    ['"!fw4: reject lan_1', 'sdewan_zone_a'],
    ['"!fw4: admin"', 'cfg01'],
  ])('%s', (words, section) => {
    expect([...lackingIn(without(words)).keys()]).toEqual([section]);
  });
});

it('counts a rule that no section made for no section', () => {
  expect([...lackingIn(without('accept_to_wan', '\t\tjump handle_reject'))]).toEqual([]);
});

it('rules that were added later are ignored', () => {
  const more = TEXT.replace('\tchain input_lan_1 {\n', '$&\t\ttcp dport 99 counter drop\n');
  expect([...lackingIn(more)]).toEqual([]);
});

it('counts a missing rule for each section of its name', () => {
  const twins = [...sections, namedSection('rule', 'by_hand', { name: 'reject-80' })];
  const { lacking } = lackingRules(twins, nftRulesIn(TEXT), nftRulesIn(without('udp dport 80')));
  expect([...lacking.keys()]).toEqual(['sdewan_rule_a', 'by_hand']);
});

it('names the rule with its chain', () => {
  expect(lackingIn(without('udp dport 80')).get('sdewan_rule_a')).toBe(
    'the nft rule input_lan_1 udp dport 80 counter jump handle_reject comment "!fw4: reject-80"',
  );
});

it('finds that one of two equal rules is missing', () => {
  const twice = TEXT.replace(/\t\ttcp dport 80.*\n/, '$&$&');
  const { lacking } = lackingRules(sections, nftRulesIn(twice), nftRulesIn(TEXT));
  expect([...lacking.keys()]).toEqual(['sdewan_rule_a']);
});

it('finds nothing missing before the first reload by the agent', () => {
  expect([...lackingRules(sections, undefined, nftRulesIn('')).lacking]).toEqual([]);
});
