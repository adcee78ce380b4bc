/**
 * The fields of IpsecHost and IpsecSite. Init scripts paste them into strongSwan's files, so what
 * has a meaning there is refused.
 */
import { isIPv4 } from 'node:net';
import * as z from 'zod';
import { MAX_ITEMS, NO_ZEROS, count, flag, mark, plainNetworks, reference } from '../fields.ts';
import { CERTIFICATE_MUST, PRIVATE_KEY_MUST } from './ipsec-certificates.ts';
import { certificatesIn, privateKeyIn } from '../pem.ts';
import { oneOf, optionalText, text } from '../schema.ts';

const A_PROPOSAL = 'an IpsecProposal';
const MAX_CONNECTIONS = 16;
/** The `type` that leads packets by routes into connections. */
export const VTI_BASED = 'VTI-based';

/**
 * ICN's script begins a line of ipsec.secrets with the identities, unquoted: `include` as the first
 * word would have strongSwan read any file there, and a colon between blanks ends the identities,
 * so that what follows would be a secret of its own.
 */
const plainBut = (others: string): string => `[^\\x00-\\x20\\x7f"'\\\\#{}${others}]`;
const PLAIN = plainBut('');
const WORD = `(${plainBut(':')}|${PLAIN}{2,})`;
/** RE2 has no lookaheads. */
const wordBut = (word: string): string => {
  const rest = (at: number): string => {
    const letter = word[at];
    return letter === undefined
      ? `${PLAIN}+`
      : `(${plainBut(letter)}${PLAIN}*|${letter}${rest(at + 1)})?`;
  };
  const first = word.slice(0, 1);
  return `(${plainBut(`:${first}`)}|${plainBut(first)}${PLAIN}+|${first}${rest(1)})`;
};
const identifier = () =>
  optionalText({
    must: 'must not have control characters, quotes, backslashes, # or braces, a colon between blanks, or include as its first word',
    maxLength: 255,
    pattern: ` *(${wordBut('include')}( +${WORD})* *)?`,
  });

const PRE_SHARED_KEY = '[A-Za-z0-9!$%&()*+,./:;<=>?@^_|~\\[\\]-]{1,256}';
export const KEY_MUST =
  'must be 1 to 256 printable ASCII characters, without blanks, quotes, backslashes, # or braces';
const PRE_SHARED_KEY_TEXT = new RegExp(`^${PRE_SHARED_KEY}$`);
export const isPreSharedKey = (value: string): boolean => PRE_SHARED_KEY_TEXT.test(value);

const command = () =>
  optionalText({
    must: 'must be the path of a program, with plain arguments',
    maxLength: 255,
    pattern: '/[A-Za-z0-9_./ =:,@%+-]*',
  });
export const virtualAddress = () =>
  optionalText({
    must: 'must be an address, %config or a network',
    maxLength: 80,
    pattern: '%config[46]?|[0-9a-fA-F:.]+(/[0-9]{1,3})?',
  });
/** What the other side gets its address from. */
const addressPool = () =>
  optionalText({
    must: 'must be an address, %config, a network, or a range such as 10.0.0.30-10.0.0.45',
    maxLength: 96,
    pattern: '%config[46]?|[0-9a-fA-F:.]+(/[0-9]{1,3}|-[0-9a-fA-F:.]+)?',
  });
const certificates = () =>
  optionalText({
    must: CERTIFICATE_MUST,
    maxLength: 65_536,
    pattern: '[A-Za-z0-9+/=_]+',
    holds: (value) => certificatesIn(value) !== undefined,
  });
const privateKey = () =>
  optionalText({
    must: PRIVATE_KEY_MUST,
    maxLength: 65_536,
    pattern: '[A-Za-z0-9+/=]+',
    holds: (value) => privateKeyIn(value) !== undefined,
  });

export const connectionFields = () => ({
  name: text({
    must: 'must be letters, digits, ".", "_" and "-"',
    maxLength: 63,
    pattern: '[A-Za-z0-9_.-]+',
  }).describe("Name of the connection, unique in the CNF, and not the rule's own."),
  conn_type: z.enum(['tunnel', 'transport']).describe('Mode of IPsec.'),
  mode: z
    .enum(['start', 'add', 'route'])
    .describe('start: connect at once; route: connect on traffic; add: wait for the other side.'),
  local_updown: command().describe(
    'Program that strongSwan runs when the connection comes up or goes down: one that policy sdewan-programs lists.',
  ),
  local_firewall: oneOf(['yes', 'no']).describe(
    'Whether strongSwan opens the firewall on this side; not with swanctl.',
  ),
  remote_subnet: plainNetworks().describe('Networks of the other side.'),
  remote_sourceip: addressPool().describe(
    'Address or pool that the other side gets; not with swanctl.',
  ),
  remote_updown: command().describe('Program for the other side, likewise; not with swanctl.'),
  remote_firewall: oneOf(['yes', 'no']).describe('The same on the other side; not with swanctl.'),
  crypto_proposal: z
    .array(reference(A_PROPOSAL))
    .max(MAX_ITEMS)
    .optional()
    .describe('Algorithms for the traffic: names of IpsecProposals.'),
  mark: mark().describe('Mark of packets of the connection; not with swanctl, see if_id.'),
  if_id: count(0, 4_294_967_295).describe('Id of an XFRM interface.'),
});

/** What the resolver takes for an IPv4 address: of 010.1.1.1 it makes 8.1.1.1, of 10.1 10.0.0.1. */
const DIGITS = /^(0x[\da-f]*|\d+)(\.(0x[\da-f]*|\d+))*$/i;

const NEEDS_ROLE = 'The agent needs a Role for it: docs/drivers.md#keys-from-a-secret.';

const secretReference = () =>
  z.strictObject({
    name: text({
      must: 'must be the name of a Secret',
      maxLength: 253,
      pattern: '[a-z0-9]([a-z0-9.-]*[a-z0-9])?',
    }).describe('A Secret of the same namespace.'),
    key: text({
      must: 'must be a key of the Secret',
      maxLength: 253,
      pattern: '[A-Za-z0-9._-]+',
    }).describe('Which of its keys.'),
  });

export const remoteFields = <Connection extends z.ZodType>(connection: Connection) => ({
  name: optionalText({ must: 'must be text', maxLength: 253, pattern: '[A-Za-z0-9_.-]*' }).describe(
    "Ignored; ICN's controller writes it.",
  ),
  type: optionalText({
    must: 'must be a word such as VTI-based or policy-based',
    maxLength: 63,
    pattern: '[A-Za-z0-9_-]+',
  }).describe(`${VTI_BASED}: routes, not IPsec policies, select the packets of a connection.`),
  remote: text({
    must: `must be an address ${NO_ZEROS}, a host name or %any`,
    maxLength: 253,
    pattern: '%?([A-Za-z0-9_.-]|[A-Za-z0-9_.:-]{2,})',
    holds: (value) => !DIGITS.test(value) || isIPv4(value),
  }).describe('The other side: address, host name, or %any.'),
  authentication_method: z.enum(['psk', 'pubkey']).describe('How both sides authenticate.'),
  crypto_proposal: z
    .array(reference(A_PROPOSAL))
    .min(1)
    .max(MAX_ITEMS)
    .describe('Algorithms for key exchange: names of IpsecProposals.'),
  force_crypto_proposal: flag().describe('1: only these algorithms, as always with swanctl.'),
  local_identifier: identifier().describe(
    'Identity of this side. Remotes with different shared keys need a pair of identities each.',
  ),
  remote_identifier: identifier().describe('Identity of the other side.'),
  pre_shared_key: optionalText({
    must: KEY_MUST,
    maxLength: 256,
    pattern: PRE_SHARED_KEY,
  }).describe(
    'For psk: the shared key. strongSwan decodes one that begins with 0s or 0x. Prefer a Secret: pre_shared_key_from.',
  ),
  pre_shared_key_from: secretReference()
    .optional()
    .describe(
      `For psk: key of a Secret of the same namespace that holds the shared key. ${NEEDS_ROLE}`,
    ),
  local_public_cert: certificates().describe(
    'For pubkey: certificate of this side, followed by the intermediate certificates up to its CA.',
  ),
  local_private_cert: privateKey().describe(
    'For pubkey: private key of this side. Prefer a Secret: local_private_cert_from.',
  ),
  local_private_cert_from: secretReference()
    .optional()
    .describe(
      `For pubkey: key of a Secret of the same namespace that holds the private key. ${NEEDS_ROLE}`,
    ),
  shared_ca: certificates().describe(
    'For pubkey: CAs that this side trusts for the certificate of the other side.',
  ),
  connections: z
    .array(connection)
    .min(1)
    .max(MAX_CONNECTIONS)
    .describe('Connections to the other side.'),
});
