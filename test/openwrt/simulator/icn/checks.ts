/** ICN's validators, as lax as they are. */
import type { Json } from '../json.ts';
import { asText, type Check, type Context, type Field } from './fields.ts';

const passes =
  (good: (value: string) => boolean): Check =>
  (value) =>
    (typeof value === 'string' && good(value)) || '';

export const oneOf = (...allowed: readonly string[]): Check =>
  passes((value) => allowed.includes(value));

/** Lua's tonumber: hex passes; NaN for what is no number. */
export const luaNumber = (value: string): number =>
  /^(?:0x[0-9a-f]+|-?\d+(?:\.\d+)?)$/i.test(value) ? Number(value) : Number.NaN;

/** A text (never a JSON number) that holds a whole number above 0, without an upper bound. */
export const positive: Check = passes((value) => {
  const number = luaNumber(value);
  return Number.isInteger(number) && number > 0;
});

export const isAddress = (value: string): boolean => {
  const parts = value.split('.').filter((part) => part !== '');
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
};

const isNetwork = (value: string): boolean => {
  const [address = '', mask, ...rest] = value.split('/');
  if (mask === undefined) return isAddress(address);
  const bits = luaNumber(mask);
  return (
    isAddress(address) && rest.length === 0 && Number.isInteger(bits) && bits >= 0 && bits <= 32
  );
};

export const address: Check = passes(isAddress);
export const network: Check = passes(isNetwork);
export const negatableNetwork: Check = passes((value) => isNetwork(value.replace(/^!/, '')));
export const mac: Check = passes((value) => /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i.test(value));
export const flag: Check = oneOf('0', '1');

export const PROTOCOLS = 'tcp udp tcpudp udplite icmp esp ah sctp all'.split(' ');
export const protocol: Check = oneOf(...PROTOCOLS);

/** `what` as the message names it; `nil` is what a text in place of a list comes to. */
export const definedBy =
  (
    what: string,
    exists: (name: string, context: Context) => boolean,
    nil: () => true | string = () => true,
  ): Check =>
  (value: Json | undefined, context) => {
    if (value === undefined) return nil();
    return (
      (typeof value === 'string' && exists(value, context)) ||
      `${what}[${asText(value)}] is not definied`
    );
  };

/** A field whose message is `invalid <name>`, as most are. */
export const plain = (name: string, check?: Check): Field =>
  check ? { name, check, message: `invalid ${name}` } : { name };

const ICMP_TYPES = [
  'any ping pong redirect address-mask-reply communication-prohibited fragmentation-needed',
  'ip-header-bad parameter-problem precedence-cutoff required-option-missing time-exceeded',
  'destination-unreachable port-unreachable protocol-unreachable echo-reply echo-request',
  'host-precedence-violation host-prohibited host-redirect host-unknown host-unreachable',
  'network-prohibited network-redirect network-unknown network-unreachable',
  'router-advertisement router-solicitation source-quench source-route-failed',
  'timestamp-reply timestamp-request TOS-host-redirect TOS-host-unreachable',
  'TOS-network-redirect TOS-network-unreachable',
  'ttl-exceeded ttl-zero-during-reassembly ttl-zero-during-transit',
].flatMap((line) => line.split(' '));

/** In the firewall API `address-mask-request` passes only with a trailing blank. */
export const icmpTypes = (addressMaskRequest: string): Check =>
  oneOf(...ICMP_TYPES, addressMaskRequest);
