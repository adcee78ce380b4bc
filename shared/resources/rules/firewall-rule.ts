/** FirewallRule: a traffic rule of OpenWRT's firewall between zones. */
import * as z from 'zod';
import { all, any, given, is, not, specRule, when } from '../conditions.ts';
import {
  MAX_ITEMS,
  freeText,
  ignored,
  macs,
  mark,
  markMatch,
  networks,
  optionalReferenceOrAny,
  ports,
  protocols,
} from '../fields.ts';
import { A_ZONE, family, icnAnonymous, portsNeedProtocol, zoneName } from './firewall.ts';
import { icmpTypeItem } from './icmp.ts';
import { icmpOptions, icmpTypes, iptablesArguments, leftOut, negatedProtocol } from './left-out.ts';
import {
  icmpType,
  icnResource,
  oneMac,
  oneNetwork,
  onePort,
  oneProtocol,
  oneZone,
  protocolOf,
} from '../icn.ts';
import { defineKind } from '../kind.ts';
import { label, referenceTo, ruleResource, section, several } from '../render.ts';
import { oneOf } from '../schema.ts';

const spec = z.strictObject({
  name: ignored(),
  src: optionalReferenceOrAny(A_ZONE).describe(
    'Zone from which packets come, * for any. Absent: packets from the CNF itself.',
  ),
  src_ip: networks().describe('Source addresses.'),
  src_mac: macs().describe('Source MAC addresses.'),
  src_port: ports().describe('Source ports; tcp and udp only.'),
  proto: protocols().describe('Protocols. Default: tcp and udp.'),
  icmp_type: z
    .array(icmpTypeItem())
    .max(MAX_ITEMS)
    .optional()
    .describe('ICMP types, by name or as type or type/code.'),
  dest: optionalReferenceOrAny(A_ZONE).describe(
    'Zone to which packets go, * for any. Absent: packets to the CNF itself.',
  ),
  dest_ip: networks().describe('Destination addresses.'),
  dest_port: ports().describe('Destination ports; tcp and udp only.'),
  mark: markMatch().describe('Mark of the packet.'),
  target: oneOf(['ACCEPT', 'REJECT', 'DROP', 'MARK', 'NOTRACK']).describe(
    'What to do with the packet.',
  ),
  set_mark: mark().describe('For target MARK: the mark to set; bits outside its mask are kept.'),
  set_xmark: mark().describe('For target MARK: the mark to set by exclusive or.'),
  family: family(),
  extra: freeText(256).describe('Extra iptables arguments; firewall3 only.'),
});

export const firewallRule = defineKind({
  ...ruleResource,
  kind: 'FirewallRule',
  plural: 'firewallrules',
  singular: 'firewallrule',
  shortNames: ['fwr'],
  description: 'A firewall rule for packets from, to or between zones.',
  spec,
  specRules: [
    specRule(
      'target',
      when(is('target', 'MARK'), any(given('set_mark'), given('set_xmark'))),
      'MARK needs set_mark or set_xmark',
    ),
    specRule(
      'target',
      when(is('target', 'NOTRACK'), all(given('src'), not(is('src', '*')))),
      'NOTRACK needs a zone in src',
    ),
    portsNeedProtocol(['src_port', 'dest_port']),
  ],
  references: ({ src, dest }) => [
    ...referenceTo('FirewallZone', 'spec.src', src),
    ...referenceTo('FirewallZone', 'spec.dest', dest),
  ],
  uci: {
    package: 'firewall',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_rule_',
    icn: icnAnonymous('rule'),
    lacks: (rule, context) => [
      ...iptablesArguments({ extra: rule.extra }, context),
      ...negatedProtocol(rule, context),
      ...icmpTypes(rule, context),
      ...(rule.target === 'NOTRACK' && rule.dest !== undefined
        ? [leftOut('dest', "OpenWRT's firewall does not look at it for target NOTRACK")]
        : []),
    ],
    render: (
      { name: _name, src, src_ip, src_mac, src_port, proto, dest, dest_ip, dest_port, ...options },
      context,
    ) => [
      section('rule', context.sectionName, {
        name: label(context.crName),
        src: zoneName(src, context.uciNameOf),
        src_ip: several(src_ip),
        src_mac: several(src_mac),
        src_port: several(src_port),
        proto: several(proto),
        dest: zoneName(dest, context.uciNameOf),
        dest_ip: several(dest_ip),
        dest_port: several(dest_port),
        ...options,
        ...icmpOptions({ ...options, proto, src_ip, dest_ip }, context),
      }),
    ],
  },
  icn: icnResource<z.infer<typeof spec>>({
    collection: 'firewall/rules',
    limits: {
      src: oneZone,
      dest: oneZone,
      src_ip: oneNetwork,
      dest_ip: oneNetwork,
      src_mac: oneMac,
      src_port: onePort,
      dest_port: onePort,
      proto: oneProtocol,
      icmp_type: icmpType,
    },
    object: ({ name: _name, src, dest, proto, ...options }, { uciNameOf }) => ({
      ...options,
      src: zoneName(src, uciNameOf),
      dest: zoneName(dest, uciNameOf),
      proto: protocolOf(proto),
    }),
  }),
});
