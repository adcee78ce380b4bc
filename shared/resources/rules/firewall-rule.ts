/** FirewallRule: a traffic rule of OpenWRT's firewall between zones. */
import * as z from 'zod';
import { all, given, is, not, specRule, when } from '../conditions.ts';
import { ignored, optionalReferenceOrAny } from '../fields.ts';
import { A_ZONE, icnAnonymous, portsNeedProtocol, zoneName, zoneReferences } from './firewall.ts';
import {
  destinationFields,
  icnPacketLimits,
  markFields,
  markNeedsValue,
  protocolFields,
  sourceFields,
} from './packet-fields.ts';
import { icmpOptions, leftOut, leftOutOfPackets } from './left-out.ts';
import { icnResource, oneZone, protocolOf } from '../icn.ts';
import { specColumn } from '../columns.ts';
import { defineKind } from '../kind.ts';
import { label, ruleResource, section, several } from '../render.ts';
import { oneOf } from '../schema.ts';

const spec = z.strictObject({
  name: ignored(),
  src: optionalReferenceOrAny(A_ZONE).describe(
    'Zone from which packets come, * for any. Absent: packets from the CNF itself.',
  ),
  ...sourceFields(),
  ...protocolFields('tcp and udp'),
  dest: optionalReferenceOrAny(A_ZONE).describe(
    'Zone to which packets go, * for any. Absent: packets to the CNF itself.',
  ),
  ...destinationFields(),
  target: oneOf(['ACCEPT', 'REJECT', 'DROP', 'MARK', 'NOTRACK']).describe(
    'What to do with the packet.',
  ),
  ...markFields(),
});

/** What selects no packets. */
const OF_ANY_RULE: ReadonlySet<string> = new Set(['name', 'src', 'target', 'family']);

/** Nothing of what comes from its zone reaches the CNF. */
const shutsOut = ({ proto, ...rule }: z.infer<typeof spec>): boolean => {
  const isOfAll = proto === undefined || /^(all|any)$/.test(proto);
  const refuses = rule.target === 'DROP' || rule.target === 'REJECT';
  const given = Object.entries(rule).filter(([, value]) => value !== undefined);
  return (
    refuses && isOfAll && rule.src !== undefined && given.every(([key]) => OF_ANY_RULE.has(key))
  );
};

export const firewallRule = defineKind({
  ...ruleResource,
  kind: 'FirewallRule',
  plural: 'firewallrules',
  shortNames: ['fwr'],
  description: 'A firewall rule for packets from, to or between zones.',
  wideColumns: [
    specColumn('Src', 'src'),
    specColumn('Dest', 'dest'),
    specColumn('Target', 'target'),
  ],
  spec,
  specRules: [
    markNeedsValue,
    specRule(
      'target',
      when(is('target', 'NOTRACK'), all(given('src'), not(is('src', '*')))),
      'NOTRACK needs a zone in src',
    ),
    portsNeedProtocol(['src_port', 'dest_port']),
  ],
  cautions: (rule) => [
    ...(rule.target === 'MARK' && rule.set_mark !== undefined && rule.set_xmark !== undefined
      ? ['spec.set_xmark: firewall4 takes set_mark alone where both are given; remove one of them']
      : []),
    ...(shutsOut(rule)
      ? [
          `spec: ${rule.target} of all packets from ${rule.src === '*' ? 'any zone' : `zone ${rule.src}`} to the CNF itself; name protocols, ports or addresses in the spec if only some are meant`,
        ]
      : []),
  ],
  references: zoneReferences,
  uci: {
    package: 'firewall',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_rule_',
    icn: icnAnonymous('rule'),
    leftOut: (rule, firewall) => [
      ...leftOutOfPackets(rule, firewall),
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
      ...icnPacketLimits,
    },
    object: ({ name: _name, src, dest, proto, ...options }, { uciNameOf }) => ({
      ...options,
      src: zoneName(src, uciNameOf),
      dest: zoneName(dest, uciNameOf),
      proto: protocolOf(proto),
    }),
  }),
});
