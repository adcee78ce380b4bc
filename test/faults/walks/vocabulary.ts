/**
 * The rules that a walk writes, and what OpenWRT must hold for each, written by hand as it stands
 * in its files: nothing of this is made by the compiler that it judges.
 */
import { parseUci } from './uci-text.ts';
import type { UciSection } from '#shared/uci/model.ts';

type Package = 'firewall' | 'mwan3' | 'network';
/** `text`: undefined for a spec that is wrong. */
export type Variant = { spec: object; text: string | undefined };
export type Word = {
  kind: string;
  plural: string;
  name: string;
  package: Package;
  variants: readonly Variant[];
};

const wrong = (spec: object): Variant => ({ spec, text: undefined });

export const WORDS: readonly Word[] = [
  {
    kind: 'FirewallZone',
    plural: 'firewallzones',
    name: 'lan1',
    package: 'firewall',
    variants: [
      {
        spec: { network: ['ovn-net1'], input: 'ACCEPT', output: 'ACCEPT', forward: 'REJECT' },
        text: `
config zone 'sdewan_zone_lan1'
	option name 'lan1'
	list network 'net1'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'REJECT'
`,
      },
      {
        spec: {
          network: ['ovn-net1', 'ovn-net2'],
          input: 'DROP',
          output: 'ACCEPT',
          forward: 'DROP',
        },
        text: `
config zone 'sdewan_zone_lan1'
	option name 'lan1'
	list network 'net1'
	list network 'net2'
	option input 'DROP'
	option output 'ACCEPT'
	option forward 'DROP'
`,
      },
      wrong({ network: ['no-such-net'], input: 'ACCEPT', output: 'PERHAPS', forward: 'DROP' }),
    ],
  },
  ...['web', 'dns-in', 'ssh'].map((name): Word => {
    const section = `sdewan_rule_${name.replace('-', '_')}`;
    return {
      kind: 'FirewallRule',
      plural: 'firewallrules',
      name,
      package: 'firewall',
      variants: [
        {
          spec: { proto: 'tcp', dest_port: '80', target: 'DROP' },
          text: `
config rule '${section}'
	option name '${name}'
	option proto 'tcp'
	option dest_port '80'
	option target 'DROP'
`,
        },
        {
          spec: { src_ip: '192.168.1.2', proto: 'udp', dest_port: '53', target: 'REJECT' },
          text: `
config rule '${section}'
	option name '${name}'
	option src_ip '192.168.1.2'
	option proto 'udp'
	option dest_port '53'
	option target 'REJECT'
`,
        },
        wrong({ proto: 'tcp', dest_port: 'eighty', target: 'DROP' }),
      ],
    };
  }),
  {
    kind: 'Mwan3Policy',
    plural: 'mwan3policies',
    name: 'both',
    package: 'mwan3',
    variants: [
      {
        spec: { members: [{ network: 'ovn-net1', metric: 1, weight: 2 }] },
        text: `
config member 'both_net1'
	option interface 'net1'
	option metric '1'
	option weight '2'
	option sdewan_made 'Mwan3Policy/both_net1'

config policy 'both'
	list use_member 'both_net1'
	option sdewan_made 'Mwan3Policy/both'
`,
      },
      {
        spec: {
          members: [
            { network: 'ovn-net1', metric: 1, weight: 1 },
            { network: 'ovn-net2', metric: 2, weight: 3 },
          ],
        },
        text: `
config member 'both_net1'
	option interface 'net1'
	option metric '1'
	option weight '1'
	option sdewan_made 'Mwan3Policy/both_net1'

config member 'both_net2'
	option interface 'net2'
	option metric '2'
	option weight '3'
	option sdewan_made 'Mwan3Policy/both_net2'

config policy 'both'
	list use_member 'both_net1'
	list use_member 'both_net2'
	option sdewan_made 'Mwan3Policy/both'
`,
      },
    ],
  },
  {
    kind: 'CNFRouteRule',
    plural: 'cnfrouterules',
    name: 'ten',
    package: 'network',
    variants: [
      {
        spec: { src: '10.0.0.0/8', prio: '100', table: 'main' },
        text: `
config rule 'sdewan_rule_ten'
	option src '10.0.0.0/8'
	option priority '100'
	option lookup 'main'
`,
      },
      {
        spec: { src: '10.0.0.0/8', prio: '200', table: 'main' },
        text: `
config rule 'sdewan_rule_ten'
	option src '10.0.0.0/8'
	option priority '200'
	option lookup 'main'
`,
      },
    ],
  },
];

/** Sections of UCI text that is written by hand. */
export const sectionsOf = (text: string): UciSection[] => parseUci(text);

/** What an administrator has on each OpenWRT, and no other may change. */
export const FACTORY: Readonly<Record<Package, string>> = {
  firewall: `
config defaults 'defaults'
	option input 'REJECT'

config zone 'wan'
	option name 'wan'
	option input 'REJECT'

config rule 'admin_ping'
	option name 'ping'
	option proto 'icmp'
	option target 'ACCEPT'
`,
  mwan3: `
config interface 'net1'
	option enabled '1'

config interface 'net2'
	option enabled '1'

config policy 'admin_only'
	list use_member 'm1'
`,
  network: `
config interface 'if_net1'
	option device 'net1'

config rule 'admin_rule'
	option lookup 'main'
`,
};
