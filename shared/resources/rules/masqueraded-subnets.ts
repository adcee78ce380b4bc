/**
 * A zone that masquerades and has subnets of IPv6: what firewall4 writes against packets that leave
 * untranslated then asks for both versions of IP at once, which nft refuses, and with it all rules
 * of the firewall (seen with firewall4's own templates, docs/firewall4.md). It writes that where
 * something accepts packets to the zone, unless option drop_invalid of section `defaults` is set,
 * which is not the rule's. firewall3 takes it.
 */
import type { Lack, RenderContext } from '../kind.ts';

export type MasqueradingZone = {
  masq?: string | undefined;
  masq_allow_invalid?: string | undefined;
  family?: string | undefined;
  subnet?: readonly string[] | undefined;
};

const MESSAGE =
  'firewall4 cannot write a zone that masquerades and has subnets of IPv6, and would take no rule at all; set masq_allow_invalid to 1, or have another zone for it';

/** The path of the first such subnet. */
const problemAt = (zone: MasqueradingZone): string | undefined => {
  const { masq, masq_allow_invalid: letsInvalidOut, family, subnet = [] } = zone;
  if (masq !== '1' || letsInvalidOut === '1' || family === 'ipv4') return undefined;
  const at = subnet.findIndex((one) => one.includes(':'));
  return at === -1 ? undefined : `spec.subnet[${at}]`;
};

export const masqueradedSubnetLacks = (
  zone: MasqueradingZone,
  { capabilities }: Pick<RenderContext, 'capabilities'>,
): readonly Lack[] => {
  const path = capabilities.firewall === 'fw4' ? problemAt(zone) : undefined;
  return path === undefined
    ? []
    : [{ path, reason: 'UnsupportedByDriver', message: `${MESSAGE}; it is not in force` }];
};

export const masqueradedSubnetCautions = (zone: MasqueradingZone): readonly string[] => {
  const path = problemAt(zone);
  return path === undefined ? [] : [`${path}: ${MESSAGE}; with firewall4 the zone is not written`];
};
