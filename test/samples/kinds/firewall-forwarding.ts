/** Samples of FirewallForwarding. */
import { rule } from '../../stack/rules.ts';
import * as icn from '../icn-table.ts';
import { inFirewall } from '../../openwrt/checks/seed-rules.ts';
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
  accepted: { 'a forwarding from everywhere': { spec: { src: '*', dest: 'wan1' } } },
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
zone { name: lan1, network: [ net1 ], masq: '1', mtu_fix: '1', input: ACCEPT, forward: REJECT, output: ACCEPT }
zone { name: wan1, network: [ net2 ], input: REJECT }
forwarding { name: lan_to_wan, src: lan1, dest: wan1 }
forwarding { name: both, src: lan1, dest: wan, family: ipv4 }
forwarding { name: lan1_to_wan1, src: lan1, dest: wan1, family: ipv4 }
`,
    uci: String.raw`package firewall
zone sdewan_zone_lan1 { name: lan1, network: [ net1 ], input: ACCEPT, output: ACCEPT, forward: REJECT, masq: '1', mtu_fix: '1' }
zone sdewan_zone_wan1 { name: wan1, network: [ net2 ], input: REJECT }
forwarding sdewan_fwd_lan_to_wan { name: lan-to-wan, src: lan1, dest: wan1 }
forwarding sdewan_fwd_both { name: both, src: lan1, dest: wan, family: ipv4 }
forwarding sdewan_fwd_anywhere { name: anywhere, src: '*', dest: lan1 }
forwarding sdewan_fwd_lan1_to_wan1 { name: lan1-to.wan1, src: lan1, dest: wan1, family: ipv4 }
`,
  },
};
