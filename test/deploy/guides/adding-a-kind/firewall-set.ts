/**
 * FirewallSet: addresses that rules can refer to by one name, as an `ipset` section. ICN does not
 * have it. For a test only.
 */
import * as z from 'zod';
import { ruleStatusSchema } from '#shared/protocol/status.ts';
import { given, specRule, when } from '#shared/resources/conditions.ts';
import { count, MAX_ITEMS, networkItem } from '#shared/resources/fields.ts';
import { defineKind } from '#shared/resources/kind.ts';
import { ruleResource, section } from '#shared/resources/render.ts';
import { oneOf } from '#shared/resources/schema.ts';

export const firewallSet = defineKind({
  ...ruleResource,
  kind: 'FirewallSet',
  plural: 'firewallsets',
  shortNames: ['fwset'],
  description: 'A set of addresses.',
  spec: z.strictObject({
    family: oneOf(['ipv4', 'ipv6']).describe('Address family.'),
    entry: z.array(networkItem()).min(1).max(MAX_ITEMS).describe('The addresses.'),
    timeout: count(1, 86_400).describe('For how many seconds an address stays.'),
    maxelem: count(1, 65_536).describe('How many there can be.'),
  }),
  status: ruleStatusSchema.extend({
    entries: z.int().optional().describe('How many addresses the set has.'),
  }),
  specRules: [
    specRule('maxelem', when(given('timeout'), given('maxelem')), 'is required with timeout'),
  ],
  uci: {
    package: 'firewall',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_set_',
    render: ({ family = 'ipv4', entry, ...options }, { name, sectionName }) => [
      section('ipset', sectionName, { name, family, match: ['src_net'], entry, ...options }),
    ],
  },
});
