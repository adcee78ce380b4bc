/** What FirewallSNAT and FirewallDNAT share: both are `redirect`s, whose options differ. */
import type { UciSection, UciValue } from '../../uci/model.ts';
import { ignored, macs, markMatch, negatableNetwork, negatablePort, protocols } from '../fields.ts';
import { family, zoneName } from './firewall.ts';
import { oneMac, oneNetwork, onePort, oneProtocol, oneZone, protocolOf } from '../icn.ts';
import type { RenderContext } from '../kind.ts';
import { label, section, several } from '../render.ts';

/** Fields that mean the same to both. */
export const redirectFields = () => ({
  name: ignored(),
  target: ignored(),
  src_ip: negatableNetwork().describe('Source addresses.'),
  src_port: negatablePort().describe('Source ports; tcp and udp only.'),
  src_mac: macs().describe('Source MAC addresses.'),
  proto: protocols().describe('Protocols. Default: tcp and udp.'),
  mark: markMatch().describe('Mark of the packet.'),
  family: family(),
});

type Redirect = {
  src?: string | undefined;
  dest?: string | undefined;
  src_mac?: string | undefined;
  proto?: string | undefined;
  [option: string]: string | undefined;
};

export const renderRedirect = (
  target: 'SNAT' | 'DNAT',
  { name: _name, target: _target, src, dest, src_mac, proto, ...options }: Redirect,
  { crName, sectionName, uciNameOf }: RenderContext,
): UciSection[] => [
  section('redirect', sectionName, {
    name: label(crName),
    target,
    src: zoneName(src, uciNameOf),
    dest: zoneName(dest, uciNameOf),
    src_mac: several(src_mac),
    proto: several(proto),
    ...options,
  }),
];

export const icnRedirectLimits = {
  src: oneZone,
  dest: oneZone,
  src_ip: oneNetwork,
  src_dip: oneNetwork,
  src_mac: oneMac,
  src_port: onePort,
  src_dport: onePort,
  proto: oneProtocol,
  dest_ip: oneNetwork,
  dest_port: onePort,
};

export const icnRedirect = (
  target: 'SNAT' | 'DNAT',
  { name: _name, target: _target, src, dest, proto, ...options }: Redirect,
  { uciNameOf }: RenderContext,
): Readonly<Record<string, UciValue | undefined>> => ({
  ...options,
  target,
  src: zoneName(src, uciNameOf),
  dest: zoneName(dest, uciNameOf),
  proto: protocolOf(proto),
});
