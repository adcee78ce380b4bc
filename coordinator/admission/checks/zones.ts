/** Two zones on one network: OpenWRT's firewall allows it, and gives each packet to the zone that comes first. */
import { isKept } from '../../memory/kept-rule.ts';
import { networksOfZone, zoneOn } from '../ties.ts';
import type { Check } from './check.ts';

export const networkHasOneZone: Check = (change, { rules }) => {
  const { after, kind, name, specChanged } = change;
  if (after === undefined || !specChanged) return undefined;
  const others = rules.filter(
    (rule) =>
      rule.kind === kind.kind &&
      rule.metadata.name !== name &&
      rule.metadata.deletionTimestamp === undefined,
  );
  const networks = networksOfZone(after);
  for (const [index, network] of networks.entries()) {
    const tie = zoneOn(change, network);
    const other = others.find((rule) =>
      isKept(rule) ? rule.ties.includes(tie) : networksOfZone(rule).includes(network),
    );
    if (other)
      return {
        reason: 'Caution',
        message: `spec.network[${index}]: ${network} is in ${other.kind} ${other.metadata.name} as well; the firewall puts each packet into the zone that comes first`,
      };
  }
  return undefined;
};
