/** The packet and the ends of its way, as the command line says them. */
import * as z from 'zod';
import { familyOf, numberOf } from '#shared/util/addresses.ts';
import { ICMP, type Packet } from '#shared/trace/packet.ts';
import { icmpTypes, protocolNumber, PROTOCOLS } from '#shared/trace/protocols.ts';
import * as values from '#shared/trace/values.ts';
import { UsageError } from './usage-error.ts';

const NEEDED = 'specify --src and --dst, or --from and --to';
const optionsSchema = z.object({
  src: z.string({ error: NEEDED }),
  dst: z.string({ error: NEEDED }),
  proto: z.string(),
  sport: z.string().optional(),
  dport: z.string().optional(),
  icmpType: z.string(),
  mac: z.string().optional(),
  mark: z.string().optional(),
  dscp: z.string(),
});

const WITH_PORTS: ReadonlySet<number> = new Set([6, 17]);

/** @throws UsageError */
export const packetIn = (given: unknown): Omit<Packet, 'in'> => {
  const { data: options, error } = optionsSchema.safeParse(given);
  if (!options) throw new UsageError(error.issues[0]?.message ?? NEEDED);
  const source = addressIn('--src', options.src);
  const destination = addressIn('--dst', options.dst);
  if (source.family !== destination.family)
    throw new UsageError('--src and --dst must be addresses of one version of IP');
  const { family } = source;
  const protocol = protocolIn(options.proto, family);
  const ports = WITH_PORTS.has(protocol);
  if (!ports && (options.sport ?? options.dport) !== undefined)
    throw new UsageError(`--sport, --dport: ${options.proto} has no ports`);
  return {
    family,
    source: source.number,
    destination: destination.number,
    protocol,
    sourcePort: portIn('--sport', options.sport),
    destinationPort: portIn('--dport', options.dport),
    icmp: protocol === ICMP[family] ? icmpIn(options.icmpType, family) : undefined,
    mac: read('--mac', options.mac, values.mac)?.mac,
    mark: read('--mark', options.mark, values.mark)?.value,
    dscp: read('--dscp', options.dscp, values.dscp)?.value,
  };
};

const addressIn = (option: string, text: string): { family: 4 | 6; number: bigint } => {
  const family = familyOf(text);
  if (!family) throw new UsageError(`${option} ${text}: must be an IPv4 or IPv6 address`);
  return { family, number: numberOf(text) };
};

const protocolIn = (text: string, family: 4 | 6): number => {
  const name = text.toLowerCase();
  const number = name === 'icmp' || name === 'icmpv6' ? ICMP[family] : protocolNumber(name);
  if (number === undefined || number > 255)
    throw new UsageError(
      `--proto ${text}: must be a number or one of ${Object.keys(PROTOCOLS).join(', ')}`,
    );
  return number;
};

const portIn = (option: string, text: string | undefined): number | undefined => {
  const port = read(option, text, values.port);
  if (port && (port.negated || port.low !== port.high))
    throw new UsageError(`${option} ${text}: must be one port`);
  return port?.low;
};

const icmpIn = (text: string, family: 4 | 6): { type: number; code: number } => {
  const one = icmpTypes(text)?.[family];
  if (!one) throw new UsageError(`--icmp-type ${text}: is no type of ICMP in IPv${family}`);
  return { type: one.type, code: one.code ?? 0 };
};

const read = <T>(
  option: string,
  text: string | undefined,
  reader: (text: string) => T | undefined,
): T | undefined => {
  if (text === undefined) return undefined;
  const value = reader(text);
  if (value === undefined) throw new UsageError(`${option}: '${text}' cannot be read`);
  return value;
};
