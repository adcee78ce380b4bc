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
      spec: {
        remote: '%any',
        authentication_method: 'psk',
        pre_shared_key: 'x',
        pre_shared_key_from: { name: 'vpn', key: 'psk' },
        crypto_proposal: ['p1'],
        connections: [{ name: 'c', conn_type: 'tunnel', mode: 'start' }],
      },
      server: 'psk needs either pre_shared_key or pre_shared_key_from',
    },
    'a shared key that would break out of its file': {
      spec: {
        remote: '%any',
        authentication_method: 'psk',
        pre_shared_key: 'x" : PSK "y',
        crypto_proposal: ['p1'],
        connections: [{ name: 'c', conn_type: 'tunnel', mode: 'start' }],
      },
      server: 'must be 1 to 256 printable ASCII characters',
    },
    'an identity that has strongSwan read another file as secrets': {
      spec: {
        remote: '%any',
        authentication_method: 'psk',
        pre_shared_key: 'x',
        crypto_proposal: ['p1'],
        connections: [{ name: 'c', conn_type: 'tunnel', mode: 'start' }],
        local_identifier: 'include /etc/shadow',
      },
      server:
        'must not have control characters, quotes, backslashes, # or braces, a colon between blanks',
    },
    'an identity that ends with a secret of its own': {
      spec: {
        remote: '%any',
        authentication_method: 'psk',
        pre_shared_key: 'x',
        crypto_proposal: ['p1'],
        connections: [{ name: 'c', conn_type: 'tunnel', mode: 'start' }],
        remote_identifier: 'x : PSK known',
      },
      server:
        'must not have control characters, quotes, backslashes, # or braces, a colon between blanks',
    },
    'a remote that is a colon': {
      spec: {
        remote: ':',
        authentication_method: 'psk',
        pre_shared_key: 'x',
        crypto_proposal: ['p1'],
        connections: [{ name: 'c', conn_type: 'tunnel', mode: 'start' }],
      },
      server: 'must be an address, a host name or %any',
    },
    'two connections of one name': {
      spec: {
        remote: '%any',
        authentication_method: 'psk',
        pre_shared_key: 'x',
        crypto_proposal: ['p1'],
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

config proposal 'aead'
	option encryption_algorithm 'aes128gcm16'
	option dh_group 'curve25519'

config proposal 'prop_1'
	option encryption_algorithm 'aes256'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'

config remote 'host1'
	option type 'VTI-based'
	option gateway '203.0.113.10'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'test_key'
	list crypto_proposal 'proposal1'
	option force_crypto_proposal '0'
	list tunnel 'conn_host'

config tunnel 'conn_host'
	option mode 'start'
	option local_sourceip '%config'
	option remote_subnet '192.168.1.1/32'
	list crypto_proposal 'proposal1'

config remote 'from_secret'
	option gateway 'vpn.example.com'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'from-the-secret'
	list crypto_proposal 'p_1'
	list tunnel 'fs'

config tunnel 'fs'
	option mode 'route'

config remote 'host_1'
	option gateway '%any'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'from-the-secret'
	list crypto_proposal 'prop_1'
	list tunnel 'host_a'

config tunnel 'host_a'
	option mode 'add'
	option local_sourceip '%config'
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

config crypto_proposal 'aead'
	option encryption_algorithm 'aes128gcm16'
	option dh_group 'curve25519'
	option sdewan_made 'IpsecProposal/aead'

config crypto_proposal 'prop_1'
	option encryption_algorithm 'aes256'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'
	option sdewan_made 'IpsecProposal/prop_1'

config remote 'host1'
	option gateway '203.0.113.10'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'test_key'
	list crypto_proposal 'proposal1'
	list tunnel 'conn_host'
	list remote_addrs '203.0.113.10'
	list vips '0.0.0.0'
	list child 'conn_host'
	option sdewan_made 'IpsecHost/host1'

config tunnel 'conn_host'
	option mode 'tunnel'
	option startaction 'start'
	list remote_subnet '192.168.1.1/32'
	list crypto_proposal 'proposal1'
	option sdewan_made 'IpsecHost/conn_host'

config remote 'roadwarrior'
	option gateway '%any'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 's3cret$(reboot)'
	option local_identifier 'C=AQ, O=us, CN=*.example.com'
	option remote_identifier '@them'
	list crypto_proposal 'p_1'
	list crypto_proposal 'aead'
	list tunnel 'rw_1'
	list transport 'rw_2'
	list remote_addrs '%any'
	list vips '0.0.0.0'
	list child 'rw_1'
	list child 'rw_2'
	option sdewan_made 'IpsecHost/roadwarrior'

config tunnel 'rw_1'
	option mode 'tunnel'
	option startaction 'start'
	list remote_subnet '192.168.1.0/24'
	list remote_subnet '192.168.2.0/24'
	option updown '/etc/updown'
	option if_id '7'
	list crypto_proposal 'aead'
	option sdewan_made 'IpsecHost/rw_1'

config transport 'rw_2'
	option mode 'transport'
	option startaction 'route'
	option sdewan_made 'IpsecHost/rw_2'

config remote 'from_secret'
	option gateway 'vpn.example.com'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'from-the-secret'
	list crypto_proposal 'p_1'
	list tunnel 'fs'
	list remote_addrs 'vpn.example.com'
	list child 'fs'
	option sdewan_made 'IpsecHost/from_secret'

config tunnel 'fs'
	option mode 'tunnel'
	option startaction 'route'
	option sdewan_made 'IpsecHost/fs'

config remote 'by_cert_from'
	option gateway '203.0.113.11'
	option enabled '1'
	option authentication_method 'pubkey'
	list crypto_proposal 'p_1'
	list tunnel 'bcf'
	list remote_addrs '203.0.113.11'
	list child 'bcf'
	option local_cert 'sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem'
	option local_key 'sdewan-c2510bcd94f06f5bb2e4e1be32943b28.pem'
	option sdewan_made 'IpsecHost/by_cert_from'

config tunnel 'bcf'
	option mode 'tunnel'
	option startaction 'start'
	option sdewan_made 'IpsecHost/bcf'

config remote 'host_1'
	option gateway '%any'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'from-the-secret'
	list crypto_proposal 'prop_1'
	list tunnel 'host_a'
	list remote_addrs '%any'
	list vips '0.0.0.0'
	list child 'host_a'
	option sdewan_made 'IpsecHost/host_1'

config tunnel 'host_a'
	option mode 'tunnel'
	option startaction 'add'
	option sdewan_made 'IpsecHost/host_a'

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

config proposal 'aead'
	option encryption_algorithm 'aes128gcm16'
	option dh_group 'curve25519'
	option sdewan_made 'IpsecProposal/aead'

config proposal 'prop_1'
	option encryption_algorithm 'aes256'
	option hash_algorithm 'sha256'
	option dh_group 'modp3072'
	option sdewan_made 'IpsecProposal/prop_1'

config remote 'host1'
	option type 'VTI-based'
	option gateway '203.0.113.10'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'test_key'
	list crypto_proposal 'proposal1'
	option force_crypto_proposal '0'
	list tunnel 'conn_host'
	option sdewan_made 'IpsecHost/host1'

config tunnel 'conn_host'
	option mode 'start'
	option remote_subnet '192.168.1.1/32'
	option local_sourceip '%config'
	list crypto_proposal 'proposal1'
	option sdewan_made 'IpsecHost/conn_host'

config remote 'roadwarrior'
	option type 'policy-based'
	option gateway '%any'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 's3cret$(reboot)'
	option local_identifier 'C=AQ, O=us, CN=*.example.com'
	option remote_identifier '@them'
	list crypto_proposal 'p_1'
	list crypto_proposal 'aead'
	option force_crypto_proposal '1'
	list tunnel 'rw_1'
	list transport 'rw_2'
	option sdewan_made 'IpsecHost/roadwarrior'

config tunnel 'rw_1'
	option mode 'start'
	option local_updown '/etc/updown'
	option local_firewall 'yes'
	option remote_subnet '192.168.1.0/24,192.168.2.0/24'
	option remote_sourceip '10.9.0.0/24'
	option remote_updown '/etc/updown_oip'
	option remote_firewall 'no'
	option mark '30'
	option if_id '7'
	option local_sourceip '%config'
	list crypto_proposal 'aead'
	option sdewan_made 'IpsecHost/rw_1'

config transport 'rw_2'
	option mode 'route'
	option sdewan_made 'IpsecHost/rw_2'

config remote 'from_secret'
	option gateway 'vpn.example.com'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'from-the-secret'
	list crypto_proposal 'p_1'
	list tunnel 'fs'
	option sdewan_made 'IpsecHost/from_secret'

config tunnel 'fs'
	option mode 'route'
	option sdewan_made 'IpsecHost/fs'

config remote 'by_cert_from'
	option gateway '203.0.113.11'
	option enabled '1'
	option authentication_method 'pubkey'
	list crypto_proposal 'p_1'
	list tunnel 'bcf'
	option local_public_cert '/etc/ipsec.d/certs/sdewan-9db78e582a2ca2b2c5dccd09bd00023a.pem'
	option local_private_cert '/etc/ipsec.d/private/sdewan-c2510bcd94f06f5bb2e4e1be32943b28.pem'
	option sdewan_made 'IpsecHost/by_cert_from'

config tunnel 'bcf'
	option mode 'start'
	option sdewan_made 'IpsecHost/bcf'

config remote 'host_1'
	option type 'policy-based'
	option gateway '%any'
	option enabled '1'
	option authentication_method 'psk'
	option pre_shared_key 'from-the-secret'
	list crypto_proposal 'prop_1'
	list tunnel 'host_a'
	option sdewan_made 'IpsecHost/host_1'

config tunnel 'host_a'
	option mode 'add'
	option local_sourceip '%config'
	option sdewan_made 'IpsecHost/host_a'

`,
  },
};
