/**
 * A DNS server over UDP that answers what a test gives it: A and AAAA records, no such name, or no
 * answer that helps.
 */
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import * as z from 'zod';

/** By name; those that are not there do not exist. */
type Zone = Readonly<Record<string, readonly string[]>> | 'SERVFAIL';

export type DnsServer = {
  /** `127.0.0.1:port` */
  address: string;
  /** For one family, or all, SERVFAIL is answered. */
  set: (zone: Zone, options?: { failing?: 4 | 6 }) => void;
  close: () => void;
};

const TTL_SECONDS = 1;
const [A, AAAA, SERVFAIL, NXDOMAIN, HEADER_BYTES] = [1, 28, 2, 3, 12];

export const startDnsServer = async (): Promise<DnsServer> => {
  let zone: Zone = {};
  let failing: 4 | 6 | undefined;
  const socket = createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    socket.send(answerTo(query, { zone, failing }), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = z.object({ port: z.number() }).parse(socket.address());
  return {
    address: `127.0.0.1:${port}`,
    set: (next, options = {}) => {
      zone = next;
      ({ failing } = options);
    },
    close: () => void socket.close(),
  };
};

const answerTo = (
  query: Buffer,
  { zone, failing }: { zone: Zone; failing: 4 | 6 | undefined },
): Buffer => {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  const question = query.subarray(HEADER_BYTES, at + 5);
  const isFailing = zone === 'SERVFAIL' || type === { 4: A, 6: AAAA, none: 0 }[failing ?? 'none'];
  const known = zone === 'SERVFAIL' ? [] : zone[labels.join('.').toLowerCase()];
  const wanted = (known ?? []).filter((one) => !isFailing && (isIPv6(one) ? AAAA : A) === type);
  const records = wanted.map(record);
  const code = isFailing ? SERVFAIL : known === undefined ? NXDOMAIN : 0;
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 + code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question, ...records]);
};

const record = (address: string): Buffer => {
  const data = isIPv6(address) ? bytesOfV6(address) : Buffer.from(address.split('.').map(Number));
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt16BE(0xc00c, 0); // the name of the question
  head.writeUInt16BE(isIPv6(address) ? AAAA : A, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(TTL_SECONDS, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
};

const bytesOfV6 = (address: string): Buffer => {
  const [front = '', back = ''] = address.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const zeros = 8 - groups(front).length - groups(back).length;
  const all = [...groups(front), ...Array.from({ length: zeros }, () => '0'), ...groups(back)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
};
