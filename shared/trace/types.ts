/**
 * What a trace works on. A `Firewall` is what firewall4 makes of its configuration: chains of rules
 * in the order in which the kernel asks them, each with the section that it comes from. Pure data.
 */
import type { UciSection } from '../uci/model.ts';

export type Family = 4 | 6;

/** Both ends belong to it. */
export type Range = { low: bigint; high: bigint };
export type PortRange = { low: number; high: number };

/** An address with the length of its network's prefix. */
export type Prefix = { family: Family; address: bigint; bits: number };

export type NetworkState = {
  /** Undefined while it is down. */
  device: string | undefined;
  addresses: readonly Prefix[];
};

export type Route = { to: Prefix; device: string; metric: number };

/** What a trace needs to know of the CNF beyond its firewall. */
export type Surroundings = {
  /** By the name that OpenWRT's configuration has for it. */
  networks: ReadonlyMap<string, NetworkState>;
  /** Undefined: not known, so where a packet leaves is not known either. */
  routes: readonly Route[] | undefined;
  /** Interfaces between which mwan3 chooses; none where it is not configured. */
  wans: readonly string[];
  /** The rules by which it chooses; undefined where they are not known. */
  uplinks?: Uplinks;
};

/** `members`: by policy, the interfaces that it may use. */
export type Uplinks = Pick<Firewall, 'chains'> & {
  members: ReadonlyMap<string, readonly string[]>;
};

/** What a rule asks of a packet; `option` is the one of the section that says so. */
export type Condition = { option: string } & (
  | { on: 'family'; is: Family }
  | { on: 'protocol'; in: readonly number[] }
  /** `names`: a `*` at the end stands for anything. */
  | { on: 'in' | 'out'; names: readonly string[]; negated: boolean }
  | {
      on: 'source' | 'destination';
      family: Family;
      ranges: readonly Range[];
      negated: boolean;
    }
  /** Addresses under a mask with gaps. */
  | {
      on: 'source' | 'destination';
      family: Family;
      mask: bigint;
      value: bigint;
      negated: boolean;
    }
  | { on: 'sourcePort' | 'destinationPort'; ranges: readonly PortRange[]; negated: boolean }
  /** Not both of them: what nft makes of one port less on each side. */
  | { on: 'ports'; source: number; destination: number }
  | { on: 'mac'; macs: readonly string[]; negated: boolean }
  | { on: 'icmp'; types: readonly { type: number; code: number | undefined }[] }
  | { on: 'mark'; mask: number; value: number; negated: boolean }
  | { on: 'dscp'; value: number; negated: boolean }
  /** The packet's destination has been translated. */
  | { on: 'dnat' }
  /** It can begin no connection. */
  | { on: 'invalid' }
  /** What cannot be told beforehand, in words that follow an "if". */
  | { on: 'unknown'; words: string }
);

export type Verdict = 'accept' | 'reject' | 'drop';

export type Action =
  | { do: Verdict }
  | { do: 'jump'; chain: string }
  /** `to` undefined: the address stays, or is that of the device (`ofDevice`). */
  | { do: 'dnat' | 'snat'; to: Range | undefined; ports: PortRange | undefined; ofDevice: boolean }
  /** In a chain of NAT: nothing is translated. */
  | { do: 'leave' }
  | { do: 'mark'; mask: number; value: number }
  | { do: 'dscp'; value: number }
  | { do: 'notrack' }
  | { do: 'continue' }
  /** Back to the chain that has led here. */
  | { do: 'return' }
  /** In words: what decides, and why it is not known how. */
  | { do: 'unknown'; words: string };

/**
 * Whom a rule of the kernel comes from. `zone`: what its option says; `default`: what one of the
 * section `defaults` says; `inner`: what firewall4 has by itself. `entry` leads into the chain of a
 * zone; `passage` does what the rule that led to it has decided.
 */
export type Origin =
  | { of: 'section'; section: UciSection }
  | { of: 'zone'; section: UciSection; zone: string; option: string }
  | { of: 'entry'; section: UciSection; zone: string }
  | { of: 'passage' }
  | { of: 'default'; option: 'input' | 'output' | 'forward' }
  | { of: 'inner'; name: string; words: string };

export type ChainRule = {
  origin: Origin;
  conditions: readonly Condition[];
  action: Action;
};

export type Zone = {
  section: UciSection;
  name: string;
  family: Family | 0 | undefined;
  /** Alternatives: one of them must fit. */
  matches: readonly ZoneMatch[];
  input: Verdict;
  output: Verdict;
  forward: Verdict;
  masq: boolean;
  masq6: boolean;
  masquerades: readonly ChainRule[];
  masqAllowsInvalid: boolean;
  log: number;
  /** Names of devices that are not negated. */
  devices: readonly string[];
  /** Addresses of its networks and its option `subnet`. */
  related: readonly AddressMatch[];
};

/** One address, network, range of addresses, or network under a mask with gaps. */
export type AddressMatch = { family: Family; range: Range; mask?: bigint; prefix?: Prefix };

/** `side`: packets come in by it, or go out by it. */
export type ZoneMatch = (side: 'in' | 'out') => readonly Condition[];

export type Firewall = {
  chains: ReadonlyMap<string, readonly ChainRule[]>;
  zones: readonly Zone[];
  /** Sections that firewall4 leaves out, and why. */
  skipped: readonly { section: UciSection; why: string }[];
  /** Sections with which nft would refuse the whole of the firewall. */
  refused: readonly { section: UciSection; why: string }[];
  /** Scripts and files that the firewall loads as well, and that are not read here. */
  includes: readonly string[];
};
