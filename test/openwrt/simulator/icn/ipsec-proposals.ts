/** ipsec/v1/proposals: named sections, with the algorithms that ICN knows. */
import { oneOf, plain } from './checks.ts';
import type { Collection } from './collection.ts';
import type { Context } from './fields.ts';
import { listOf } from './uci.ts';

const KEY_BITS = ['128', '192', '256'];
const ICV_BITS = ['8', '12', '16', '64', '96', '128'];
const MODES = ['ctr', ...['ccm', 'gcm'].flatMap((mode) => ICV_BITS.map((bits) => mode + bits))];

const withModes = (cipher: string, modes: readonly string[]): string[] => [
  cipher,
  ...KEY_BITS.flatMap((bits) => [`${cipher}${bits}`, ...modes.map((mode) => cipher + bits + mode)]),
];

const ENCRYPTION = [
  '3des',
  'cast128',
  'null',
  'chacha20poly1305',
  ...withModes('blowfish', []),
  ...withModes('aes', MODES),
  ...withModes(
    'camellia',
    MODES.filter((mode) => !mode.startsWith('gcm')),
  ),
];

const HASHES =
  'md5 sha sha1 aesxcbc sha256 sha2_256 sha384 sha2_384 sha512 sha2_512 sha256_96 sha2_256_96'.split(
    ' ',
  );

const GROUPS = [
  'modp768 modp1024 modp1536 modp2048 modp3072 modp4096 modp6144 modp8192',
  'modp1024s160 modp2048s224 modp2048s256 curve25519 x25519 curve448 x448',
  'ecp192 ecp224 ecp256 ecp384 ecp521 ecp224bp ecp256bp ecp384bp ecp512bp',
].flatMap((line) => line.split(' '));

const isProposalUsed = (name: string, { uci }: Context): boolean =>
  uci
    .load('ipsec')
    .sections.some(
      (section) =>
        ['remote', 'tunnel', 'transport'].includes(section.type) &&
        listOf(section, 'crypto_proposal').includes(name),
    );

export const PROPOSALS: Collection = {
  key: 'proposals',
  noun: 'proposal',
  package: 'ipsec',
  type: 'proposal',
  named: true,
  fields: [
    plain('name'),
    plain('encryption_algorithm', oneOf(...ENCRYPTION)),
    plain('hash_algorithm', oneOf(...HASHES)),
    plain('dh_group', oneOf(...GROUPS)),
  ],
  inUse: isProposalUsed,
};
