/** Samples of IpsecHost. */
import { rule } from '../../stack/rules.ts';
import * as icn from '../icn-table.ts';
import {
  certificateFileOf,
  remoteByCertificate,
  remoteByKey,
  remoteBySelfSigned,
} from '../ipsec.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

const anybody = remoteByKey('%any', 'c', 'p1');
const NO_WORDS_OF_A_FILE =
  'must not have control characters, quotes, backslashes, # or braces, a colon between blanks';

export const samples: Samples = {
  kind: 'IpsecHost',
  ofIcn: [
    {
      name: 'host1',
      spec: {
        type: 'VTI-based',
        remote: '203.0.113.10',
        authentication_method: 'psk',
        pre_shared_key: 'test_key',
        force_crypto_proposal: '0',
        crypto_proposal: ['proposal1'],
        connections: [
          {
            name: 'conn_host',
            conn_type: 'tunnel',
            mode: 'start',
            local_sourceip: '%config',
            remote_subnet: '192.168.1.1/32',
            crypto_proposal: ['proposal1'],
          },
        ],
      },
    },
  ],
  rendered: [
    {
      name: 'roadwarrior',
      spec: {
        name: 'roadwarrior',
        type: 'policy-based',
        remote: '%any',
        authentication_method: 'psk',
        crypto_proposal: ['p-1', 'aead'],
        force_crypto_proposal: 1,
        local_identifier: 'C=AQ, O=us, CN=*.example.com',
        remote_identifier: '@them',
        pre_shared_key: 's3cret$(reboot)',
        local_public_cert: '',
        local_private_cert: '',
        shared_ca: '',
        connections: [
          {
            name: 'rw-1',
            conn_type: 'tunnel',
            mode: 'start',
            local_sourceip: '%config',
            local_updown: '/etc/updown',
            local_firewall: 'yes',
            remote_subnet: '192.168.1.0/24, 192.168.2.0/24',
            remote_sourceip: '10.9.0.0/24',
            remote_updown: '/etc/updown_oip',
            remote_firewall: 'no',
            crypto_proposal: ['aead'],
            mark: 30,
            if_id: 7,
          },
          { name: 'rw-2', conn_type: 'transport', mode: 'route' },
        ],
      },
    },
    {
      name: 'from-secret',
      spec: {
        remote: 'vpn.example.com',
        authentication_method: 'psk',
        crypto_proposal: ['p-1'],
        pre_shared_key_from: { name: 'vpn', key: 'psk' },
        connections: [{ name: 'fs', conn_type: 'tunnel', mode: 'route' }],
      },
    },
    {
      name: 'by-cert-from',
      spec: {
        remote: '203.0.113.11',
        authentication_method: 'pubkey',
        crypto_proposal: ['p-1'],
        local_public_cert:
          'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmIzZHVJR05sY25ScFptbGpZWFJsCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K',
        local_private_cert_from: { name: 'vpn', key: 'tls.key' },
        connections: [{ name: 'bcf', conn_type: 'tunnel', mode: 'start' }],
      },
    },
    {
      name: 'host-1',
      spec: {
        type: 'policy-based',
        remote: '%any',
        authentication_method: 'psk',
        pre_shared_key_from: { name: 'vpn', key: 'psk' },
        crypto_proposal: ['prop-1'],
        connections: [
          { name: 'host-a', conn_type: 'tunnel', mode: 'add', local_sourceip: '%config' },
        ],
      },
    },
  ],
  accepted: {},
  refused: {
    'a shared key twice': {
      spec: { ...anybody, pre_shared_key_from: { name: 'vpn', key: 'psk' } },
      server: 'psk needs either pre_shared_key or pre_shared_key_from',
    },
    'a shared key that would break out of its file': {
      spec: { ...anybody, pre_shared_key: 'x" : PSK "y' },
      server: 'must be 1 to 256 printable ASCII characters',
    },
    'an identity that has strongSwan read another file as secrets': {
      spec: { ...anybody, local_identifier: 'include /etc/shadow' },
      server: NO_WORDS_OF_A_FILE,
    },
    'an identity that ends with a secret of its own': {
      spec: { ...anybody, remote_identifier: 'x : PSK known' },
      server: NO_WORDS_OF_A_FILE,
    },
    'a remote that is a colon': {
      spec: { ...anybody, remote: ':' },
      server: 'must be an address without leading zeros, a host name or %any',
    },
    'two connections of one name': {
      spec: {
        ...anybody,
        connections: [
          { name: 'c', conn_type: 'tunnel', mode: 'start' },
          { name: 'c', conn_type: 'transport', mode: 'add' },
        ],
      },
      server: 'the names of connections must be unique',
    },
  },
  fields: uci.remote,
  icnFields: icn.remote,
  life: {
    name: 'k-host',
    spec: remoteByCertificate('before'),
    changed: remoteByCertificate('after'),
    shows: [
      'ipsec.k_host local_public_cert',
      certificateFileOf('before'),
      certificateFileOf('after'),
    ],
  },
  kernel: {
    spec: remoteBySelfSigned('before'),
    changed: remoteBySelfSigned('after'),
    fw4: { created: [/^charon k_host: .*CN=before/], changed: [/^charon k_host: .*CN=after/] },
  },
  seedLife: [
    {
      rule: rule('IpsecHost', 'host-1', remoteByKey('203.0.113.11', 'conn-b', 'prop-1')),
      changed: remoteByKey('203.0.113.12', 'conn-b', 'prop-1'),
      shows: (is) => [
        {
          package: 'ipsec',
          type: 'remote',
          options: { gateway: `203.0.113.${is ? 12 : 11}`, tunnel: ['conn_b'] },
        },
      ],
    },
  ],
  texts: {
    icn: String.raw`# IpsecHost/roadwarrior: UnsupportedByDriver: spec.connections[0].if_id: ICN's REST API ignores it
# IpsecHost/by-cert-from: UnsupportedByDriver: spec.authentication_method: ICN's REST API shows certificates in a form that cannot be compared

package ipsec
ipsec ipsec { debug: '0', rtinstall_enabled: '0', vip_enabled: '0' }
proposal proposal1 { encryption_algorithm: aes128, hash_algorithm: sha256, dh_group: modp3072 }
proposal p_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072 }
proposal aead { encryption_algorithm: aes128gcm16, hash_algorithm: sha256, dh_group: curve25519 }
proposal prop_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072 }
remote host1 { type: VTI-based, gateway: 203.0.113.10, enabled: '1', authentication_method: psk, pre_shared_key: test_key, crypto_proposal: [ proposal1 ], force_crypto_proposal: '0', tunnel: [ conn_host ] }
tunnel conn_host { mode: start, local_sourceip: '%config', remote_subnet: 192.168.1.1/32, crypto_proposal: [ proposal1 ] }
remote from_secret { gateway: vpn.example.com, enabled: '1', authentication_method: psk, pre_shared_key: from-the-secret, crypto_proposal: [ p_1 ], tunnel: [ fs ] }
tunnel fs { mode: route }
remote host_1 { gateway: '%any', enabled: '1', authentication_method: psk, pre_shared_key: from-the-secret, crypto_proposal: [ prop_1 ], tunnel: [ host_a ] }
tunnel host_a { mode: add, local_sourceip: '%config' }
`,
    swanctlFiles: String.raw`/etc/swanctl/private/sdewan-c2510bcd94f06f5bb2e4e1be32943b28.pem
-----BEGIN PRIVATE KEY-----
bm90IGEgcmVhbCBrZXksIGZyb20gdGhlIFNlY3JldA==
-----END PRIVATE KEY-----

/etc/swanctl/x509/sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem
-----BEGIN CERTIFICATE-----
b3duIGNlcnRpZmljYXRl
-----END CERTIFICATE-----
`,
    swanctl: String.raw`package ipsec
crypto_proposal proposal1 { encryption_algorithm: aes128, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/proposal1 }
crypto_proposal p_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/p_1 }
crypto_proposal aead { encryption_algorithm: aes128gcm16, prf_algorithm: prfsha256, dh_group: curve25519, sdewan_made: IpsecProposal/aead }
crypto_proposal prop_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/prop_1 }
remote host1 { gateway: 203.0.113.10, enabled: '1', authentication_method: psk, pre_shared_key: test_key, crypto_proposal: [ proposal1 ], tunnel: [ conn_host ], remote_addrs: [ 203.0.113.10 ], vips: [ 0.0.0.0 ], local_sourceip: [ 0.0.0.0 ], child: [ conn_host ], sdewan_made: IpsecHost/host1 }
tunnel conn_host { mode: tunnel, startaction: start, remote_subnet: [ 192.168.1.1/32 ], crypto_proposal: [ proposal1 ], sdewan_made: IpsecHost/conn_host }
remote roadwarrior { gateway: '%any', enabled: '1', authentication_method: psk, pre_shared_key: s3cret$(reboot), local_identifier: 'C=AQ, O=us, CN=*.example.com', remote_identifier: '@them', crypto_proposal: [ p_1, aead ], tunnel: [ rw_1 ], transport: [ rw_2 ], remote_addrs: [ '%any' ], vips: [ 0.0.0.0 ], local_sourceip: [ 0.0.0.0 ], child: [ rw_1, rw_2 ], sdewan_made: IpsecHost/roadwarrior }
tunnel rw_1 { mode: tunnel, startaction: start, remote_subnet: [ 192.168.1.0/24, 192.168.2.0/24 ], updown: /etc/updown, if_id: '7', crypto_proposal: [ aead ], sdewan_made: IpsecHost/rw_1 }
transport rw_2 { mode: transport, startaction: route, sdewan_made: IpsecHost/rw_2 }
remote from_secret { gateway: vpn.example.com, enabled: '1', authentication_method: psk, pre_shared_key: from-the-secret, crypto_proposal: [ p_1 ], tunnel: [ fs ], remote_addrs: [ vpn.example.com ], child: [ fs ], sdewan_made: IpsecHost/from_secret }
tunnel fs { mode: tunnel, startaction: route, sdewan_made: IpsecHost/fs }
remote by_cert_from { gateway: 203.0.113.11, enabled: '1', authentication_method: pubkey, crypto_proposal: [ p_1 ], tunnel: [ bcf ], remote_addrs: [ 203.0.113.11 ], child: [ bcf ], local_cert: sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem, local_key: sdewan-c2510bcd94f06f5bb2e4e1be32943b28.pem, sdewan_made: IpsecHost/by_cert_from }
tunnel bcf { mode: tunnel, startaction: start, sdewan_made: IpsecHost/bcf }
remote host_1 { gateway: '%any', enabled: '1', authentication_method: psk, pre_shared_key: from-the-secret, crypto_proposal: [ prop_1 ], tunnel: [ host_a ], remote_addrs: [ '%any' ], vips: [ 0.0.0.0 ], local_sourceip: [ 0.0.0.0 ], child: [ host_a ], sdewan_made: IpsecHost/host_1 }
tunnel host_a { mode: tunnel, startaction: add, sdewan_made: IpsecHost/host_a }
`,
    files: String.raw`/etc/ipsec.d/certs/sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem
-----BEGIN CERTIFICATE-----
b3duIGNlcnRpZmljYXRl
-----END CERTIFICATE-----

/etc/ipsec.d/private/sdewan-c2510bcd94f06f5bb2e4e1be32943b28.pem
-----BEGIN PRIVATE KEY-----
bm90IGEgcmVhbCBrZXksIGZyb20gdGhlIFNlY3JldA==
-----END PRIVATE KEY-----
`,
    uci: String.raw`package ipsec
proposal proposal1 { encryption_algorithm: aes128, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/proposal1 }
proposal p_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/p_1 }
proposal aead { encryption_algorithm: aes128gcm16, hash_algorithm: sha256, dh_group: curve25519, sdewan_made: IpsecProposal/aead }
proposal prop_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/prop_1 }
remote host1 { type: VTI-based, gateway: 203.0.113.10, enabled: '1', authentication_method: psk, pre_shared_key: test_key, crypto_proposal: [ proposal1 ], force_crypto_proposal: '0', tunnel: [ conn_host ], sdewan_made: IpsecHost/host1 }
tunnel conn_host { mode: start, remote_subnet: 192.168.1.1/32, local_sourceip: '%config', crypto_proposal: [ proposal1 ], sdewan_made: IpsecHost/conn_host }
remote roadwarrior { type: policy-based, gateway: '%any', enabled: '1', authentication_method: psk, pre_shared_key: s3cret$(reboot), local_identifier: 'C=AQ, O=us, CN=*.example.com', remote_identifier: '@them', crypto_proposal: [ p_1, aead ], force_crypto_proposal: '1', tunnel: [ rw_1 ], transport: [ rw_2 ], sdewan_made: IpsecHost/roadwarrior }
tunnel rw_1 { mode: start, local_updown: /etc/updown, local_firewall: yes, remote_subnet: '192.168.1.0/24,192.168.2.0/24', remote_sourceip: 10.9.0.0/24, remote_updown: /etc/updown_oip, remote_firewall: no, mark: '30', if_id: '7', local_sourceip: '%config', crypto_proposal: [ aead ], sdewan_made: IpsecHost/rw_1 }
transport rw_2 { mode: route, sdewan_made: IpsecHost/rw_2 }
remote from_secret { gateway: vpn.example.com, enabled: '1', authentication_method: psk, pre_shared_key: from-the-secret, crypto_proposal: [ p_1 ], tunnel: [ fs ], sdewan_made: IpsecHost/from_secret }
tunnel fs { mode: route, sdewan_made: IpsecHost/fs }
remote by_cert_from { gateway: 203.0.113.11, enabled: '1', authentication_method: pubkey, crypto_proposal: [ p_1 ], tunnel: [ bcf ], local_public_cert: /etc/ipsec.d/certs/sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem, local_private_cert: /etc/ipsec.d/private/sdewan-c2510bcd94f06f5bb2e4e1be32943b28.pem, sdewan_made: IpsecHost/by_cert_from }
tunnel bcf { mode: start, sdewan_made: IpsecHost/bcf }
remote host_1 { type: policy-based, gateway: '%any', enabled: '1', authentication_method: psk, pre_shared_key: from-the-secret, crypto_proposal: [ prop_1 ], tunnel: [ host_a ], sdewan_made: IpsecHost/host_1 }
tunnel host_a { mode: add, local_sourceip: '%config', sdewan_made: IpsecHost/host_a }
`,
  },
};
