/** Whether a condition fits a packet: yes, no, or words for what would have to be known. */
import { addressOf } from '../util/addresses.ts';
import { isIn } from './prefixes.ts';
import type { Travelling } from './packet.ts';
import type { Condition, PortRange, Range } from './types.ts';

/** A text follows an "if". */
export type Fit = boolean | string;

type On<K extends Condition['on']> = Extract<Condition, { on: K }>;

type Tests = { [K in Condition['on']]: (condition: On<K>, at: Travelling) => Fit };

export const fits = (condition: Condition, at: Travelling): Fit =>
  test(condition.on, condition, at);

const test = <K extends Condition['on']>(on: K, condition: On<K>, at: Travelling): Fit =>
  TESTS[on](condition, at);

/** A `*` at the end stands for anything. */
export const isNamed = (names: readonly string[], device: string): boolean =>
  names.some((name) =>
    name.endsWith('*') ? device.startsWith(name.slice(0, -1)) : device === name,
  );

const fitsDevice = ({ on, names, negated }: On<'in' | 'out'>, at: Travelling): Fit => {
  const device = on === 'in' ? at.in : at.out;
  // What the CNF sends itself came in by none; what is for the CNF leaves by none.
  return isNamed(names, device ?? '') !== negated;
};

const fitsAddress = (condition: On<'source' | 'destination'>, at: Travelling): Fit => {
  if (condition.family !== at.packet.family) return false;
  const address = condition.on === 'source' ? at.source : at.destination;
  const words = `its ${condition.on} is one that the rule means`;
  if (!address) return words;
  const ends = [address.low, address.high].map((one) => matches(condition, one));
  // A range of addresses is one that the kernel chooses from; networks are seldom cut by it.
  return ends[0] === ends[1] && (address.low === address.high || !isCut(condition, address))
    ? ends[0] === true
    : words;
};

const matches = (condition: On<'source' | 'destination'>, address: bigint): boolean =>
  ('mask' in condition
    ? (address & condition.mask) === condition.value
    : condition.ranges.some((range) => isIn(address, range))) !== condition.negated;

const isCut = (condition: On<'source' | 'destination'>, { low, high }: Range): boolean =>
  'mask' in condition ||
  condition.ranges.some(
    (range) =>
      (isIn(range.low, { low, high }) && range.low !== low) ||
      (isIn(range.high, { low, high }) && range.high !== high),
  );

const WITH_PORTS = new Set([6, 17]);

const fitsPort = (
  { on, ranges, negated }: On<'sourcePort' | 'destinationPort'>,
  at: Travelling,
): Fit => {
  if (!WITH_PORTS.has(at.packet.protocol)) return false;
  const ports = on === 'sourcePort' ? at.sourcePort : at.destinationPort;
  const side = on === 'sourcePort' ? 'source' : 'destination';
  const words = `its ${side} port is ${negated ? 'not ' : ''}in ${ranges.map(portsText).join(', ')}`;
  if (!ports) return words;
  const inside = ranges.some(({ low, high }) => ports.low >= low && ports.high <= high);
  const outside = ranges.every(({ low, high }) => ports.high < low || ports.low > high);
  return inside || outside ? inside !== negated : words;
};

const fitsBothPorts = ({ source, destination }: On<'ports'>, at: Travelling): Fit => {
  if (!WITH_PORTS.has(at.packet.protocol)) return false;
  const isSource = isPort(at.sourcePort, source);
  const isDestination = isPort(at.destinationPort, destination);
  if (isSource === false || isDestination === false) return true;
  return isSource === true && isDestination === true
    ? false
    : `its ports are not ${source} and ${destination}`;
};

/** Undefined: it may be. */
const isPort = (ports: PortRange | undefined, port: number): boolean | undefined => {
  if (!ports || (ports.low <= port && ports.high >= port && ports.low !== ports.high))
    return undefined;
  return ports.low === port && ports.high === port;
};

export const portsText = ({ low, high }: PortRange): string =>
  low === high ? String(low) : `${low}-${high}`;

const fitsIcmp = ({ types }: On<'icmp'>, { packet: { icmp } }: Travelling): Fit => {
  if (!icmp)
    return `its ICMP type is one of ${types.map(({ type, code }) => (code === undefined ? String(type) : `${type}/${code}`)).join(', ')}`;
  return types.some(
    ({ type, code }) => type === icmp.type && (code === undefined || code === icmp.code),
  );
};

const fitsMark = ({ mask, value, negated }: On<'mark'>, { mark }: Travelling): Fit => {
  const decided = mark.known & mask;
  const differs = ((mark.value ^ value) & decided) !== 0 || (value & ~mask) !== 0;
  if (differs) return negated;
  return decided >>> 0 === mask
    ? !negated
    : `its mark is ${negated ? 'not ' : ''}${hex(value)}${mask === 0xffff_ffff ? '' : ` under ${hex(mask)}`}`;
};

const fitsMac = ({ macs, negated }: On<'mac'>, { packet: { mac } }: Travelling): Fit =>
  mac === undefined
    ? `its hardware address is ${negated ? 'none' : 'one'} of ${macs.join(', ')}`
    : macs.includes(mac) !== negated;

const fitsDscp = ({ value, negated }: On<'dscp'>, { dscp }: Travelling): Fit =>
  dscp === undefined
    ? `its DSCP is ${negated ? 'not ' : ''}${value}`
    : (dscp === value) !== negated;

const TESTS: Tests = {
  family: ({ is }, { packet }) => packet.family === is,
  protocol: (condition, { packet }) => condition.in.includes(packet.protocol),
  in: fitsDevice,
  out: fitsDevice,
  source: fitsAddress,
  destination: fitsAddress,
  sourcePort: fitsPort,
  destinationPort: fitsPort,
  ports: fitsBothPorts,
  mac: fitsMac,
  icmp: fitsIcmp,
  mark: fitsMark,
  dscp: fitsDscp,
  dnat: (_, { isTranslated }) => isTranslated,
  invalid: (_, { state }) => state === 'invalid',
  unknown: ({ words }) => words,
};

const hex = (number: number): string => `0x${number.toString(16)}`;

export const addressText = (range: Range, family: 4 | 6): string =>
  range.low === range.high
    ? addressOf(range.low, family)
    : `one of ${addressOf(range.low, family)}-${addressOf(range.high, family)}`;
