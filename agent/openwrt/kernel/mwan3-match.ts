/** What a rule of mwan3 matches and where it leads, in one form for UCI, mwan3, iptables. Total. */
import { protocolNumber } from '#shared/trace/protocols.ts';
import * as networks from './networks.ts';

export type Mwan3Match = Readonly<
  Record<'protocol' | 'source' | 'destination' | 'sourcePorts' | 'destinationPorts', string>
> & {
  /** `stickyAs`: by the rule of that name, which remembers the sources. */
  target: { policy: string; stickyAs?: string } | { builtIn: string };
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

export const portsOf = (text: string): string => text.replaceAll(/[ ,]+/g, ',');
