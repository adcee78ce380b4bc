/** Samples of FirewallForwarding. */
import { rule } from '../../stack/rules.ts';
import * as icn from '../icn-table.ts';
import { inFirewall } from '../../judge/seed-rules.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'FirewallForwarding',
  ofIcn: [{ name: 'lan-to-wan', spec: { src: 'lan1', dest: 'wan1' } }],
  rendered: [
    { name: 'both', spec: { name: 'both', src: 'lan1', dest: 'wan', family: 'ipv4' } },
    { name: 'anywhere', spec: { src: '*', dest: 'lan1' } },
    { name: 'lan1-to.wan1', spec: { src: 'lan1', dest: 'wan1', family: 'ipv4' } },
  ],
  accepted: {
    'a forwarding from everywhere': {
      spec: { src: '*', dest: 'wan1' },
    },
  },
  refused: {},
  fields: {
    section: (name) => `sdewan_fwd_${uci.mapped(name)}`,
    type: 'forwarding',
    always: uci.named,
    special: { name: uci.nothing, src: uci.zone('src'), dest: uci.zone('dest') },
  },
  icnFields: { file: 'firewall', type: 'forwarding', special: icn.inZones },
  life: {
    name: 'k-fwd',
    spec: { src: 'kzone', dest: 'wan' },
    changed: { src: 'kzone', dest: 'lan' },
    shows: ['firewall.sdewan_fwd_k_fwd dest', 'wan', 'lan'],
  },
  kernel: {
    spec: { src: 'kzone', dest: 'kzone' },
    changed: { src: '*', dest: 'kzone' },
    fw4: {
      created: [/^nft chain forward_kzone: jump accept_to_kzone comment "!fw4: k-fwd"$/],
      changed: [/^nft chain forward: jump accept_to_kzone comment "!fw4: k-fwd"$/],
    },
    fw3: {
      created: [
        /^iptables filter: -A zone_kzone_forward .*kzone to kzone.*-j zone_kzone_dest_ACCEPT$/,
      ],
      changed: [/^iptables filter: .*\* to kzone.*-j zone_kzone_dest_ACCEPT$/],
    },
  },
  seedLife: [
    {
      rule: rule('FirewallForwarding', 'fwd-1', { src: 'lan1', dest: 'wan1' }),
      changed: { src: 'wan1', dest: 'lan1' },
      shows: (is) =>
        inFirewall('forwarding', { src: is ? 'wan1' : 'lan1', dest: is ? 'lan1' : 'wan1' }),
    },
  ],
  texts: {
    icn: String.raw`# FirewallForwarding/anywhere: UnsupportedByDriver: spec.src: ICN's REST API takes one zone here

package firewall

config zone
	option name 'lan1'
	list network 'net1'
	option masq '1'
	option mtu_fix '1'
	option input 'ACCEPT'
	option forward 'REJECT'
	option output 'ACCEPT'

config zone
	option name 'wan1'
	list network 'net2'
	option input 'REJECT'

config forwarding
	option name 'lan_to_wan'
	option src 'lan1'
	option dest 'wan1'

config forwarding
	option name 'both'
	option src 'lan1'
	option dest 'wan'
	option family 'ipv4'

config forwarding
	option name 'lan1_to_wan1'
	option src 'lan1'
	option dest 'wan1'
	option family 'ipv4'
`,
    uci: String.raw`package firewall

config zone 'sdewan_zone_lan1'
	option name 'lan1'
	list network 'net1'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'REJECT'
	option masq '1'
	option mtu_fix '1'

config zone 'sdewan_zone_wan1'
	option name 'wan1'
	list network 'net2'
	option input 'REJECT'

config forwarding 'sdewan_fwd_lan_to_wan'
	option name 'lan-to-wan'
	option src 'lan1'
	option dest 'wan1'

config forwarding 'sdewan_fwd_both'
	option name 'both'
	option src 'lan1'
	option dest 'wan'
	option family 'ipv4'

config forwarding 'sdewan_fwd_anywhere'
	option name 'anywhere'
	option src '*'
	option dest 'lan1'

config forwarding 'sdewan_fwd_lan1_to_wan1'
	option name 'lan1-to.wan1'
	option src 'lan1'
	option dest 'wan1'
	option family 'ipv4'

`,
  },
};
