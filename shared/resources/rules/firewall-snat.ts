/** FirewallSNAT: a redirect that rewrites the source of packets which leave by a zone. */
import * as z from 'zod';
import { absent, given, specRule } from '../conditions.ts';
import {
  address,
  negatableNetwork,
  negatablePort,
  optionalReference,
  port,
  reference,
} from '../fields.ts';
import {
  icnRedirect,
  icnRedirectLimits,
  redirectFields,
  renderRedirect,
} from './firewall-redirect.ts';
import { A_ZONE, icnAnonymous, portsNeedProtocol, zoneReferences } from './firewall.ts';
import { icnResource } from '../icn.ts';
import { defineKind, type Lack } from '../kind.ts';
import { leftOut, leftOutOfTranslations } from './left-out.ts';
import { newPortCautions, newPortLacks } from './new-port.ts';
import { ruleResource } from '../render.ts';

const spec = z.strictObject({
  ...redirectFields(),
  src: optionalReference(A_ZONE).describe(
    "Zone from which packets come. OpenWRT's firewall does not look at it here: src_ip must say which packets are meant.",
  ),
  src_dip: address().describe('The new source address. Required.'),
  src_dport: port().describe('The new source port or ports.'),
  dest: reference(A_ZONE).describe('Zone by which packets leave.'),
  dest_ip: negatableNetwork().describe('Destination addresses.'),
  dest_port: negatablePort().describe('Destination ports; tcp and udp only.'),
});

const NEEDS_ADDRESSES =
  "OpenWRT's firewall does not look at it here, so src_ip must name the sources, too";

/** Addresses that packets must not have are no names of those that they have. */
const namesSources = (src_ip: string | undefined): boolean =>
  src_ip !== undefined && !src_ip.includes('!');

/**
 * Neither fw4 nor fw3 has a match for it behind routing (measured); with addresses the rule is as
 * narrow as its author could make it.
 */
const sourceZone = ({ src, src_ip }: z.infer<typeof spec>): readonly Lack[] =>
  src === undefined || namesSources(src_ip) ? [] : [leftOut('src', NEEDS_ADDRESSES)];

const zoneCautions = ({ src, src_ip }: z.infer<typeof spec>): readonly string[] =>
  src === undefined
    ? []
    : [
        namesSources(src_ip)
          ? "spec.src: OpenWRT's firewall does not look at it here; packets of src_ip are translated, whichever zone they come from"
          : `spec.src: ${NEEDS_ADDRESSES}; the rule is not written`,
      ];

export const firewallSnat = defineKind({
  ...ruleResource,
  kind: 'FirewallSNAT',
  plural: 'firewallsnats',
  shortNames: ['fwsnat'],
  description: 'Rewrites the source address of packets that leave by a firewall zone.',
  spec,
  specRules: [
    specRule('src_dip', given('src_dip'), 'is required'),
    specRule(
      'src_mac',
      absent('src_mac'),
      'cannot be used with SNAT: packets that leave do not have it any more',
    ),
    portsNeedProtocol(['src_port', 'src_dport', 'dest_port']),
  ],
  references: zoneReferences,
  cautions: (rule) => [...zoneCautions(rule), ...newPortCautions('SNAT', rule)],
  uci: {
    package: 'firewall',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_snat_',
    icn: icnAnonymous('redirect', 'SNAT'),
    leftOut: leftOutOfTranslations,
    lacks: (rule, context) => [...sourceZone(rule), ...newPortLacks('SNAT', rule, context)],
    render: (rule, context) => renderRedirect('SNAT', rule, context),
  },
  icn: icnResource<z.infer<typeof spec>>({
    collection: 'firewall/redirects',
    isKind: ({ options }) => options.target === 'SNAT',
    limits: icnRedirectLimits,
    lacks: sourceZone,
    object: (rule, context) => icnRedirect('SNAT', rule, context),
  }),
});
