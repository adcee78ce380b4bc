/** What FirewallRule and NetworkFirewallRule ask of packets: all but the two ends. */
import { any, given, is, specRule, when } from '../conditions.ts';
import {
  MAX_ITEMS,
  freeText,
  macs,
  mark,
  markMatch,
  networks,
  ports,
  protocols,
} from '../fields.ts';
import { icmpType, oneMac, oneNetwork, onePort, oneProtocol } from '../icn.ts';
import { family } from './firewall.ts';
import { icmpTypeItem } from './icmp.ts';
import * as z from 'zod';

export const sourceFields = () => ({
  src_ip: networks().describe('Source addresses.'),
  src_mac: macs().describe('Source MAC addresses.'),
  src_port: ports().describe('Source ports; tcp and udp only.'),
});

/** `byDefault`: the protocols that are meant where none is given. */
export const protocolFields = (byDefault: string) => ({
  proto: protocols().describe(`Protocols. Default: ${byDefault}.`),
  icmp_type: z
    .array(icmpTypeItem())
    .max(MAX_ITEMS)
    .optional()
    .describe('ICMP types, by name or as type or type/code.'),
});

export const destinationFields = () => ({
  dest_ip: networks().describe('Destination addresses.'),
  dest_port: ports().describe('Destination ports; tcp and udp only.'),
  mark: markMatch().describe('Mark of the packet.'),
});

export const markFields = () => ({
  set_mark: mark().describe('For target MARK: the mark to set; bits outside its mask are kept.'),
  set_xmark: mark().describe('For target MARK: the mark to set by exclusive or.'),
  family: family(),
  extra: freeText(256).describe('Extra iptables arguments; firewall3 only.'),
});

export const markNeedsValue = specRule(
  'target',
  when(is('target', 'MARK'), any(given('set_mark'), given('set_xmark'))),
  'MARK needs set_mark or set_xmark',
);

/** What ICN's REST API takes of them. */
export const icnPacketLimits = {
  src_ip: oneNetwork,
  dest_ip: oneNetwork,
  src_mac: oneMac,
  src_port: onePort,
  dest_port: onePort,
  proto: oneProtocol,
  icmp_type: icmpType,
};
