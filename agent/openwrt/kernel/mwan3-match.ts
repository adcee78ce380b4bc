/** What a rule of mwan3 matches and where it leads, in one form for UCI, mwan3, iptables. Total. */
import { protocolNumber } from '#shared/trace/protocols.ts';
import * as networks from './address-forms.ts';

export type Mwan3Match = Readonly<
  Record<'protocol' | 'source' | 'destination' | 'sourcePorts' | 'destinationPorts', string>
> & {
  /** `stickyAs`: by the rule of that name, which remembers the sources. */
  target: { policy: string; stickyAs?: string } | { builtIn: string };
};

/** What a rule matches that asks for nothing. */
export const ANY: Omit<Mwan3Match, 'target'> = {
  protocol: '',
  source: '',
  destination: '',
  sourcePorts: '',
  destinationPorts: '',
};

export const keyOf = ({ target, ...match }: Mwan3Match): string => {
  const { protocol, source, destination, sourcePorts, destinationPorts } = match;
  const to = 'builtIn' in target ? [target.builtIn] : ['policy', target.policy, target.stickyAs];
  return JSON.stringify([protocol, source, destination, sourcePorts, destinationPorts, to]);
};

/** Whether a program prints a name or a number depends on /etc/protocols. */
export const protocolOf = (text: string): string =>
  ['', 'all', '0'].includes(text) ? '' : String(protocolNumber(text) ?? text);

/** '' for all addresses. */
export const networkOf = (text: string): string => {
  const network = networks.networkOf(text) ?? text;
  return network.includes('/0 of ') ? '' : network;
};

/** nft sorts them and joins what touches; without names, the same ports are the same text. */
export const portsOf = (text: string): string => {
  const words = text.split(/[ ,]+/).filter((word) => word !== '');
  const ranges = words.map((word) => word.split(':').map(Number));
  if (ranges.flat().some(Number.isNaN)) return words.join(',');
  const joined: [number, number][] = [];
  for (const [from = 0, to = from] of ranges.toSorted(([a = 0], [b = 0]) => a - b)) {
    const last = joined.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined.map(([from, to]) => (from === to ? from : `${from}:${to}`)).join(',');
};

/**
 * Where a jump to one of mwan3's chains leads. `policyOf`: where that of a sticky rule leads.
 * Undefined: it is the chain of something else.
 */
export const chainTarget = (
  chain: string,
  policyOf: (rule: string) => string | undefined,
): Mwan3Match['target'] | undefined => {
  const [, kind, name = ''] = /^mwan3_(policy|rule)_(\S+)$/.exec(chain) ?? [];
  if (kind === undefined) return undefined;
  return kind === 'policy' ? { policy: name } : { policy: policyOf(name) ?? '', stickyAs: name };
};

/**
 * mwan3 marks by numbers of as many bits as its mask has: the last is `default`, the one before
 * `unreachable`, then `blackhole`.
 */
export const builtInOf = (value: number, mask: number): { builtIn: string } | undefined => {
  const lowest = mask & -mask;
  const rest = mask & ~lowest;
  const missing = (mask & ~value) >>> 0;
  if (Number.isNaN(value + mask)) return undefined;
  if (missing === 0) return { builtIn: 'default' };
  if (missing === lowest >>> 0) return { builtIn: 'unreachable' };
  return missing === (rest & -rest) >>> 0 ? { builtIn: 'blackhole' } : undefined;
};
