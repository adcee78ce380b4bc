/**
 * What firewall4 adds to a DNAT of a zone that masquerades: packets of the zone behind it that go
 * to the outer address are translated as well, and get a source to which the answer comes back the
 * same way.
 */
import { byFamily, has, isEmpty, type ByFamily, type Signed } from './addresses.ts';
import type { Building } from './building.ts';
import { isIn, prefixRange, sizeOf } from './prefixes.ts';
import { hasPorts, hostIn, translationRules, type Asked } from './translation.ts';
import type { AddressMatch, Family, PortRange, Zone } from './types.ts';

export type Reflected = {
  asked: Asked;
  to: ByFamily;
  toPorts: PortRange | undefined;
  protocol: string | undefined;
  /** From which the DNAT takes packets. */
  outer: Zone;
  /** Zones whose packets are reflected. */
  inner: readonly Zone[];
  source: 'internal' | 'external';
};

export const addReflections = (one: Reflected, firewall: Building): void => {
  for (const zone of one.inner)
    for (const family of [4, 6] as const)
      if (one.outer[family === 4 ? 'masq' : 'masq6'] && has(one.to, family))
        addReflection(one, { zone, family, firewall });
};

const addReflection = (
  { asked, to, toPorts, protocol, outer, source }: Reflected,
  { zone, family, firewall }: { zone: Zone; family: Family; firewall: Building },
): void => {
  const inside = signed(zone.related);
  const outside = isEmpty(asked.destinations)
    ? signed(outer.related.map(hostOf))
    : asked.destinations;
  const first = hostIn(to[family]);
  const address =
    (source === 'internal' && sameNetwork(zone.related, to[family][0])) ||
    (source === 'internal' ? inside : outside)[family][0];
  if (!address || !first || inside[family].length === 0 || outside[family].length === 0) return;
  const ports = hasPorts(protocol) ? toPorts : undefined;
  firewall.add(
    `dstnat_${zone.name}`,
    ...translationRules(
      { ...asked, sources: inside, destinations: outside },
      { family, protocol, action: { do: 'dnat', to: first, ports, ofDevice: false } },
    ),
  );
  const behind: Asked = {
    ...asked,
    sources: inside,
    destinations: to,
    sourcePorts: [],
    destinationPorts: ports ? [{ ...ports, negated: false }] : [],
  };
  const { low } = hostOf(address).range;
  const action = { do: 'snat', to: { low, high: low }, ports: undefined, ofDevice: false } as const;
  firewall.add(`srcnat_${zone.name}`, ...translationRules(behind, { family, protocol, action }));
};

const signed = (addresses: readonly AddressMatch[]): ByFamily =>
  byFamily([{ negated: false, addresses }]);

/** The address itself, without its network. */
const hostOf = ({ family, range, prefix }: AddressMatch): AddressMatch => {
  const address = prefix?.address ?? range.low;
  const bits = sizeOf(family);
  return { family, range: { low: address, high: address }, prefix: { family, address, bits } };
};

/** The first address of the zone in whose network the new destination is. */
const sameNetwork = (
  related: readonly AddressMatch[],
  destination: Signed | undefined,
): AddressMatch | undefined =>
  destination &&
  related.find(
    ({ family, prefix }) =>
      prefix &&
      family === destination.family &&
      isIn(destination.prefix?.address ?? destination.range.low, prefixRange(prefix)),
  );
