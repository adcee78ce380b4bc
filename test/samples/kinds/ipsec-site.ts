/** Samples of IpsecSite. */
import { rule } from '../../stack/rules.ts';
import * as icn from '../icn-table.ts';
import { remoteByKey } from '../ipsec.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'IpsecSite',
  ofIcn: [
    {
      name: 'site1',
      spec: {
        type: 'policy-based',
        remote: '%any',
        authentication_method: 'psk',
        pre_shared_key: 'test_key',
        crypto_proposal: ['proposal1'],
        connections: [
          {
            name: 'conn_site',
            conn_type: 'tunnel',
            mode: 'add',
            local_subnet: '172.12.0.0/24, 10.239.160.22',
            remote_sourceip: '172.12.0.30-172.12.0.45',
            remote_subnet: '172.12.0.30/32',
            crypto_proposal: ['proposal1'],
          },
        ],
      },
    },
  ],
  rendered: [
    {
      name: 'hub',
      spec: {
        name: 'hub',
        type: 'VTI-based',
        remote: '203.0.113.9',
        authentication_method: 'psk',
        crypto_proposal: ['p-1'],
        force_crypto_proposal: '',
        local_identifier: '',
        remote_identifier: '',
        pre_shared_key: '',
        pre_shared_key_from: { name: 'vpn', key: 'psk' },
        local_public_cert: '',
        local_private_cert: '',
        shared_ca: '',
        connections: [
          {
            name: 'hub.conn',
            conn_type: 'tunnel',
            mode: 'add',
            local_subnet: '10.1.0.0/16,10.2.0.0/16',
            remote_subnet: '0.0.0.0/0',
            mark: 30,
          },
        ],
      },
    },
    {
      name: 'by-cert',
      spec: {
        remote: '203.0.113.10',
        authentication_method: 'pubkey',
        crypto_proposal: ['p-1'],
        local_public_cert:
          'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmIzZHVJR05sY25ScFptbGpZWFJsCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K___LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmFXNTBaWEp0WldScFlYUmxJRU5CCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K',
        local_private_cert:
          'LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmJtOTBJR0VnY21WaGJDQnJaWGs9Ci0tLS0tRU5EIFBSSVZBVEUgS0VZLS0tLS0K',
        shared_ca:
          'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClEwRWdiMllnZEdobElHOTBhR1Z5SUhOcFpHVT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQotLS0tLUJFR0lOIENFUlRJRklDQVRFLS0tLS0KZEdobGFYSWdjMlZqYjI1a0lFTkIKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=',
        connections: [{ name: 'bc', conn_type: 'tunnel', mode: 'start' }],
      },
    },
    {
      name: 'by-cert-from-2',
      spec: {
        remote: '203.0.113.12',
        authentication_method: 'pubkey',
        crypto_proposal: ['p-1'],
        local_public_cert:
          'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmIzZHVJR05sY25ScFptbGpZWFJsCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K',
        local_private_cert_from: { name: 'vpn', key: 'tls.key' },
        connections: [{ name: 'bcf2', conn_type: 'tunnel', mode: 'start' }],
      },
    },
    {
      name: 'site-1',
      spec: {
        type: 'policy-based',
        remote: '203.0.113.1',
        authentication_method: 'psk',
        pre_shared_key: 's3cret$(reboot)',
        crypto_proposal: ['prop-1'],
        force_crypto_proposal: '1',
        local_identifier: 'C=AQ, O=us, CN=*.example.com',
        remote_identifier: '@them',
        connections: [
          {
            name: 'site-a',
            conn_type: 'tunnel',
            mode: 'start',
            local_subnet: '10.1.0.0/16, 10.2.0.0/16',
            local_updown: '/etc/updown',
            local_firewall: 'yes',
            remote_subnet: '192.168.1.0/24',
            remote_sourceip: '10.9.0.0/24',
            remote_updown: '/etc/updown_oip',
            remote_firewall: 'no',
            crypto_proposal: ['prop-1'],
            mark: 30,
          },
          { name: 'site-b', conn_type: 'transport', mode: 'route', local_subnet: '10.3.0.0/16' },
        ],
      },
    },
  ],
  accepted: {
    'a shared key in a Secret': {
      spec: {
        remote: '10.0.0.1',
        authentication_method: 'psk',
        pre_shared_key_from: { name: 'vpn', key: 'psk' },
        crypto_proposal: ['p1'],
        connections: [
          {
            name: 'c',
            conn_type: 'tunnel',
            mode: 'start',
            local_subnet: '10.1.0.0/16,10.2.0.0/16',
          },
        ],
      },
    },
  },
  refused: {},
  fields: uci.remote,
  icnFields: icn.remote,
  life: {
    name: 'k-site',
    spec: remoteByKey('203.0.113.2', 'k-s', 'k-prop'),
    changed: remoteByKey('203.0.113.3', 'k-s', 'k-prop'),
    shows: ['ipsec.k_site gateway', '203.0.113.2', '203.0.113.3'],
  },
  kernel: {
    fw4: {
      created: [/^charon k_site: remote: 203\.0\.113\.2$/],
      changed: [/^charon k_site: remote: 203\.0\.113\.3$/],
    },
  },
  seedLife: [
    {
      rule: rule('IpsecSite', 'site-1', remoteByKey('203.0.113.1', 'conn-a', 'prop-1')),
      changed: remoteByKey('203.0.113.2', 'conn-a', 'prop-1'),
      shows: (is) => [
        {
          package: 'ipsec',
          type: 'remote',
          options: {
            gateway: `203.0.113.${is ? 2 : 1}`,
            tunnel: ['conn_a'],
            crypto_proposal: ['prop_1'],
          },
        },
      ],
    },
  ],
  texts: {
    icn: String.raw`# IpsecSite/by-cert: UnsupportedByDriver: spec.authentication_method: ICN's REST API shows certificates in a form that cannot be compared
# IpsecSite/by-cert-from-2: UnsupportedByDriver: spec.authentication_method: ICN's REST API shows certificates in a form that cannot be compared

package ipsec

config ipsec 'ipsec'
	option debug '0'
	option rtinstall_enabled '0'
	option vip_enabled '0'

config proposal 'proposal1'
	option encryption_algorithm 'aes128'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'

config proposal 'p_1'
	option encryption_algorithm 'aes256'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'

config proposal 'prop_1'
	option encryption_algorithm 'aes256'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'

config remote 'site1'
	option gateway '%any'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'test_key'
	list crypto_proposal 'proposal1'
	list tunnel 'conn_site'

config tunnel 'conn_site'
	option mode 'add'
	option local_subnet '172.12.0.0/24,10.239.160.22'
	option remote_subnet '172.12.0.30/32'
	option remote_sourceip '172.12.0.30-172.12.0.45'
	list crypto_proposal 'proposal1'

config remote 'hub'
	option type 'VTI-based'
	option gateway '203.0.113.9'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'from-the-secret'
	list crypto_proposal 'p_1'
	list tunnel 'hub_conn'

config tunnel 'hub_conn'
	option mode 'add'
	option local_subnet '10.1.0.0/16,10.2.0.0/16'
	option remote_subnet '0.0.0.0/0'
	option mark '30'

config remote 'site_1'
	option gateway '203.0.113.1'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 's3cret$(reboot)'
	option local_identifier 'C=AQ, O=us, CN=*.example.com'
	option remote_identifier '@them'
	list crypto_proposal 'prop_1'
	option force_crypto_proposal '1'
	list tunnel 'site_a'
	list transport 'site_b'

config tunnel 'site_a'
	option mode 'start'
	option local_subnet '10.1.0.0/16,10.2.0.0/16'
	option local_updown '/etc/updown'
	option local_firewall 'yes'
	option remote_subnet '192.168.1.0/24'
	option remote_sourceip '10.9.0.0/24'
	option remote_updown '/etc/updown_oip'
	option remote_firewall 'no'
	list crypto_proposal 'prop_1'
	option mark '30'

config transport 'site_b'
	option mode 'route'
	option local_subnet '10.3.0.0/16'
`,
    swanctlFiles: String.raw`/etc/swanctl/private/sdewan-4a386a38060f2facc3c9768a8ea2732d.pem
-----BEGIN PRIVATE KEY-----
bm90IGEgcmVhbCBrZXk=
-----END PRIVATE KEY-----

/etc/swanctl/private/sdewan-c2510bcd94f06f5bb2e4e1be32943b28.pem
-----BEGIN PRIVATE KEY-----
bm90IGEgcmVhbCBrZXksIGZyb20gdGhlIFNlY3JldA==
-----END PRIVATE KEY-----

/etc/swanctl/x509/sdewan-0d9bb1f36e89b17fa00cc3db499c82ab.pem
-----BEGIN CERTIFICATE-----
aW50ZXJtZWRpYXRlIENB
-----END CERTIFICATE-----

/etc/swanctl/x509/sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem
-----BEGIN CERTIFICATE-----
b3duIGNlcnRpZmljYXRl
-----END CERTIFICATE-----

/etc/swanctl/x509ca/sdewan-2776a3948e84834c98290cf1632de91c.pem
-----BEGIN CERTIFICATE-----
dGhlaXIgc2Vjb25kIENB
-----END CERTIFICATE-----

/etc/swanctl/x509ca/sdewan-98f73f29548f0b9b68095d1756af3ffc.pem
-----BEGIN CERTIFICATE-----
Q0Egb2YgdGhlIG90aGVyIHNpZGU=
-----END CERTIFICATE-----
`,
    swanctl: String.raw`package ipsec

config crypto_proposal 'proposal1'
	option encryption_algorithm 'aes128'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'
	option sdewan_made 'IpsecProposal/proposal1'

config crypto_proposal 'p_1'
	option encryption_algorithm 'aes256'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'
	option sdewan_made 'IpsecProposal/p_1'

config crypto_proposal 'prop_1'
	option encryption_algorithm 'aes256'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'
	option sdewan_made 'IpsecProposal/prop_1'

config remote 'site1'
	option gateway '%any'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'test_key'
	list crypto_proposal 'proposal1'
	list tunnel 'conn_site'
	list remote_addrs '%any'
	list child 'conn_site'
	option sdewan_made 'IpsecSite/site1'

config tunnel 'conn_site'
	option mode 'tunnel'
	option startaction 'add'
	list local_subnet '172.12.0.0/24'
	list local_subnet '10.239.160.22'
	list remote_subnet '172.12.0.30/32'
	list crypto_proposal 'proposal1'
	option sdewan_made 'IpsecSite/conn_site'

config remote 'hub'
	option gateway '203.0.113.9'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'from-the-secret'
	list crypto_proposal 'p_1'
	list tunnel 'hub_conn'
	list remote_addrs '203.0.113.9'
	list child 'hub_conn'
	option sdewan_made 'IpsecSite/hub'

config tunnel 'hub_conn'
	option mode 'tunnel'
	option startaction 'add'
	list local_subnet '10.1.0.0/16'
	list local_subnet '10.2.0.0/16'
	list remote_subnet '0.0.0.0/0'
	option sdewan_made 'IpsecSite/hub_conn'

config remote 'by_cert'
	option gateway '203.0.113.10'
	option enabled '1'
	option authentication_method 'pubkey'
	list crypto_proposal 'p_1'
	list tunnel 'bc'
	list remote_addrs '203.0.113.10'
	list child 'bc'
	option local_cert 'sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem'
	list local_chain 'sdewan-0d9bb1f36e89b17fa00cc3db499c82ab.pem'
	option local_key 'sdewan-4a386a38060f2facc3c9768a8ea2732d.pem'
	option ca_cert 'sdewan-98f73f29548f0b9b68095d1756af3ffc.pem'
	list remote_ca_certs 'sdewan-98f73f29548f0b9b68095d1756af3ffc.pem'
	list remote_ca_certs 'sdewan-2776a3948e84834c98290cf1632de91c.pem'
	option sdewan_made 'IpsecSite/by_cert'

config tunnel 'bc'
	option mode 'tunnel'
	option startaction 'start'
	option sdewan_made 'IpsecSite/bc'

config remote 'by_cert_from_2'
	option gateway '203.0.113.12'
	option enabled '1'
	option authentication_method 'pubkey'
	list crypto_proposal 'p_1'
	list tunnel 'bcf2'
	list remote_addrs '203.0.113.12'
	list child 'bcf2'
	option local_cert 'sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem'
	option local_key 'sdewan-c2510bcd94f06f5bb2e4e1be32943b28.pem'
	option sdewan_made 'IpsecSite/by_cert_from_2'

config tunnel 'bcf2'
	option mode 'tunnel'
	option startaction 'start'
	option sdewan_made 'IpsecSite/bcf2'

config remote 'site_1'
	option gateway '203.0.113.1'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 's3cret$(reboot)'
	option local_identifier 'C=AQ, O=us, CN=*.example.com'
	option remote_identifier '@them'
	list crypto_proposal 'prop_1'
	list tunnel 'site_a'
	list transport 'site_b'
	list remote_addrs '203.0.113.1'
	list child 'site_a'
	list child 'site_b'
	option sdewan_made 'IpsecSite/site_1'

config tunnel 'site_a'
	option mode 'tunnel'
	option startaction 'start'
	list local_subnet '10.1.0.0/16'
	list local_subnet '10.2.0.0/16'
	list remote_subnet '192.168.1.0/24'
	option updown '/etc/updown'
	list crypto_proposal 'prop_1'
	option sdewan_made 'IpsecSite/site_a'

config transport 'site_b'
	option mode 'transport'
	option startaction 'route'
	list local_subnet '10.3.0.0/16'
	option sdewan_made 'IpsecSite/site_b'

`,
    files: String.raw`/etc/ipsec.d/cacerts/sdewan-2776a3948e84834c98290cf1632de91c.pem
-----BEGIN CERTIFICATE-----
dGhlaXIgc2Vjb25kIENB
-----END CERTIFICATE-----

/etc/ipsec.d/cacerts/sdewan-98f73f29548f0b9b68095d1756af3ffc.pem
-----BEGIN CERTIFICATE-----
Q0Egb2YgdGhlIG90aGVyIHNpZGU=
-----END CERTIFICATE-----

/etc/ipsec.d/certs/sdewan-0d9bb1f36e89b17fa00cc3db499c82ab.pem
-----BEGIN CERTIFICATE-----
aW50ZXJtZWRpYXRlIENB
-----END CERTIFICATE-----

/etc/ipsec.d/certs/sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem
-----BEGIN CERTIFICATE-----
b3duIGNlcnRpZmljYXRl
-----END CERTIFICATE-----

/etc/ipsec.d/private/sdewan-4a386a38060f2facc3c9768a8ea2732d.pem
-----BEGIN PRIVATE KEY-----
bm90IGEgcmVhbCBrZXk=
-----END PRIVATE KEY-----

/etc/ipsec.d/private/sdewan-c2510bcd94f06f5bb2e4e1be32943b28.pem
-----BEGIN PRIVATE KEY-----
bm90IGEgcmVhbCBrZXksIGZyb20gdGhlIFNlY3JldA==
-----END PRIVATE KEY-----
`,
    uci: String.raw`package ipsec

config proposal 'proposal1'
	option encryption_algorithm 'aes128'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'
	option sdewan_made 'IpsecProposal/proposal1'

config proposal 'p_1'
	option encryption_algorithm 'aes256'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'
	option sdewan_made 'IpsecProposal/p_1'

config proposal 'prop_1'
	option encryption_algorithm 'aes256'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'
	option sdewan_made 'IpsecProposal/prop_1'

config remote 'site1'
	option type 'policy-based'
	option gateway '%any'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'test_key'
	list crypto_proposal 'proposal1'
	list tunnel 'conn_site'
	option sdewan_made 'IpsecSite/site1'

config tunnel 'conn_site'
	option mode 'add'
	option remote_subnet '172.12.0.30/32'
	option remote_sourceip '172.12.0.30-172.12.0.45'
	option local_subnet '172.12.0.0/24,10.239.160.22'
	list crypto_proposal 'proposal1'
	option sdewan_made 'IpsecSite/conn_site'

config remote 'hub'
	option type 'VTI-based'
	option gateway '203.0.113.9'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'from-the-secret'
	list crypto_proposal 'p_1'
	list tunnel 'hub_conn'
	option sdewan_made 'IpsecSite/hub'

config tunnel 'hub_conn'
	option mode 'add'
	option remote_subnet '0.0.0.0/0'
	option mark '30'
	option local_subnet '10.1.0.0/16,10.2.0.0/16'
	option sdewan_made 'IpsecSite/hub_conn'

config remote 'by_cert'
	option gateway '203.0.113.10'
	option enabled '1'
	option authentication_method 'pubkey'
	list crypto_proposal 'p_1'
	list tunnel 'bc'
	option local_public_cert '/etc/ipsec.d/certs/sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem, /etc/ipsec.d/certs/sdewan-0d9bb1f36e89b17fa00cc3db499c82ab.pem'
	option local_private_cert '/etc/ipsec.d/private/sdewan-4a386a38060f2facc3c9768a8ea2732d.pem'
	option shared_ca '/etc/ipsec.d/cacerts/sdewan-98f73f29548f0b9b68095d1756af3ffc.pem, /etc/ipsec.d/cacerts/sdewan-2776a3948e84834c98290cf1632de91c.pem'
	option sdewan_made 'IpsecSite/by_cert'

config tunnel 'bc'
	option mode 'start'
	option sdewan_made 'IpsecSite/bc'

config remote 'by_cert_from_2'
	option gateway '203.0.113.12'
	option enabled '1'
	option authentication_method 'pubkey'
	list crypto_proposal 'p_1'
	list tunnel 'bcf2'
	option local_public_cert '/etc/ipsec.d/certs/sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem'
	option local_private_cert '/etc/ipsec.d/private/sdewan-c2510bcd94f06f5bb2e4e1be32943b28.pem'
	option sdewan_made 'IpsecSite/by_cert_from_2'

config tunnel 'bcf2'
	option mode 'start'
	option sdewan_made 'IpsecSite/bcf2'

config remote 'site_1'
	option type 'policy-based'
	option gateway '203.0.113.1'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 's3cret$(reboot)'
	option local_identifier 'C=AQ, O=us, CN=*.example.com'
	option remote_identifier '@them'
	list crypto_proposal 'prop_1'
	option force_crypto_proposal '1'
	list tunnel 'site_a'
	list transport 'site_b'
	option sdewan_made 'IpsecSite/site_1'

config tunnel 'site_a'
	option mode 'start'
	option local_updown '/etc/updown'
	option local_firewall 'yes'
	option remote_subnet '192.168.1.0/24'
	option remote_sourceip '10.9.0.0/24'
	option remote_updown '/etc/updown_oip'
	option remote_firewall 'no'
	option mark '30'
	option local_subnet '10.1.0.0/16,10.2.0.0/16'
	list crypto_proposal 'prop_1'
	option sdewan_made 'IpsecSite/site_a'

config transport 'site_b'
	option mode 'route'
	option local_subnet '10.3.0.0/16'
	option sdewan_made 'IpsecSite/site_b'

`,
  },
};
