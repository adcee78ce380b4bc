/** FirewallDNAT: a redirect that rewrites the destination of packets which come from a zone. */
import * as z from 'zod';
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
import { defineKind } from '../kind.ts';
import { leftOutOfTranslations } from './left-out.ts';
import { newPortCautions, newPortLacks } from './new-port.ts';
import { ruleResource } from '../render.ts';

const spec = z.strictObject({
  ...redirectFields(),
  src: reference(A_ZONE).describe('Zone from which packets come.'),
  src_dip: negatableNetwork().describe('Destination addresses before translation.'),
  src_dport: negatablePort().describe('Destination ports before translation; tcp and udp only.'),
  dest: optionalReference(A_ZONE).describe('Zone of the new destination.'),
  dest_ip: address().describe('The new destination address. Absent: the CNF itself.'),
  dest_port: port().describe('The new destination port or ports. Default: src_dport.'),
});

export const firewallDnat = defineKind({
  ...ruleResource,
  kind: 'FirewallDNAT',
  plural: 'firewalldnats',
  shortNames: ['fwdnat'],
  description: 'Rewrites the destination of packets that come from a firewall zone.',
  isMadeByCoordinator: true,
  spec,
  specRules: [portsNeedProtocol(['src_port', 'src_dport', 'dest_port'])],
  cautions: (rule) => [
    ...(rule.dest_ip === undefined
      ? [
          'spec.dest_ip: absent, so packets go to the CNF itself; name the address that is to receive them',
        ]
      : []),
    ...newPortCautions('DNAT', rule),
  ],
  references: zoneReferences,
  uci: {
    package: 'firewall',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_dnat_',
    icn: icnAnonymous('redirect', 'DNAT'),
    leftOut: leftOutOfTranslations,
    lacks: (rule, context) => newPortLacks('DNAT', rule, context),
    render: (rule, context) => renderRedirect('DNAT', rule, context),
  },
  icn: icnResource<z.infer<typeof spec>>({
    collection: 'firewall/redirects',
    isKind: ({ options }) => options.target === 'DNAT',
    limits: icnRedirectLimits,
    object: (rule, context) => icnRedirect('DNAT', rule, context),
  }),
});
