/**
 * CNFNAT: address translation by device instead of zone. Translation of the source is a `nat`
 * section of OpenWRT's firewall, translation of the destination a `redirect` from a zone that is
 * nothing but the device.
 */
import * as z from 'zod';
import {
  absent,
  all,
  any,
  choose,
  given,
  is,
  matches,
  matchesAsText,
  not,
  specRule,
  when,
} from '../conditions.ts';
import type { UciSection } from '../../uci/model.ts';
import { deviceUse, deviceZone, optionalNatDevice } from '../device.ts';
import { count, ignored, negatableNetwork, negatablePort, protocols } from '../fields.ts';
import { portsNeedProtocol } from './firewall.ts';
import { icnResource, oneNetwork, onePort, oneProtocol, protocolOf, inOwnPackage } from '../icn.ts';
import { defineKind } from '../kind.ts';
import { leftOutOfTranslations } from './left-out.ts';
import { newPortCautions, newPortLacks } from './new-port.ts';
import type { RenderContext } from '../kind.ts';
import { label, ruleResource, section, several } from '../render.ts';

const TARGETS = ['SNAT', 'DNAT', 'MASQUERADE'] as const;
/** iptables and fw4 read a device name that ends in `+` as a pattern; alone it is every device. */
const ANY_DEVICE = '+';

const spec = z.strictObject({
  name: ignored(),
  target: z
    .enum(TARGETS, { error: `must be one of ${TARGETS.join(', ')}` })
    .describe(
      'SNAT: src_dip becomes the source; MASQUERADE: the address of the device does; DNAT: dest_ip becomes the destination.',
    ),
  src: optionalNatDevice().describe('DNAT: device by which packets enter. Absent: any.'),
  src_ip: negatableNetwork().describe('Source addresses.'),
  src_port: negatablePort().describe('Source ports; tcp and udp only.'),
  src_dip: negatableNetwork().describe(
    'SNAT: the new source address. DNAT: destination addresses before translation.',
  ),
  src_dport: negatablePort().describe(
    'SNAT: the new source ports. DNAT: destination ports before translation.',
  ),
  dest: optionalNatDevice().describe('SNAT, MASQUERADE: device by which packets leave.'),
  dest_ip: negatableNetwork().describe(
    'SNAT, MASQUERADE: destination addresses. DNAT: the new destination address; absent: the CNF itself.',
  ),
  dest_port: negatablePort().describe(
    'SNAT, MASQUERADE: destination ports. DNAT: the new destination ports.',
  ),
  proto: protocols().describe('Protocols. Default: all.'),
  index: count(0, 65_535).describe(
    "Position in ICN's chain. OpenWRT uses the annotation sdewan.akraino.org/order instead.",
  ),
});
type Spec = z.infer<typeof spec>;

const IS_DNAT = is('target', 'DNAT');
const IS_SNAT = is('target', 'SNAT');
/** The fields take networks and negation, too. */
const oneAddressIn = (field: string) => matches(field, '[^!/]+');
const NOT_NEGATED = '[^!]+';

const isSource = ({ target }: Spec): boolean => target !== 'DNAT';

/** `#source` is the device that has the new source address. */
const selectorOf = (name: string, { src_dip }: Spec): string =>
  name === '#source' ? `#${src_dip ?? ''}` : name;

const deviceOf = (name: string, rule: Spec, context: RenderContext): string =>
  context.deviceOf(selectorOf(name, rule));

const inZone = (rule: Spec, context: RenderContext) =>
  deviceZone(rule.src === undefined ? ANY_DEVICE : deviceOf(rule.src, rule, context));

const sourceSection = (rule: Spec, context: RenderContext): UciSection => {
  const { target, src_ip, src_port, src_dip, src_dport, dest, dest_ip, dest_port, proto } = rule;
  return section('nat', context.sectionName, {
    name: label(context.crName),
    target,
    device: dest && deviceOf(dest, rule, context),
    proto: several(proto ?? 'all'),
    src_ip,
    src_port,
    dest_ip,
    dest_port,
    snat_ip: src_dip,
    snat_port: src_dport,
  });
};

const destinationSection = (rule: Spec, context: RenderContext): UciSection => {
  const { target, src_ip, src_port, src_dip, src_dport, dest_ip, dest_port, proto } = rule;
  return section('redirect', context.sectionName, {
    name: label(context.crName),
    target,
    src: inZone(rule, context).zone,
    // Left open, fw4 would look for a zone that has the address, and say so at each reload.
    dest: context.capabilities.firewall === 'fw4' ? '*' : undefined,
    proto: several(proto ?? 'all'),
    src_ip,
    src_port,
    src_dip,
    src_dport,
    dest_ip,
    dest_port,
  });
};

export const cnfNat = defineKind({
  ...ruleResource,
  kind: 'CNFNAT',
  plural: 'cnfnats',
  shortNames: ['cnfn'],
  description: 'Address translation of packets that enter or leave by a device of the CNF.',
  isMadeByCoordinator: true,
  spec,
  specRules: [
    specRule(
      'dest',
      choose(IS_DNAT, absent('dest'), given('dest')),
      'is required for SNAT and MASQUERADE, and cannot be used with DNAT',
    ),
    specRule(
      'src',
      any(absent('src'), all(IS_DNAT, not(is('src', '#source')))),
      'must be a device other than #source, and can be used with DNAT only',
    ),
    specRule(
      'src_dip',
      any(IS_DNAT, choose(IS_SNAT, oneAddressIn('src_dip'), absent('src_dip'))),
      'must be one address for SNAT, where it is required, and cannot be used with MASQUERADE',
    ),
    specRule(
      'dest_ip',
      when(IS_DNAT, choose(given('dest_ip'), oneAddressIn('dest_ip'), given('dest_port'))),
      'must be one address for DNAT; if it is absent, dest_port is required',
    ),
    specRule(
      'src_dport',
      any(absent('src_dport'), IS_DNAT, all(IS_SNAT, matchesAsText('src_dport', NOT_NEGATED))),
      'cannot be negated with SNAT, and cannot be used with MASQUERADE',
    ),
    specRule(
      'dest_port',
      any(not(IS_DNAT), absent('dest_port'), matchesAsText('dest_port', NOT_NEGATED)),
      'cannot be negated with DNAT',
    ),
    portsNeedProtocol(['src_port', 'src_dport', 'dest_port'], 'all'),
  ],
  cautions: (rule) => (isSource(rule) ? [] : newPortCautions('DNAT', rule)),
  devices: (rule) =>
    [...deviceUse('spec.src', rule.src), ...deviceUse('spec.dest', rule.dest)].map((use) => ({
      ...use,
      device: selectorOf(use.device, rule),
    })),
  uci: {
    package: 'firewall',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_nat_',
    leftOut: leftOutOfTranslations,
    lacks: (rule, context) => (isSource(rule) ? [] : newPortLacks('DNAT', rule, context)),
    render: (rule, context) => [
      isSource(rule) ? sourceSection(rule, context) : destinationSection(rule, context),
    ],
    shared: (rule, context) => (isSource(rule) ? [] : [inZone(rule, context).section]),
  },
  icn: icnResource<z.infer<typeof spec>>({
    collection: 'nat/nats',
    ...inOwnPackage,
    limits: {
      src_ip: oneNetwork,
      src_dip: oneNetwork,
      src_port: onePort,
      src_dport: onePort,
      dest_ip: oneNetwork,
      dest_port: onePort,
      proto: (proto) =>
        oneProtocol(proto) ??
        (protocolOf(proto) === 'tcpudp' ? 'takes tcp or udp here, not both' : undefined),
    },
    // Devices by name: what the API makes of #default is wrong while there is no default route, and
    // once it has moved. No index: iptables refuses one behind the end of the chain without a word.
    object: (rule, context) => {
      const { name: _name, index: _index, src, dest, proto, ...options } = rule;
      return {
        ...options,
        src: src && deviceOf(src, rule, context),
        dest: dest && deviceOf(dest, rule, context),
        proto: proto === 'any' || proto === 'all' ? undefined : protocolOf(proto),
      };
    },
  }),
});
