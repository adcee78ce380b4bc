/** IpsecProposal: a set of algorithms for IPsec. Its name is OpenWRT's, so a ledger tells whose. */
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
  }).describe(
    'Hash that protects the packets. A cipher that does so itself (gcm, ccm, chacha20poly1305) needs it in the proposals of a remote, for the keys (PRF).',
  ),
  dh_group: optionalText({
    must: 'must be a group of strongSwan such as modp3072, ecp256 or curve25519',
    maxLength: 32,
    pattern: GROUPS,
  }).describe(
    'Diffie-Hellman group. Needed in the proposals of a remote; those of its connections can do without.',
  ),
});

type Spec = z.infer<typeof spec>;

/** What protects packets by itself, so that a hash is not for them (AEAD). */
const isAead = (cipher: string): boolean => /gcm|ccm|poly1305$/.test(cipher);
/**
 * A hash that strongSwan makes no PRF of when it is not told to, and that it does not sign a key
 * exchange with.
 */
const isOfConnections = (hash: string): boolean => hash.endsWith('256_96');

const prfOf = (hash: string): string =>
  `prf${hash.replace(/^sha$/, 'sha1').replace('sha2_', 'sha').replace('_96', '')}`;

/**
 * OpenWRT's swanctl script takes a cipher of AEAD with a hash for a broken configuration, with
 * which charon does not start any more. It reads the PRF for remotes alone.
 */
const inWordsOfSwanctl = ({
  encryption_algorithm,
  hash_algorithm,
  dh_group,
}: Omit<Spec, 'name'>) => ({
  encryption_algorithm,
  ...(hash_algorithm !== undefined && isAead(encryption_algorithm)
    ? { prf_algorithm: prfOf(hash_algorithm) }
    : { hash_algorithm }),
  dh_group,
});

const NOT_LOADED = 'it does not load a remote whose crypto_proposal names it';

const cautions = ({ encryption_algorithm: cipher, hash_algorithm: hash, dh_group }: Spec) => [
  ...(dh_group === undefined
    ? [
        `spec.dh_group: without it strongSwan takes the proposal for connections only; ${NOT_LOADED}`,
      ]
    : []),
  ...hashCautions(cipher, hash),
];

const hashCautions = (cipher: string, hash: string | undefined): readonly string[] => {
  if (hash === undefined)
    return [
      isAead(cipher)
        ? `spec.hash_algorithm: without it strongSwan takes ${cipher} for connections only; ${NOT_LOADED}: write the hash for its keys, such as sha256 or sha384`
        : `spec.hash_algorithm: without it nothing protects the packets of connections with ${cipher} against changes, and strongSwan does not load a remote whose crypto_proposal names the proposal: write a hash such as sha256`,
    ];
  return isOfConnections(hash) && !isAead(cipher)
    ? [
        `spec.hash_algorithm: strongSwan takes ${hash} for connections only; ${NOT_LOADED}: write sha256`,
      ]
    : [];
};

export const ipsecProposal = defineKind({
  ...ruleResource,
  kind: 'IpsecProposal',
  plural: 'ipsecproposals',
  shortNames: ['ipsecp'],
  description: 'A set of algorithms for IPsec remotes and connections.',
  holdsKeys: true,
  spec,
  cautions,
  uci: {
    package: 'ipsec',
    ownership: 'stamp',
    sectionPrefix: '',
    nameOf: ({ type, name }) =>
      type === 'proposal' || type === 'crypto_proposal' ? name : undefined,
    icn: { nameOf: ({ type, name }) => (type === 'proposal' ? name : undefined) },
    render: ({ name: _name, ...algorithms }, { sectionName, capabilities }) => [
      capabilities.ipsec.dialect === 'classic'
        ? section('proposal', sectionName, algorithms)
        : section('crypto_proposal', sectionName, inWordsOfSwanctl(algorithms)),
    ],
  },
  icn: icnResource<Spec>({
    collection: 'ipsec/proposals',
    limits: {},
    nameOf: ({ name }) => name,
    identities: ({ name }) => inNameSpace('ipsec', [name]),
    object: ({ name: _name, ...algorithms }) => algorithms,
  }),
});
