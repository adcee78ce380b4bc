/** Samples of CNFLocalService. */
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'CNFLocalService',
  ofIcn: [
    {
      name: 'localservice1',
      spec: {
        localservice: 'mail.local.example.com',
        localport: '2525',
        remoteservice: 'mail.example.com',
        remoteport: '25',
      },
    },
  ],
  rendered: [
    {
      name: 'mail',
      spec: {
        localservice: 'mail.local.example.com',
        localport: 2525,
        remoteservice: 'mail.example.com',
        remoteport: '25',
      },
    },
  ],
  accepted: {},
  refused: {},
  fields: {
    section: (name) => `sdewan_nat_${uci.mapped(name)}nat0`,
    type: 'redirect',
    always: () => ({ target: 'DNAT', proto: 'tcp', src: uci.deviceZone }),
    special: {
      localservice: () => ({ dest_ip: '10.9.9.9' }),
      localport: (value) => ({ dest_port: String(value) }),
      remoteservice: () => ({ src_dip: '192.0.2.20' }),
      remoteport: (value) => ({ src_dport: String(value) }),
    },
  },
  life: {
    name: 'k-local',
    spec: { localservice: '10.0.0.9', localport: 1, remoteservice: '192.0.2.20', remoteport: 2 },
    changed: { localservice: '10.0.0.8', localport: 1, remoteservice: '192.0.2.20', remoteport: 2 },
    shows: ['firewall.sdewan_nat_k_localnat0 dest_ip', '10.0.0.9', '10.0.0.8'],
  },
  kernel: {
    fw4: {
      created: [
        /^nft chain dstnat_\w+: .*ip daddr 192\.0\.2\.20 tcp dport 2 counter dnat ip to 10\.0\.0\.9:1 /,
      ],
      changed: [
        /^nft chain dstnat_\w+: .*ip daddr 192\.0\.2\.20 tcp dport 2 counter dnat ip to 10\.0\.0\.8:1 /,
      ],
    },
    fw3: {
      created: [
        /^iptables nat: -A PREROUTING -d 192\.0\.2\.20\/32 .*--dport 2 -j DNAT --to-destination 10\.0\.0\.9:1$/,
      ],
      changed: [
        /^iptables nat: -A PREROUTING -d 192\.0\.2\.20\/32 .*--dport 2 -j DNAT --to-destination 10\.0\.0\.8:1$/,
      ],
    },
  },
  texts: {
    icn: String.raw`package firewall-nat
nat { name: localservice1nat0, src_dip: 192.0.2.20, src_dport: '25', proto: tcp, dest_ip: 10.9.9.9, dest_port: '2525', target: DNAT }
nat { name: localservice1nat1, src_dip: 192.0.2.21, src_dport: '25', proto: tcp, dest_ip: 10.9.9.9, dest_port: '2525', target: DNAT }
nat { name: mailnat0, src_dip: 192.0.2.20, src_dport: '25', proto: tcp, dest_ip: 10.9.9.9, dest_port: '2525', target: DNAT }
nat { name: mailnat1, src_dip: 192.0.2.21, src_dport: '25', proto: tcp, dest_ip: 10.9.9.9, dest_port: '2525', target: DNAT }
`,
    uci: String.raw`package firewall
redirect sdewan_nat_localservice1nat0 { name: localservice1nat0, target: DNAT, src: sda318c242, dest: '*', proto: tcp, src_dip: 192.0.2.20, src_dport: '25', dest_ip: 10.9.9.9, dest_port: '2525' }
redirect sdewan_nat_localservice1nat1 { name: localservice1nat1, target: DNAT, src: sda318c242, dest: '*', proto: tcp, src_dip: 192.0.2.21, src_dport: '25', dest_ip: 10.9.9.9, dest_port: '2525' }
redirect sdewan_nat_mailnat0 { name: mailnat0, target: DNAT, src: sda318c242, dest: '*', proto: tcp, src_dip: 192.0.2.20, src_dport: '25', dest_ip: 10.9.9.9, dest_port: '2525' }
redirect sdewan_nat_mailnat1 { name: mailnat1, target: DNAT, src: sda318c242, dest: '*', proto: tcp, src_dip: 192.0.2.21, src_dport: '25', dest_ip: 10.9.9.9, dest_port: '2525' }
zone sdewan_device_sda318c242 { name: sda318c242, device: [ + ] }
`,
  },
};
