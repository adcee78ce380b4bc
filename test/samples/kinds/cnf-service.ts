/** Samples of CNFService. */
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'CNFService',
  ofIcn: [{ name: 'service1', spec: { fullname: 'web.example.com', port: '8866', dport: '80' } }],
  rendered: [
    {
      name: 'web',
      spec: { fullname: 'web.example.com', port: '8866', dport: 80, cidr: '10.0.0.0/8' },
    },
  ],
  accepted: {},
  refused: {
    'a service without a port': {
      spec: { fullname: 'web.example.com', port: '', dport: 80 },
      server: 'must be a port from 1 to 65535',
    },
    'a service without a host': {
      spec: { fullname: 'web example', port: 80, dport: 80 },
      server: 'must be a host name',
    },
  },
  fields: {
    section: (name) => `sdewan_nat_${uci.mapped(name)}nat`,
    type: 'redirect',
    always: () => ({ target: 'DNAT', proto: 'tcp', src: uci.deviceZone }),
    special: {
      fullname: () => ({ dest_ip: '192.0.2.10' }),
      port: (value) => ({ src_dport: String(value) }),
      dport: (value) => ({ dest_port: String(value) }),
      cidr: uci.nothing,
    },
  },
  life: {
    name: 'k-svc',
    spec: { fullname: '192.0.2.10', port: 8_866, dport: 80 },
    changed: { fullname: '192.0.2.11', port: 8_866, dport: 80 },
    shows: ['firewall.sdewan_nat_k_svcnat dest_ip', '192.0.2.10', '192.0.2.11'],
  },
  kernel: {
    fw4: {
      created: [/^nft chain dstnat_\w+: .*tcp dport 8866 counter dnat ip to 192\.0\.2\.10:80 /],
      changed: [/^nft chain dstnat_\w+: .*tcp dport 8866 counter dnat ip to 192\.0\.2\.11:80 /],
    },
    fw3: {
      created: [
        /^iptables nat: -A PREROUTING .*--dport 8866 -j DNAT --to-destination 192\.0\.2\.10:80$/,
      ],
      changed: [
        /^iptables nat: -A PREROUTING .*--dport 8866 -j DNAT --to-destination 192\.0\.2\.11:80$/,
      ],
    },
  },
  texts: {
    icn: String.raw`# CNFNAT/service1nat6: UnsupportedByDriver: spec.dest_ip: ICN's REST API takes one IPv4 address or network here
# CNFNAT/webnat6: UnsupportedByDriver: spec.dest_ip: ICN's REST API takes one IPv4 address or network here

package firewall-nat
nat { name: service1nat, src_dport: '8866', proto: tcp, dest_ip: 192.0.2.10, dest_port: '80', target: DNAT }
nat { name: webnat, src_dport: '8866', proto: tcp, dest_ip: 192.0.2.10, dest_port: '80', target: DNAT }
`,
    uci: String.raw`package firewall
redirect sdewan_nat_service1nat { name: service1nat, target: DNAT, src: sda318c242, dest: '*', proto: tcp, src_dport: '8866', dest_ip: 192.0.2.10, dest_port: '80' }
redirect sdewan_nat_service1nat6 { name: service1nat6, target: DNAT, src: sda318c242, dest: '*', proto: tcp, src_dport: '8866', dest_ip: 2001:db8::10, dest_port: '80' }
redirect sdewan_nat_webnat { name: webnat, target: DNAT, src: sda318c242, dest: '*', proto: tcp, src_dport: '8866', dest_ip: 192.0.2.10, dest_port: '80' }
redirect sdewan_nat_webnat6 { name: webnat6, target: DNAT, src: sda318c242, dest: '*', proto: tcp, src_dport: '8866', dest_ip: 2001:db8::10, dest_port: '80' }
zone sdewan_device_sda318c242 { name: sda318c242, device: [ + ] }
`,
  },
};
