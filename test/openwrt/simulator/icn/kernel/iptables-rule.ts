/**
 * One rule of iptables: from its words on the command line to the text that `iptables -S` prints,
 * or nothing when it refuses.
 */
import { formatAddress, networkOf, parseAddress, parsePrefix } from './addresses.ts';

const WITH_PORTS = new Set(['tcp', 'udp', 'sctp']);
const KNOWN_PROTOCOLS = new Set([...WITH_PORTS, 'udplite', 'icmp', 'esp', 'ah']);
const ICMP_NUMBERS: Readonly<Record<string, string>> = { 'echo-request': '8', 'echo-reply': '0' };

type Place = { table: string; chain: string };

/** Undefined when iptables refuses. */
export const canonicalRule = (place: Place, words: readonly string[]): string | undefined => {
  const options = optionsOf(words);
  if (!options) return undefined;
  const protocol = options.get('-p') === 'all' ? undefined : options.get('-p');
  if (protocol !== undefined && !KNOWN_PROTOCOLS.has(protocol)) return undefined;
  const parts = [
    address(options, '-s'),
    address(options, '-d'),
    word(options, '-i'),
    word(options, '-o'),
    protocol === undefined ? '' : `-p ${protocol}`,
    transport(options, protocol),
    prefixed('-m mac ', word(options, '--mac-source')),
    prefixed('-m mark ', word(options, '--mark')),
    prefixed('-m comment ', word(options, '--comment')),
    target(place, options, protocol),
  ];
  return parts.includes(undefined) ? undefined : parts.filter((part) => part !== '').join(' ');
};

type Options = ReadonlyMap<string, string>;

/** `#` begins a comment of the shell. */
const optionsOf = (words: readonly string[]): Options | undefined => {
  const comment = words.findIndex((word) => word.startsWith('#'));
  const kept = comment < 0 ? words : words.slice(0, comment);
  const options = new Map<string, string>();
  for (let index = 0; index < kept.length; index += 2) {
    const [name = '', value] = kept.slice(index, index + 2);
    if (value === undefined) return undefined;
    if (name !== '-m') options.set(name, value);
  }
  return options;
};

const word = (options: Options, name: string): string => {
  const value = options.get(name);
  return value === undefined ? '' : `${name} ${value}`;
};

const prefixed = (prefix: string, text: string): string => (text === '' ? '' : prefix + text);

const address = (options: Options, name: string): string | undefined => {
  const value = options.get(name);
  if (value === undefined) return '';
  const prefix = parsePrefix(value);
  if (!prefix) return undefined;
  const network = networkOf(prefix);
  return `${name} ${formatAddress(network.address)}/${network.bits}`;
};

const transport = (options: Options, protocol: string | undefined): string | undefined => {
  if (protocol === 'icmp') {
    const type = options.get('--icmp-type');
    return type === undefined ? '' : `-m icmp --icmp-type ${ICMP_NUMBERS[type] ?? type}`;
  }
  const ports = ['--sport', '--dport'].filter((name) => options.has(name));
  if (ports.length === 0) return '';
  if (!WITH_PORTS.has(protocol ?? '')) return undefined;
  const numbers = ports.map((name) => Number(options.get(name)));
  if (numbers.some((number) => !(number >= 0 && number <= 65_535))) return undefined;
  return `-m ${protocol} ${ports.map((name, index) => `${name} ${numbers[index]}`).join(' ')}`;
};

const isOutOfPlace = (target: string, { table, chain }: Place): boolean =>
  (target === 'NOTRACK' && table !== 'raw') || (target === 'MASQUERADE' && chain !== 'POSTROUTING');

const target = (
  place: Place,
  options: Options,
  protocol: string | undefined,
): string | undefined => {
  const name = options.get('-j') ?? '';
  if (isOutOfPlace(name, place)) return undefined;
  if (name === 'REJECT') return '-j REJECT --reject-with icmp-port-unreachable';
  if (name === 'MARK') return `-j MARK --set-xmark ${mark(options)}`;
  const hasPorts = WITH_PORTS.has(protocol ?? '');
  if (name === 'REDIRECT')
    return hasPorts ? `-j REDIRECT --to-ports ${options.get('--to-port')}` : undefined;
  const to = TRANSLATIONS[name];
  return to === undefined
    ? `-j ${name}`
    : translation(`-j ${name} ${to}`, options.get(to) ?? '', hasPorts);
};

/** An address without a mask, and a port only beside a protocol that has them. */
const translation = (start: string, value: string, hasPorts: boolean): string | undefined => {
  const [host = '', port] = value.split(':');
  if (parseAddress(host) === undefined || (port !== undefined && !hasPorts)) return undefined;
  return `${start} ${value}`;
};

const TRANSLATIONS: Readonly<Record<string, string>> = {
  SNAT: '--to-source',
  DNAT: '--to-destination',
};

const mark = (options: Options): string => {
  const value = options.get('--set-xmark') ?? options.get('--set-mark') ?? '';
  return value.includes('/') ? value : `${value}/0xffffffff`;
};
