/**
 * Packets as bytes, with a number that the kernel's trace and the receiver tell: the id of IPv4,
 * the flow label of IPv6.
 */
import { addressOf, familyOf, numberOf } from '#shared/util/addresses.ts';
import type { SentPacket } from '../random-firewalls.ts';

const bytesOf = (address: string): Buffer => {
  const size = familyOf(address) === 4 ? 4 : 16;
  return Buffer.from(
    numberOf(address)
      .toString(16)
      .padStart(size * 2, '0'),
    'hex',
  );
};

/** The checksum of the internet: the complement of the sum of all words. */
const checksum = (...parts: readonly Buffer[]): number => {
  const all = Buffer.concat(parts);
  let sum = 0;
  for (let at = 0; at < all.length; at += 2) sum += ((all[at] ?? 0) << 8) + (all[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
};

const TCP = 6;
const UDP = 17;
const ICMP = 1;
const ICMPV6 = 58;

const payload = (packet: SentPacket, number: number): { bytes: Buffer; checksumAt?: number } => {
  const { protocol, sourcePort = 0, destinationPort = 0, icmp = { type: 0, code: 0 } } = packet;
  const head = Buffer.alloc(protocol === TCP ? 20 : 8);
  if (protocol === TCP || protocol === UDP) {
    head.writeUInt16BE(sourcePort, 0);
    head.writeUInt16BE(destinationPort, 2);
    if (protocol === UDP) head.writeUInt16BE(head.length, 4);
    else {
      head.writeUInt8(0x50, 12); // length of the header
      head.writeUInt8(0x02, 13); // SYN
      head.writeUInt16BE(1_024, 14);
    }
    return { bytes: head, checksumAt: protocol === TCP ? 16 : 6 };
  }
  if (protocol === ICMP || protocol === ICMPV6) {
    // The rest is there so that an error has what it is about.
    const bytes = Buffer.concat([head, Buffer.alloc(64)]);
    bytes.writeUInt8(icmp.type, 0);
    bytes.writeUInt8(icmp.code, 1);
    bytes.writeUInt16BE(number, 4);
    return { bytes, checksumAt: 2 };
  }
  head.writeUInt32BE(number, 0);
  return { bytes: head };
};

export const packetBytes = (packet: SentPacket, number: number): Buffer => {
  const { source, destination, protocol, dscp } = packet;
  const { bytes, checksumAt } = payload(packet, number);
  const ends = [bytesOf(source), bytesOf(destination)];
  if (checksumAt !== undefined) {
    const pseudo = Buffer.alloc(8);
    pseudo.writeUInt32BE(bytes.length, 0);
    pseudo.writeUInt32BE(protocol, 4);
    const sum = checksum(...(protocol === ICMP ? [] : [...ends, pseudo]), bytes);
    bytes.writeUInt16BE(sum === 0 && protocol === UDP ? 0xffff : sum, checksumAt);
  }
  return Buffer.concat([header(packet, { number, length: bytes.length, dscp }), ...ends, bytes]);
};

type Head = { number: number; length: number; dscp: number };
const HOPS = 64;

const header = (
  { source, destination, protocol }: SentPacket,
  { number, length, dscp }: Head,
): Buffer => {
  if (familyOf(source) === 6) {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(((6 << 28) | (dscp << 22) | number) >>> 0, 0);
    head.writeUInt16BE(length, 4);
    head.writeUInt8(protocol, 6);
    head.writeUInt8(HOPS, 7);
    return head;
  }
  const head = Buffer.alloc(12);
  head.writeUInt8(0x45, 0);
  head.writeUInt8(dscp << 2, 1);
  head.writeUInt16BE(length + 20, 2);
  head.writeUInt16BE(number, 4);
  head.writeUInt8(HOPS, 8);
  head.writeUInt8(protocol, 9);
  head.writeUInt16BE(checksum(head, bytesOf(source), bytesOf(destination)), 10);
  return head;
};

export const frameOf = (packet: SentPacket, number: number, to: string): Buffer => {
  const type = familyOf(packet.source) === 6 ? '86dd' : '0800';
  const macs = `${to}${packet.mac ?? '02:00:00:00:00:aa'}`.replaceAll(':', '');
  return Buffer.concat([Buffer.from(`${macs}${type}`, 'hex'), packetBytes(packet, number)]);
};

export type Received = {
  number: number;
  source: string;
  destination: string;
  sourcePort?: number;
  destinationPort?: number;
};

const ETHERNET = 14;

/** Undefined for what is neither IPv4 nor IPv6. */
export const received = (frame: Buffer): Received | undefined => {
  const type = frame.readUInt16BE(12);
  const packet = frame.subarray(ETHERNET);
  if (type === 0x0800) {
    const ends = [packet.subarray(12, 16), packet.subarray(16, 20)] as const;
    return {
      number: packet.readUInt16BE(4),
      ...rest(packet.readUInt8(9), 4, ends, packet.subarray(20)),
    };
  }
  if (type !== 0x86dd) return undefined;
  const ends = [packet.subarray(8, 24), packet.subarray(24, 40)] as const;
  return {
    number: packet.readUInt32BE(0) & 0xf_ffff,
    ...rest(packet.readUInt8(6), 6, ends, packet.subarray(40)),
  };
};

const rest = (
  protocol: number,
  family: 4 | 6,
  ends: readonly [Buffer, Buffer],
  behind: Buffer,
): Omit<Received, 'number'> => {
  const [source, destination] = ends.map((end) =>
    addressOf(BigInt(`0x${end.toString('hex')}`), family),
  );
  const hasPorts = (protocol === TCP || protocol === UDP) && behind.length >= 4;
  return {
    source: source ?? '',
    destination: destination ?? '',
    ...(hasPorts && {
      sourcePort: behind.readUInt16BE(0),
      destinationPort: behind.readUInt16BE(2),
    }),
  };
};
