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
ipsec ipsec { debug: '0', rtinstall_enabled: '0', vip_enabled: '0' }
proposal proposal1 { encryption_algorithm: aes128, hash_algorithm: sha256, dh_group: modp3072 }
proposal p_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072 }
proposal prop_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072 }
remote site1 { gateway: '%any', enabled: '1', authentication_method: psk, pre_shared_key: test_key, crypto_proposal: [ proposal1 ], tunnel: [ conn_site ] }
tunnel conn_site { mode: add, local_subnet: '172.12.0.0/24,10.239.160.22', remote_subnet: 172.12.0.30/32, remote_sourceip: 172.12.0.30-172.12.0.45, crypto_proposal: [ proposal1 ] }
remote hub { type: VTI-based, gateway: 203.0.113.9, enabled: '1', authentication_method: psk, pre_shared_key: from-the-secret, crypto_proposal: [ p_1 ], tunnel: [ hub_conn ] }
tunnel hub_conn { mode: add, local_subnet: '10.1.0.0/16,10.2.0.0/16', remote_subnet: 0.0.0.0/0, mark: '30' }
remote site_1 { gateway: 203.0.113.1, enabled: '1', authentication_method: psk, pre_shared_key: s3cret$(reboot), local_identifier: 'C=AQ, O=us, CN=*.example.com', remote_identifier: '@them', crypto_proposal: [ prop_1 ], force_crypto_proposal: '1', tunnel: [ site_a ], transport: [ site_b ] }
tunnel site_a { mode: start, local_subnet: '10.1.0.0/16,10.2.0.0/16', local_updown: /etc/updown, local_firewall: yes, remote_subnet: 192.168.1.0/24, remote_sourceip: 10.9.0.0/24, remote_updown: /etc/updown_oip, remote_firewall: no, crypto_proposal: [ prop_1 ], mark: '30' }
transport site_b { mode: route, local_subnet: 10.3.0.0/16 }
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
crypto_proposal proposal1 { encryption_algorithm: aes128, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/proposal1 }
crypto_proposal p_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/p_1 }
crypto_proposal prop_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/prop_1 }
remote site1 { gateway: '%any', enabled: '1', authentication_method: psk, pre_shared_key: test_key, crypto_proposal: [ proposal1 ], tunnel: [ conn_site ], remote_addrs: [ '%any' ], child: [ conn_site ], sdewan_made: IpsecSite/site1 }
tunnel conn_site { mode: tunnel, startaction: add, local_subnet: [ 172.12.0.0/24, 10.239.160.22 ], remote_subnet: [ 172.12.0.30/32 ], crypto_proposal: [ proposal1 ], sdewan_made: IpsecSite/conn_site }
remote hub { gateway: 203.0.113.9, enabled: '1', authentication_method: psk, pre_shared_key: from-the-secret, crypto_proposal: [ p_1 ], tunnel: [ hub_conn ], remote_addrs: [ 203.0.113.9 ], child: [ hub_conn ], sdewan_made: IpsecSite/hub }
tunnel hub_conn { mode: tunnel, startaction: add, local_subnet: [ 10.1.0.0/16, 10.2.0.0/16 ], remote_subnet: [ 0.0.0.0/0 ], sdewan_made: IpsecSite/hub_conn }
remote by_cert { gateway: 203.0.113.10, enabled: '1', authentication_method: pubkey, crypto_proposal: [ p_1 ], tunnel: [ bc ], remote_addrs: [ 203.0.113.10 ], child: [ bc ], local_cert: sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem, local_chain: [ sdewan-0d9bb1f36e89b17fa00cc3db499c82ab.pem ], local_key: sdewan-4a386a38060f2facc3c9768a8ea2732d.pem, ca_cert: sdewan-98f73f29548f0b9b68095d1756af3ffc.pem, remote_ca_certs: [ sdewan-98f73f29548f0b9b68095d1756af3ffc.pem, sdewan-2776a3948e84834c98290cf1632de91c.pem ], sdewan_made: IpsecSite/by_cert }
tunnel bc { mode: tunnel, startaction: start, sdewan_made: IpsecSite/bc }
remote by_cert_from_2 { gateway: 203.0.113.12, enabled: '1', authentication_method: pubkey, crypto_proposal: [ p_1 ], tunnel: [ bcf2 ], remote_addrs: [ 203.0.113.12 ], child: [ bcf2 ], local_cert: sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem, local_key: sdewan-c2510bcd94f06f5bb2e4e1be32943b28.pem, sdewan_made: IpsecSite/by_cert_from_2 }
tunnel bcf2 { mode: tunnel, startaction: start, sdewan_made: IpsecSite/bcf2 }
remote site_1 { gateway: 203.0.113.1, enabled: '1', authentication_method: psk, pre_shared_key: s3cret$(reboot), local_identifier: 'C=AQ, O=us, CN=*.example.com', remote_identifier: '@them', crypto_proposal: [ prop_1 ], tunnel: [ site_a ], transport: [ site_b ], remote_addrs: [ 203.0.113.1 ], child: [ site_a, site_b ], sdewan_made: IpsecSite/site_1 }
tunnel site_a { mode: tunnel, startaction: start, local_subnet: [ 10.1.0.0/16, 10.2.0.0/16 ], remote_subnet: [ 192.168.1.0/24 ], updown: /etc/updown, crypto_proposal: [ prop_1 ], sdewan_made: IpsecSite/site_a }
transport site_b { mode: transport, startaction: route, local_subnet: [ 10.3.0.0/16 ], sdewan_made: IpsecSite/site_b }
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
proposal proposal1 { encryption_algorithm: aes128, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/proposal1 }
proposal p_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/p_1 }
proposal prop_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/prop_1 }
remote site1 { type: policy-based, gateway: '%any', enabled: '1', authentication_method: psk, pre_shared_key: test_key, crypto_proposal: [ proposal1 ], tunnel: [ conn_site ], sdewan_made: IpsecSite/site1 }
tunnel conn_site { mode: add, remote_subnet: 172.12.0.30/32, remote_sourceip: 172.12.0.30-172.12.0.45, local_subnet: '172.12.0.0/24,10.239.160.22', crypto_proposal: [ proposal1 ], sdewan_made: IpsecSite/conn_site }
remote hub { type: VTI-based, gateway: 203.0.113.9, enabled: '1', authentication_method: psk, pre_shared_key: from-the-secret, crypto_proposal: [ p_1 ], tunnel: [ hub_conn ], sdewan_made: IpsecSite/hub }
tunnel hub_conn { mode: add, remote_subnet: 0.0.0.0/0, mark: '30', local_subnet: '10.1.0.0/16,10.2.0.0/16', sdewan_made: IpsecSite/hub_conn }
remote by_cert { gateway: 203.0.113.10, enabled: '1', authentication_method: pubkey, crypto_proposal: [ p_1 ], tunnel: [ bc ], local_public_cert: '/etc/ipsec.d/certs/sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem, /etc/ipsec.d/certs/sdewan-0d9bb1f36e89b17fa00cc3db499c82ab.pem', local_private_cert: /etc/ipsec.d/private/sdewan-4a386a38060f2facc3c9768a8ea2732d.pem, shared_ca: '/etc/ipsec.d/cacerts/sdewan-98f73f29548f0b9b68095d1756af3ffc.pem, /etc/ipsec.d/cacerts/sdewan-2776a3948e84834c98290cf1632de91c.pem', sdewan_made: IpsecSite/by_cert }
tunnel bc { mode: start, sdewan_made: IpsecSite/bc }
remote by_cert_from_2 { gateway: 203.0.113.12, enabled: '1', authentication_method: pubkey, crypto_proposal: [ p_1 ], tunnel: [ bcf2 ], local_public_cert: /etc/ipsec.d/certs/sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem, local_private_cert: /etc/ipsec.d/private/sdewan-c2510bcd94f06f5bb2e4e1be32943b28.pem, sdewan_made: IpsecSite/by_cert_from_2 }
tunnel bcf2 { mode: start, sdewan_made: IpsecSite/bcf2 }
remote site_1 { type: policy-based, gateway: 203.0.113.1, enabled: '1', authentication_method: psk, pre_shared_key: s3cret$(reboot), local_identifier: 'C=AQ, O=us, CN=*.example.com', remote_identifier: '@them', crypto_proposal: [ prop_1 ], force_crypto_proposal: '1', tunnel: [ site_a ], transport: [ site_b ], sdewan_made: IpsecSite/site_1 }
tunnel site_a { mode: start, local_updown: /etc/updown, local_firewall: yes, remote_subnet: 192.168.1.0/24, remote_sourceip: 10.9.0.0/24, remote_updown: /etc/updown_oip, remote_firewall: no, mark: '30', local_subnet: '10.1.0.0/16,10.2.0.0/16', crypto_proposal: [ prop_1 ], sdewan_made: IpsecSite/site_a }
transport site_b { mode: route, local_subnet: 10.3.0.0/16, sdewan_made: IpsecSite/site_b }
`,
  },
};
