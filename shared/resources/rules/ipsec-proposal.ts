/** IpsecProposal: a set of algorithms for IPsec. Its name is the name in OpenWRT, so a ledger tells whose it is. */
import * as z from 'zod';
import { icnResource, inNameSpace } from '../icn.ts';
import { defineKind } from '../kind.ts';
import { ruleResource, section } from '../render.ts';
import { optionalText, text } from '../schema.ts';

const BITS = '(128|192|256)';
const CIPHERS = [
  '3des|cast128|null|chacha20poly1305',
  `(aes|blowfish|camellia)${BITS}?`,
  `(aes|camellia)${BITS}(ctr|ccm(8|12|16|64|96|128))`,
  `aes${BITS}gcm(8|12|16|64|96|128)`,
].join('|');
const HASHES = 'md5|sha|sha1|aesxcbc|(sha|sha2_)(256|384|512)|(sha|sha2_)256_96';
const GROUPS =
  'modp(768|1024|1536|2048|3072|4096|6144|8192|1024s160|2048s224|2048s256)|ecp(192|224|256|384|521|(224|256|384|512)bp)|curve25519|x25519|curve448|x448';

const spec = z.strictObject({
  name: optionalText({ must: 'must be text', maxLength: 253, pattern: '[A-Za-z0-9_.-]*' }).describe(
    "Ignored; ICN's controller writes it.",
  ),
  encryption_algorithm: text({
    must: 'must be a cipher of strongSwan such as aes128, aes256gcm16 or chacha20poly1305',
    maxLength: 32,
    pattern: CIPHERS,
  }).describe('Cipher.'),
  hash_algorithm: optionalText({
    must: 'must be a hash of strongSwan such as sha256 or sha384',
    maxLength: 32,
    pattern: HASHES,
  }).describe('Hash. Omit it for ciphers with authentication (gcm, ccm, chacha20poly1305).'),
  dh_group: optionalText({
    must: 'must be a group of strongSwan such as modp3072, ecp256 or curve25519',
    maxLength: 32,
    pattern: GROUPS,
  }).describe(
    'Diffie-Hellman group. Needed in the proposals of a remote; those of its connections can do without.',
  ),
});

export const ipsecProposal = defineKind({
  ...ruleResource,
  kind: 'IpsecProposal',
  plural: 'ipsecproposals',
  shortNames: ['ipsecp'],
  description: 'A set of algorithms for IPsec remotes and connections.',
  holdsKeys: true,
  spec,
  cautions: ({ dh_group }) =>
    dh_group === undefined
      ? [
          'spec.dh_group: without it strongSwan takes the proposal for connections only; it does not load a remote whose crypto_proposal names it',
        ]
      : [],
  uci: {
    package: 'ipsec',
    ownership: 'stamp',
    sectionPrefix: '',
    nameOf: ({ type, name }) =>
      type === 'proposal' || type === 'crypto_proposal' ? name : undefined,
    icn: { nameOf: ({ type, name }) => (type === 'proposal' ? name : undefined) },
    render: ({ name: _name, ...algorithms }, { sectionName, capabilities }) => [
      section(
        capabilities.ipsec.dialect === 'classic' ? 'proposal' : 'crypto_proposal',
        sectionName,
        algorithms,
      ),
    ],
  },
  icn: icnResource<z.infer<typeof spec>>({
    collection: 'ipsec/proposals',
    limits: {},
    nameOf: ({ name }) => name,
    identities: ({ name }) => inNameSpace('ipsec', [name]),
    object: ({ name: _name, ...algorithms }) => algorithms,
  }),
});
