/** FirewallZone: a zone of OpenWRT's firewall, made of networks that the CNF pod is attached to. */
import * as z from 'zod';
import { absent, any, equal, nameIsNot, nameLimit, specRule } from '../conditions.ts';
import { MAX_ITEMS, flag, freeText, networkItem, networkName } from '../fields.ts';
import { family, icnAnonymous } from './firewall.ts';
import { icnResource, negatableNetworkItem, nothing, oneNetwork } from '../icn.ts';
import { specColumn } from '../columns.ts';
import { defineKind } from '../kind.ts';
import { iptablesArguments } from './left-out.ts';
import { masqueradedSubnetCautions, masqueradedSubnetLacks } from './masqueraded-subnets.ts';
import { ruleResource, section } from '../render.ts';
import { oneOf } from '../schema.ts';

const policy = () => oneOf(['ACCEPT', 'REJECT', 'DROP']);
const spec = z.strictObject({
  network: z
    .array(networkName())
    .min(1)
    .max(MAX_ITEMS)
    .describe('Networks of the zone, which the CNF pod is attached to.'),
  input: policy().describe('For packets to the CNF itself. Default: that of the section defaults.'),
  output: policy().describe(
    'For packets from the CNF itself. Default: that of the section defaults.',
  ),
  forward: policy().describe(
    'For packets between networks of the zone. Default: that of the section defaults.',
  ),
  masq: flag().describe('1: masquerade the source addresses of packets that leave by the zone.'),
  masq_src: z
    .array(networkItem())
    .max(MAX_ITEMS)
    .optional()
    .describe('Masquerade only these sources; "!" in front excludes one.'),
  masq_dest: z
    .array(networkItem())
    .max(MAX_ITEMS)
    .optional()
    .describe('Masquerade only to these destinations; "!" in front excludes one.'),
  masq_allow_invalid: flag().describe('1: do not drop packets of invalid state when masquerading.'),
  mtu_fix: flag().describe('1: clamp the segment size of TCP connections to the path MTU.'),
  family: family(),
  subnet: z
    .array(networkItem())
    .max(MAX_ITEMS)
    .optional()
    .describe('Only packets of these addresses belong to the zone, and only by its networks.'),
  extra_src: freeText(256).describe('Extra iptables arguments; firewall3 only.'),
  extra_dest: freeText(256).describe('Extra iptables arguments; firewall3 only.'),
  etra_dest: freeText(256).describe("The same as extra_dest, in ICN's spelling."),
});

const OF_THE_FACTORY: ReadonlySet<string> = new Set(['lan', 'wan']);

export const firewallZone = defineKind({
  ...ruleResource,
  kind: 'FirewallZone',
  plural: 'firewallzones',
  shortNames: ['fwz'],
  description: 'A firewall zone: networks of the CNF that the firewall treats alike.',
  wideColumns: [specColumn('Networks', 'network')],
  spec,
  specRules: [
    specRule(
      'etra_dest',
      any(absent('etra_dest'), absent('extra_dest'), equal('etra_dest', 'extra_dest')),
      'is another spelling of extra_dest: set only one of the two',
    ),
  ],
  nameRules: [
    nameLimit(11, 'firewall3 of OpenWRT allows no longer zone names'),
    nameIsNot(
      '^[0-9]',
      "the name must begin with a letter: OpenWRT's firewall allows no other zone names",
    ),
  ],
  networks: ({ network }) =>
    network.map((name, index) => ({ path: `spec.network[${index}]`, network: name })),
  nameCautions: (name) =>
    OF_THE_FACTORY.has(name)
      ? [
          `metadata.name: OpenWRT comes with a zone ${name} of its own; where the CNF still has that, this one is not in force (NameTaken), and rules that name it wait: choose another name`,
        ]
      : [],
  cautions: (zone) => [
    ...(zone.input === 'DROP'
      ? [
          'spec.input: DROP drops every packet from these networks to the CNF itself; a rule with target ACCEPT can except some',
        ]
      : []),
    ...masqueradedSubnetCautions(zone),
  ],
  uci: {
    package: 'firewall',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_zone_',
    // The misspelling is its own.
    icn: { ...icnAnonymous('zone'), isOnlyIcns: ({ options }) => 'etra_dest' in options },
    nameOf: ({ type, options }) =>
      type === 'zone' && typeof options.name === 'string' ? options.name : undefined,
    leftOut: ({ extra_src, extra_dest, etra_dest }, firewall) =>
      iptablesArguments({ extra_src, extra_dest, etra_dest }, firewall),
    lacks: masqueradedSubnetLacks,
    render: (
      { network, etra_dest, extra_dest, ...options },
      { name, sectionName, interfaceOf },
    ) => [
      section('zone', sectionName, {
        name,
        network: [...new Set(network.map(interfaceOf))],
        ...options,
        extra_dest: extra_dest ?? etra_dest,
      }),
    ],
  },
  icn: icnResource<z.infer<typeof spec>>({
    collection: 'firewall/zones',
    limits: {
      masq_src: negatableNetworkItem,
      masq_dest: negatableNetworkItem,
      subnet: oneNetwork,
      // It takes etra_dest and stores it under that name, which no firewall reads.
      extra_dest: nothing('ignores it'),
      etra_dest: nothing('ignores it'),
    },
    nameOf: ({ name }) => name,
    object: ({ network, etra_dest: _etra, extra_dest: _extra, ...options }, { interfaceOf }) => ({
      network: [...new Set(network.map(interfaceOf))],
      ...options,
    }),
  }),
});
