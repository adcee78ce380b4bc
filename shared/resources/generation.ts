/** What kinds that make other CRs share: host names and addresses, and what a CR becomes. */
import { isIPv6 } from 'node:net';
import type { TextRule } from './schema.ts';
import { optionalText, text } from './schema.ts';

/** A host whose addresses a CR needs. */
export type Host = { path: string; name: string };

/**
 * By host name: sorted, IPv4 before IPv6; an address is its own. Total: all hosts of the CR are
 * known before it is asked.
 */
export type AddressesOf = (host: string) => readonly string[];

/** A CR of the same namespace and purpose, made and kept by the coordinator. */
export type Child = {
  kind: string;
  /** Its name is that of the parent with this behind it, and a number if there can be several. */
  suffix: string;
  numbered: boolean;
  spec: Readonly<Record<string, string>>;
};

/** What ICN's controller writes to the status, as far as it applies. */
export type IcnStatus = {
  sip?: string;
  port?: string;
  dport?: string;
  localip?: string;
  localport?: string;
  remoteips?: string[];
  remoteport?: string;
  type?: string;
  subnet?: string;
  hubip?: string;
  devicepip?: string;
};

export type Generation<Spec> = {
  /** All kinds that children can have. */
  kinds: readonly string[];
  /** At most a few. */
  hosts: (spec: Spec) => readonly Host[];
  /** Pure. Throws nothing; what cannot be made is a problem for the operator. */
  children: (spec: Spec, addressesOf: AddressesOf) => readonly Child[] | GenerationProblem;
  icnStatus: (spec: Spec, addressesOf: AddressesOf) => IcnStatus;
};

export type GenerationProblem = { path: string; message: string };

const HOST: TextRule = {
  must: 'must be a host name such as api.example.com, or an IP address',
  maxLength: 253,
  pattern: '[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\\.?|[0-9A-Fa-f:.]+',
};
export const host = () => text(HOST);
export const optionalHost = () => optionalText(HOST);

export const ofFamily = (addresses: readonly string[], v6: boolean): string[] =>
  addresses.filter((address) => isIPv6(address) === v6);

/** The part of an address or network that tells its family. */
export const isV6 = (network: string): boolean => isIPv6(network.split('/')[0] ?? '');
