/**
 * What firewall4 accepts as a value of an option. A parser answers undefined for a value that fw4
 * refuses.
 */
import { isIP } from 'node:net';

/** What a later step has to know of a value; most values only have to be good. */
export type Inverted = { value: string; inverted: boolean };
/** The values of a section's options; a scalar is a list of one. */
export type Values = ReadonlyMap<string, readonly Inverted[]>;

export const firstOf = (values: Values, option: string): string | undefined =>
  values.get(option)?.[0]?.value;

/** The protocols of a rule: TCP and UDP when it names none. */
export const protocolsOf = (values: Values): string[] => {
  const named = (values.get('proto') ?? []).map(({ value }) => value);
  const all = named.length === 0 ? ['tcpudp'] : named;
  return all.flatMap((protocol) => (protocol === 'tcpudp' ? ['tcp', 'udp'] : [protocol]));
};

export type Context = {
  /** Names of the zones that were taken. */
  zones: readonly string[];
  /** Names of the helpers that exist. */
  helpers: readonly string[];
  /** Logical interfaces of the network package. */
  networks: readonly string[];
};
export type ValueParser = (text: string, context: Context) => Inverted | undefined;
export type Kind = keyof typeof PARSERS;

/** `!` and blanks in front negate. */
export const parseInverted = (text: string): Inverted | undefined => {
  const value = text.replace(/^[ \t]*!/, '').trim();
  return value === '' ? undefined : { value, inverted: /^[ \t]*!/.test(text) };
};

const plain =
  (isGood: (text: string, context: Context) => boolean): ValueParser =>
  (text, context) =>
    isGood(text, context) ? { value: text, inverted: false } : undefined;

const invertible =
  (isGood: (text: string, context: Context) => boolean): ValueParser =>
  (text, context) => {
    const parsed = parseInverted(text);
    return parsed && isGood(parsed.value, context) ? parsed : undefined;
  };

/** fw4 takes any beginning of a choice, in any case, and goes on with the whole one. */
const oneOf =
  (...choices: readonly string[]): ValueParser =>
  (text) => {
    const value = choices.find((choice) => choice.toLowerCase().startsWith(text.toLowerCase()));
    return value === undefined ? undefined : { value, inverted: false };
  };

const BOOLEANS = new Set(['1', 'on', 'true', 'yes', '0', 'off', 'false', 'no']);
const DSCP_CLASS = /^(?:CS[0-7]|AF[1-4][1-3]|BE|EF|LE)$/;

const isPort = (text: string): boolean => {
  const [, from = '', to = from] = /^(\d{1,5})(?:[-:](\d{1,5}))?$/.exec(text) ?? [];
  return from !== '' && Number(from) <= Number(to) && Number(to) <= 65_535;
};

const isSubnet = (text: string, { networks }: Context): boolean => {
  const [address = '', mask, more] = text.split('/');
  if (more !== undefined) return false;
  if (mask !== undefined)
    return isIP(address) > 0 && (isIP(mask) === isIP(address) || /^-?\d+$/.test(mask));
  const [from = '', to, rest] = text.split('-');
  if (rest === undefined && to !== undefined && isIP(from) > 0 && isIP(from) === isIP(to))
    return true;
  return isIP(text) > 0 || networks.includes(text);
};

const isIcmpType = (text: string): boolean => {
  const [, type, code = '0'] = /^(\d+)(?:\/(\d+))?$/.exec(text) ?? [];
  if (type !== undefined) return Number(type) <= 255 && Number(code) <= 255;
  return ICMP_TYPES.has(text);
};

/** Types of ICMP and ICMPv6 by name; case counts. */
const ICMP_TYPES = new Set(
  `address-mask-reply address-mask-request address-unreachable any bad-header
   certification-path-advertisement-message certification-path-solicitation-message
   communication-prohibited destination-unreachable duplicate-address-confirmation
   duplicate-address-request echo-reply echo-request extended-echo-reply
   extended-echo-request extended-ping extended-pong fragmentation-needed
   home-agent-address-discovery-reply-message home-agent-address-discovery-request-message
   host-precedence-violation host-prohibited host-redirect host-unknown host-unreachable
   inverse-neighbor-discovery-advertisement-message
   inverse-neighbor-discovery-solicitation-message
   inverse-neighbour-discovery-advertisement-message
   inverse-neighbour-discovery-solicitation-message ip-header-bad
   mobile-prefix-advertisement mobile-prefix-solicitation mpl-control-message
   multicast-listener-done multicast-listener-query multicast-listener-report
   multicast-router-advertisement multicast-router-solicitation
   multicast-router-termination neighbor-advertisement neighbor-solicitation
   neighbour-advertisement neighbour-solicitation network-prohibited network-redirect
   network-unknown network-unreachable no-route node-info-query node-info-response
   packet-too-big parameter-problem ping pong port-unreachable precedence-cutoff
   protocol-unreachable redirect required-option-missing router-advertisement
   router-renumbering router-solicitation rpl-control-message seamoby-protocol-message
   source-quench source-route-failed time-exceeded timestamp-reply timestamp-request
   TOS-host-redirect TOS-host-unreachable TOS-network-redirect TOS-network-unreachable
   ttl-exceeded ttl-zero-during-reassembly ttl-zero-during-transit unknown-header-type
   unknown-option`.split(/\s+/),
);

const isMark = (text: string): boolean => {
  const [, mark, mask = '0'] = /^(0?x?[0-9a-f]+)(?:\/(0?x?[0-9a-f]+))?$/i.exec(text) ?? [];
  const isWord = (number: string): boolean => Number(number) <= 0xffffffff;
  return mark !== undefined && isWord(mark) && isWord(mask);
};

const protocol: ValueParser = (text) => {
  const parsed = parseInverted(text);
  return (
    parsed && {
      ...parsed,
      value: PROTOCOL_NAMES[parsed.value.toLowerCase()] ?? parsed.value.toLowerCase(),
    }
  );
};

const PROTOCOL_NAMES: Readonly<Record<string, string>> = {
  '1': 'icmp',
  '6': 'tcp',
  '17': 'udp',
  '58': 'ipv6-icmp',
  icmpv6: 'ipv6-icmp',
  any: 'all',
  '*': 'all',
};

const PARSERS = {
  string: plain(() => true),
  bool: plain((text) => BOOLEANS.has(text)),
  int: plain((text) => text.trim() === '' || !Number.isNaN(Number(text))),
  identifier: plain((text) => /^[a-zA-Z_.][a-zA-Z0-9/_.-]*$/.test(text)),
  family: plain((text) => ['any', 'all', '*', 'inet'].includes(text) || /[46]/.test(text)),
  policy: oneOf('accept', 'reject', 'drop'),
  target: oneOf(
    'accept',
    'reject',
    'drop',
    'notrack',
    'helper',
    'mark',
    'dscp',
    'dnat',
    'snat',
    'masquerade',
  ),
  reject_code: oneOf(
    'tcp-reset',
    'port-unreachable',
    'admin-prohibited',
    'host-unreachable',
    'no-route',
  ),
  reflection_source: oneOf('internal', 'external'),
  includetype: oneOf('script', 'nftables'),
  includeposition: oneOf(
    'ruleset-prepend',
    'ruleset-postpend',
    'ruleset-append',
    'table-prepend',
    'table-postpend',
    'table-append',
    'chain-prepend',
    'chain-postpend',
    'chain-append',
  ),
  ipsettype: plain((text) => /^(?:(?:src|dst|dest)_)?(?:ip|port|mac|net|set)$/i.test(text)),
  direction: plain((text) => ['in', 'ingress', 'out', 'egress'].includes(text)),
  zone_ref: plain((text, { zones }) => text === '*' || zones.includes(text)),
  cthelper: invertible((text, { helpers }) => helpers.includes(text)),
  device: invertible(() => true),
  setmatch: invertible(() => true),
  protocol,
  mac: invertible((text) => /^(?:[0-9a-f]{1,2}[:-]){5}[0-9a-f]{1,2}$/i.test(text)),
  port: invertible(isPort),
  network: invertible(isSubnet),
  icmptype: plain(isIcmpType),
  limit: invertible((text) => /^\d+(?:\/(?:s|m|h|d)[a-z]*)?$/.test(text)),
  mark: invertible(isMark),
  dscp: invertible((text) => DSCP_CLASS.test(text.toUpperCase()) || Number(text) <= 0x3f),
} as const satisfies Record<string, ValueParser>;

export const parseValue = (kind: Kind, text: string, context: Context): Inverted | undefined =>
  PARSERS[kind](text, context);
