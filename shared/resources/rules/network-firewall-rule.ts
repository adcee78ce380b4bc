/**
 * NetworkFirewallRule: a firewall rule between devices instead of zones. OpenWRT's firewall matches
 * one device in a rule by itself; where two or another chain are needed, a zone that is nothing but
 * the device stands in.
 */
import * as z from 'zod';
import { absent, is, specRule, when } from '../conditions.ts';
import { device, deviceUse, deviceZone, optionalDevice } from '../device.ts';
import { ignored } from '../fields.ts';
import { portsNeedProtocol } from './firewall.ts';
import {
  destinationFields,
  icnPacketLimits,
  markFields,
  markNeedsValue,
  protocolFields,
  sourceFields,
} from './packet-fields.ts';
import { icmpOptions, leftOutOfPackets } from './left-out.ts';
import {
  icnResource,
  ipv4Only,
  nothing,
  plainMark,
  protocolOf,
  unsupported,
  inOwnPackage,
} from '../icn.ts';
import { defineKind } from '../kind.ts';
import { label, ruleResource, section, several } from '../render.ts';

const TARGETS = ['ACCEPT', 'REJECT', 'DROP', 'MARK', 'NOTRACK'] as const;

const spec = z.strictObject({
  name: ignored(),
  src: device().describe('Device by which packets enter.'),
  ...sourceFields(),
  ...protocolFields('all'),
  dest: optionalDevice().describe(
    'Device by which packets leave. Absent: packets to the CNF itself.',
  ),
  ...destinationFields(),
  target: z
    .enum(TARGETS, { error: `must be one of ${TARGETS.join(', ')}` })
    .describe('What to do with the packet.'),
  ...markFields(),
});

/** Before routing, where a packet's way out is not known yet. */
const EARLY_TARGETS: readonly string[] = ['MARK', 'NOTRACK'];
const isEarly = (target: (typeof TARGETS)[number]): boolean => EARLY_TARGETS.includes(target);

export const networkFirewallRule = defineKind({
  ...ruleResource,
  kind: 'NetworkFirewallRule',
  plural: 'networkfirewallrules',
  shortNames: ['nfwr'],
  description: 'A firewall rule for packets from one device to another, or to the CNF itself.',
  spec,
  specRules: [
    markNeedsValue,
    specRule(
      'dest',
      when(is('target', ...EARLY_TARGETS), absent('dest')),
      'cannot be used with MARK and NOTRACK, which act before the outgoing device is known',
    ),
    portsNeedProtocol(['src_port', 'dest_port'], 'all'),
  ],
  devices: ({ src, dest }) => [...deviceUse('spec.src', src), ...deviceUse('spec.dest', dest)],
  uci: {
    package: 'firewall',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_net_',
    leftOut: leftOutOfPackets,
    render: (
      {
        name: _name,
        src,
        src_ip,
        src_mac,
        src_port,
        proto = 'all',
        dest,
        dest_ip,
        dest_port,
        ...options
      },
      context,
    ) => {
      const { crName, sectionName, deviceOf } = context;
      const between = isEarly(options.target)
        ? { src: deviceZone(deviceOf(src)).zone, dest: options.target === 'MARK' ? '*' : undefined }
        : {
            src: '*',
            device: deviceOf(src),
            direction: 'in',
            dest: dest && deviceZone(deviceOf(dest)).zone,
          };
      return [
        section('rule', sectionName, {
          name: label(crName),
          ...between,
          src_ip: several(src_ip),
          src_mac: several(src_mac),
          src_port: several(src_port),
          proto: several(proto),
          dest_ip: several(dest_ip),
          dest_port: several(dest_port),
          ...options,
          ...icmpOptions({ ...options, proto, src_ip, dest_ip }, context),
        }),
      ];
    },
    shared: ({ src, dest, target }, { deviceOf }) =>
      [isEarly(target) ? src : dest].flatMap((name) =>
        name === undefined ? [] : [deviceZone(deviceOf(name)).section],
      ),
  },
  icn: icnResource<z.infer<typeof spec>>({
    collection: 'networkfirewall/rules',
    ...inOwnPackage,
    limits: {
      ...icnPacketLimits,
      mark: plainMark,
      target: (target) => (target === 'NOTRACK' ? 'does not apply it' : undefined),
      family: ipv4Only,
      extra: nothing('leaves it out'),
    },
    lacks: ({ proto, icmp_type }) =>
      icmp_type !== undefined && proto !== 'icmp'
        ? [unsupported('spec.icmp_type', 'leaves it out where proto is not icmp')]
        : [],
    // Devices by name: what the API makes of #default is wrong while there is no default route, and
    // once it has moved.
    object: (
      { name: _name, src, dest, proto, icmp_type, family: _family, ...options },
      { deviceOf },
    ) => ({
      ...options,
      src: deviceOf(src),
      dest: dest && deviceOf(dest),
      proto:
        proto === undefined || proto === 'any' || proto === 'all' ? undefined : protocolOf(proto),
      // Without one, the API leaves an object behind that it cannot remove.
      icmp_type: proto === 'icmp' && icmp_type === undefined ? ['any'] : icmp_type,
    }),
  }),
});
