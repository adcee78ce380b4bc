/** Rules of the kernel's NAT, whichever section they come from. */
import type { UciSection } from '../uci/model.ts';
import { alternatives, type ByFamily, type Signed } from './addresses.ts';
import type { FamilyOrBoth } from './building.ts';
import {
  comparedByNft,
  familyCondition,
  portConditions,
  protocolCondition,
  type Ports,
} from './matching.ts';
import type { Action, ChainRule, Condition, Family, PortRange, Range } from './types.ts';

/** What a section asks of packets before it translates them; `names`: its options for that. */
export type Asked = {
  section: UciSection;
  sources: ByFamily;
  destinations: ByFamily;
  sourcePorts: Ports;
  destinationPorts: Ports;
  /** Conditions that all of its rules have. */
  last: readonly Condition[];
  names: { destination: string; destinationPort: string };
};

export const hasPorts = (protocol: string | undefined): boolean =>
  protocol === 'tcp' || protocol === 'udp';

/** Rules of one protocol in one version of IP; `family` is 0 only where no address is asked for. */
export const translationRules = (
  asked: Asked,
  {
    family,
    protocol,
    action,
  }: { family: FamilyOrBoth; protocol: string | undefined; action: Action },
): ChainRule[] => {
  const { section, names, last } = asked;
  const ports = hasPorts(protocol)
    ? [
        ...portConditions(asked.sourcePorts, 'sourcePort', 'src_port'),
        ...portConditions(asked.destinationPorts, 'destinationPort', names.destinationPort),
      ]
    : [];
  const addresses = family === 4 || family === 6 ? addressConditions(asked, family) : [[]];
  return addresses.map((conditions) => ({
    origin: { of: 'section', section },
    conditions: comparedByNft([
      ...familyCondition(family),
      // "icmp" of both versions of IP is that of IPv4 here.
      ...protocolCondition(protocol, family || 4),
      ...conditions,
      ...ports,
      ...last,
    ]),
    action,
  }));
};

const addressConditions = (
  { sources, destinations, names }: Asked,
  family: Family,
): readonly (readonly Condition[])[] =>
  alternatives(sources[family], { on: 'source', option: 'src_ip', family }).flatMap((from) =>
    alternatives(destinations[family], {
      on: 'destination',
      option: names.destination,
      family,
    }).map((to) => [...from, ...to]),
  );

/** firewall4 takes the first; of a network its own address, which is no host's. */
export const hostIn = (addresses: readonly Signed[]): Range | undefined => {
  const [first] = addresses;
  return first && (first.prefix ? { low: first.range.low, high: first.range.low } : first.range);
};

export const portsOf = (ports: Ports): PortRange | undefined => {
  const [one] = ports;
  return one && { low: one.low, high: one.high };
};
