/** Samples of IpsecProposal. */
import { expect } from 'vitest';
import { rule } from '../../stack/rules.ts';
import * as icn from '../icn-table.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'IpsecProposal',
  ofIcn: [
    {
      name: 'proposal1',
      spec: { encryption_algorithm: 'aes128', hash_algorithm: 'sha256', dh_group: 'modp3072' },
    },
  ],
  rendered: [
    {
      name: 'p-1',
      spec: {
        name: 'p-1',
        encryption_algorithm: 'aes256',
        hash_algorithm: 'sha256',
        dh_group: 'modp3072',
      },
    },
    {
      name: 'aead',
      spec: {
        encryption_algorithm: 'aes128gcm16',
        hash_algorithm: 'sha256',
        dh_group: 'curve25519',
      },
    },
    {
      name: 'prop-1',
      spec: { encryption_algorithm: 'aes256', hash_algorithm: 'sha256', dh_group: 'modp3072' },
    },
  ],
  accepted: {},
  refused: {
    'a cipher that strongSwan does not have': {
      spec: { encryption_algorithm: 'rot13' },
      server: 'must be a cipher of strongSwan',
    },
  },
  fields: {
    section: uci.mapped,
    type: expect.stringMatching(/^(crypto_)?proposal$/),
    special: {
      name: uci.nothing,
      // With swanctl it is another option, which the kept text shows.
      hash_algorithm: (value, name) => (name === 'aead' ? {} : { hash_algorithm: value }),
    },
  },
  icnFields: { file: 'ipsec', type: 'proposal', isNamed: true, special: { name: icn.nothing } },
  life: {
    name: 'k-prop',
    spec: { encryption_algorithm: 'aes256', hash_algorithm: 'sha256' },
    changed: { encryption_algorithm: 'aes128', hash_algorithm: 'sha256' },
    shows: ['ipsec.k_prop encryption_algorithm', 'aes256', 'aes128'],
  },
  kernel: {
    // Without a group charon takes no connection with it.
    spec: { encryption_algorithm: 'aes256', hash_algorithm: 'sha256', dh_group: 'modp3072' },
    changed: { encryption_algorithm: 'aes128', hash_algorithm: 'sha256', dh_group: 'modp3072' },
    shownBy: 'IpsecSite',
    fw4: {
      created: [/^swanctl connections\.k_site: proposals = aes256-sha256-modp3072$/],
      changed: [/^swanctl connections\.k_site: proposals = aes128-sha256-modp3072$/],
    },
  },
  seedLife: [
    {
      rule: rule('IpsecProposal', 'prop-1', {
        encryption_algorithm: 'aes128',
        hash_algorithm: 'sha256',
        dh_group: 'modp3072',
      }),
      changed: { encryption_algorithm: 'aes256', hash_algorithm: 'sha256', dh_group: 'modp3072' },
      shows: (is) => [
        {
          package: 'ipsec',
          type: 'proposal',
          options: { encryption_algorithm: is ? 'aes256' : 'aes128' },
        },
      ],
    },
  ],
  texts: {
    icn: String.raw`package ipsec
proposal proposal1 { encryption_algorithm: aes128, hash_algorithm: sha256, dh_group: modp3072 }
proposal p_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072 }
proposal aead { encryption_algorithm: aes128gcm16, hash_algorithm: sha256, dh_group: curve25519 }
proposal prop_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072 }
`,
    swanctl: String.raw`package ipsec
crypto_proposal proposal1 { encryption_algorithm: aes128, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/proposal1 }
crypto_proposal p_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/p_1 }
crypto_proposal aead { encryption_algorithm: aes128gcm16, prf_algorithm: prfsha256, dh_group: curve25519, sdewan_made: IpsecProposal/aead }
crypto_proposal prop_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/prop_1 }
`,
    uci: String.raw`package ipsec
proposal proposal1 { encryption_algorithm: aes128, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/proposal1 }
proposal p_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/p_1 }
proposal aead { encryption_algorithm: aes128gcm16, hash_algorithm: sha256, dh_group: curve25519, sdewan_made: IpsecProposal/aead }
proposal prop_1 { encryption_algorithm: aes256, hash_algorithm: sha256, dh_group: modp3072, sdewan_made: IpsecProposal/prop_1 }
`,
  },
};
