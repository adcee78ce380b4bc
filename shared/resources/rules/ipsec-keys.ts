/**
 * Which pre-shared key strongSwan takes. It looks for one by the identities of both sides alone,
 * and of keys that fit equally well it takes one for all remotes (seen with charon 5.9.8): so
 * remotes with different keys need identities of their own.
 */
import { createHash } from 'node:crypto';
import type { UciSection, UciValue } from '../../uci/model.ts';
import { spelling } from '../../policy/address-blocks.ts';
import type { Capabilities, IpsecDialect } from '../capabilities.ts';
import type { Clash, Sharing } from '../kind.ts';
import { NO } from '../render.ts';

type Identities = {
  local_identifier?: UciValue | undefined;
  remote_identifier?: UciValue | undefined;
};

const ANYBODY = '%any';
const WORDS_FOR_ANYBODY = new Set([ANYBODY, '%any6', '*', '0.0.0.0', '::', '0::0']);

/**
 * As far as strongSwan takes two texts for one identity: whatever their case, blanks and commas or
 * slashes between the parts of a name, and words in front that only say what it is.
 */
const identity = (text: UciValue | undefined): string => {
  if (typeof text !== 'string') return '';
  const bare = text
    .toLowerCase()
    .replaceAll(' ', '')
    .replace(/^(@@?|(fqdn|dns|email|rfc822|userfqdn):)/, '');
  if (WORDS_FOR_ANYBODY.has(bare)) return ANYBODY;
  if (/^\/.*=/.test(bare)) return bare.slice(1).replaceAll('/', ',');
  return spelling(bare);
};

/**
 * Whose a key is, in no order. swanctl's script gives a key no identity of the other side without
 * one of this side.
 */
const ownersOf = (
  { local_identifier, remote_identifier }: Identities,
  dialect: IpsecDialect,
): readonly string[] => {
  const [local, remote] = [identity(local_identifier), identity(remote_identifier)];
  const owners = dialect === 'swanctl' && local === '' ? [] : [local, remote];
  const known = owners.filter((owner) => owner !== '');
  return known.length === 0 ? [ANYBODY] : [...new Set(known)].sort();
};

type Keyed = { name: string; key: string; owners: readonly string[] };

/** A key that has all the owners of another, and maybe more, fits wherever that one does. */
export const clashingKeys = (
  sections: readonly UciSection[],
  { ipsec: { dialect } }: Pick<Capabilities, 'ipsec'>,
): readonly Clash[] => {
  const keyed = sections
    .filter(
      ({ type, options }) =>
        type === 'remote' &&
        options.authentication_method === 'psk' &&
        !NO.has(options.enabled ?? (dialect === 'swanctl' ? '0' : '1')),
    )
    .map(({ name, options }): Keyed => {
      const { pre_shared_key: key } = options;
      return {
        name,
        key: typeof key === 'string' ? key : '',
        owners: ownersOf(options, dialect),
      };
    });
  const byOwner = Map.groupBy(
    keyed.flatMap((one) => one.owners.map((owner) => ({ owner, one }))),
    ({ owner }) => owner,
  );
  return keyed.flatMap(({ name, key, owners }): Clash[] => {
    const other = byOwner
      .get(owners[0] ?? '')
      ?.find(({ one }) => one.key !== key && owners.every((owner) => one.owners.includes(owner)));
    return other ? [{ section: name, other: other.one.name, message: clashWith }] : [];
  });
};

const OWN_PAIR =
  'strongSwan finds a key by the identities of both sides alone, so it takes one key for both: give each a pair of local_identifier and remote_identifier that no other has';

const clashWith = (other: string): string =>
  `spec.local_identifier: ${other} has another key for the same identities; ${OWN_PAIR}`;

type Spec = Identities & {
  authentication_method: 'psk' | 'pubkey';
  pre_shared_key?: string | undefined;
};

/** Keys of Secrets may be the same, whatever their names. The key itself stays in no memory. */
export const keySharings = (spec: Spec): readonly Sharing[] => {
  const { authentication_method, pre_shared_key: key } = spec;
  if (authentication_method !== 'psk' || key === undefined) return [];
  return [
    {
      path: 'spec.local_identifier',
      key: `pre-shared key of ${ownersOf(spec, 'swanctl').join(' and ')}`,
      value: createHash('sha256').update(key).digest('base64'),
      message: `has another key for the same identities; ${OWN_PAIR}`,
    },
  ];
};
