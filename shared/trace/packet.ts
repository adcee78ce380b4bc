/** The packet of which a trace asks, and what becomes of it on its way. */
import type { Family, PortRange, Range } from './types.ts';

/** The first one of its connection. Undefined is what the asker has not said. */
export type Packet = {
  /** Device by which it comes in; undefined: the CNF sends it itself. */
  in: string | undefined;
  family: Family;
  source: bigint;
  destination: bigint;
  protocol: number;
  sourcePort?: number | undefined;
  destinationPort?: number | undefined;
  icmp?: { type: number; code: number } | undefined;
  mac?: string | undefined;
  mark?: number | undefined;
  dscp?: number | undefined;
};

/** `from`: bits that are known, by the caller or a rule. */
export type Mark = { value: number; known: number };

/** On its way; more than one address or port where the kernel chooses one. */
export type Travelling = {
  readonly packet: Packet;
  in: string | undefined;
  out: string | undefined;
  source: Range | undefined;
  destination: Range;
  sourcePort: PortRange | undefined;
  destinationPort: PortRange | undefined;
  mark: Mark;
  dscp: number | undefined;
  isTranslated: boolean;
  /** Only what is new to connection tracking is translated. */
  state: State;
};

export type State = 'new' | 'untracked' | 'invalid';

const ALL_BITS = 0xffff_ffff;

export const setOut = (packet: Packet): Travelling => ({
  packet,
  in: packet.in,
  out: undefined,
  source: { low: packet.source, high: packet.source },
  destination: { low: packet.destination, high: packet.destination },
  sourcePort: onePort(packet.sourcePort),
  destinationPort: onePort(packet.destinationPort),
  mark:
    packet.mark === undefined ? { value: 0, known: 0 } : { value: packet.mark, known: ALL_BITS },
  dscp: packet.dscp,
  isTranslated: false,
  state: stateOf(packet),
});

/** Its protocol in each version of IP. */
export const ICMP = { 4: 1, 6: 58 } as const;
/** Types of questions: all others belong to a connection that there is, or to none. */
const QUESTIONS: Readonly<Record<number, ReadonlySet<number>>> = {
  [ICMP[4]]: new Set([8, 13, 15, 17]),
  [ICMP[6]]: new Set([128, 139]),
};
/** Neighbours and multicast listeners, which connection tracking leaves alone. */
const UNTRACKED = new Set([130, 131, 132, 133, 134, 135, 136, 137, 143]);

const stateOf = ({ protocol, icmp }: Packet): State => {
  if (!icmp || QUESTIONS[protocol]?.has(icmp.type) !== false) return 'new';
  return protocol === ICMP[6] && UNTRACKED.has(icmp.type) ? 'untracked' : 'invalid';
};

const onePort = (port: number | undefined): PortRange | undefined =>
  port === undefined ? undefined : { low: port, high: port };

/** As the kernel does it: the bits of the mask are cleared, those of the value are turned over. */
export const marked = (
  { value: before, known }: Mark,
  { mask, value }: { mask: number; value: number },
): Mark => ({
  value: ((before & ~mask) ^ value) >>> 0,
  known: (known | mask) >>> 0,
});
