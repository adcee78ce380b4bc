/** Samples of FirewallSet, a kind that only `test/deploy/guides/adding-a-kind.test.ts` adds. */
import type { Samples } from '../samples.ts';

export const samples: Samples = {
  kind: 'FirewallSet',
  ofIcn: [],
  rendered: [
    { name: 'bad-guys', spec: { entry: ['192.0.2.0/24', '198.51.100.7'] } },
    {
      name: 'for.a-while',
      spec: { family: 'ipv6', entry: ['2001:db8::/32'], timeout: 60, maxelem: 8 },
    },
  ],
  accepted: { 'digits as text': { spec: { entry: ['192.0.2.1'], maxelem: '12' } } },
  refused: {
    'no addresses': {
      spec: { entry: [] },
      server: 'spec.entry in body should have at least 1 items',
    },
    'a timeout alone': {
      spec: { entry: ['192.0.2.1'], timeout: 60 },
      server: 'is required with timeout',
    },
    'an address with a leading zero': {
      spec: { entry: ['010.0.0.1'] },
      agent: 'spec.entry[0]: must be an IPv4 or IPv6 address',
    },
  },
  fields: {
    section: (name) => `sdewan_set_${name.replaceAll(/[-.]/g, '_')}`,
    type: 'ipset',
    always: () => ({ match: ['src_net'] }),
  },
  life: {
    name: 'k-set',
    spec: { entry: ['192.0.2.1'], maxelem: 8 },
    changed: { entry: ['192.0.2.1'], maxelem: 9 },
    shows: ['firewall.sdewan_set_k_set maxelem', '8', '9'],
  },
  kernel: { fw4: { created: [/^nft set k_set: size 8$/], changed: [/^nft set k_set: size 9$/] } },
  texts: {
    icn: String.raw`# FirewallSet/bad-guys: UnsupportedByDriver: kind: ICN's REST API does not support FirewallSet; use driver ubus
# FirewallSet/for.a-while: UnsupportedByDriver: kind: ICN's REST API does not support FirewallSet; use driver ubus
`,
    uci: String.raw`package firewall
ipset sdewan_set_bad_guys { name: bad_guys, family: ipv4, match: [ src_net ], entry: [ 192.0.2.0/24, 198.51.100.7 ] }
ipset sdewan_set_for_a_while { name: for_a_while, family: ipv6, match: [ src_net ], entry: [ 2001:db8::/32 ], timeout: '60', maxelem: '8' }
`,
  },
};
