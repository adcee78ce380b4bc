/** CNFRouteRule: which packets use which routing table: a `rule` of OpenWRT's network package. */
import { all, any, given, matchesAsText, not, sameFamily, specRule, when } from '../conditions.ts';
import { isIPv6 } from 'node:net';
import * as z from 'zod';
import { count, digits, mark, NO_ZEROS, routedNetwork } from '../fields.ts';
import { icnResource, oneNetwork, inOwnPackage } from '../icn.ts';
import { defineKind } from '../kind.ts';
import { mwan3Removes, withLength } from '../network.ts';
import { ruleResource, section } from '../render.ts';
import { optionalTextOrNumber } from '../schema.ts';

/**
 * Behind rules that have a place, in front of table main's own: without one netifd gives the first
 * places of all (measured).
 */
const BEHIND_ALL = '32000';

/** The kernel's range for both. */
const MAX_U32 = 4_294_967_295;

const spec = z.strictObject({
  src: routedNetwork().describe('Source addresses.'),
  dst: routedNetwork().describe('Destination addresses.'),
  not: z.boolean().optional().describe('True: select the packets that do not match.'),
  prio: count(1, MAX_U32).describe(
    'Priority: lower values come first. Default: after all rules with a priority.',
  ),
  fwmark: mark().describe('Mark of the packet.'),
  table: optionalTextOrNumber({
    must: `must be main, local, default or a table's number from 1 to ${MAX_U32}, ${NO_ZEROS}`,
    maxLength: 10,
    pattern: `main|local|default|${digits(10)}`,
    holds: (value) => !/^\d/.test(value) || (Number(value) >= 1 && Number(value) <= MAX_U32),
    min: 1,
    max: MAX_U32,
    examples: ['main', 100],
  }).describe('The routing table to use. Default: main.'),
});

const familyOf = (value: string | undefined): string | undefined =>
  value === undefined ? undefined : isIPv6(value.split('/')[0] ?? '') ? 'ipv6' : 'ipv4';

export const cnfRouteRule = defineKind({
  ...ruleResource,
  kind: 'CNFRouteRule',
  plural: 'cnfrouterules',
  shortNames: ['cnfrr'],
  description: 'A policy rule: which packets use which routing table of the CNF.',
  spec,
  specRules: [
    specRule(
      'src',
      any(given('src'), given('dst'), given('fwmark')),
      'src, dst or fwmark is required: otherwise all traffic would use the table',
    ),
    // The kernel takes a mark of 0 without a mask for none, and all packets fit a mask of 0.
    specRule(
      'fwmark',
      not(matchesAsText('fwmark', '(0x)?0+|.*/(0x)?0+')),
      'must not be 0 without a mask, or have a mask of 0: all traffic would use the table',
    ),
    specRule(
      'dst',
      when(all(given('src'), given('dst')), sameFamily('src', 'dst')),
      'must be of the same address family as src',
    ),
  ],
  cautions: ({ prio }) =>
    prio !== undefined && mwan3Removes.rule(Number(prio))
      ? [`spec.prio: a rule with a priority from 1000 to 3999 ${mwan3Removes.words}`]
      : [],
  uci: {
    package: 'network',
    ownership: 'prefix',
    sectionPrefix: 'sdewan_rule_',
    render: ({ src, dst, not, prio, fwmark, table = 'main' }, { sectionName }) => [
      section(familyOf(src ?? dst) === 'ipv6' ? 'rule6' : 'rule', sectionName, {
        src: src && withLength(src),
        dest: dst && withLength(dst),
        invert: not === true ? '1' : undefined,
        priority: prio ?? BEHIND_ALL,
        mark: fwmark,
        lookup: table,
      }),
    ],
  },
  icn: icnResource<z.infer<typeof spec>>({
    collection: 'rule/rules',
    ...inOwnPackage,
    limits: {
      src: oneNetwork,
      dst: oneNetwork,
      fwmark: (mark) => (mark.includes('/') ? 'takes no mask with a mark' : undefined),
    },
    object: ({ src, dst, not, prio, fwmark, table }) => ({
      src,
      dst,
      flag: not === true ? '1' : undefined,
      // Without one the kernel puts the rule in front of all others.
      prio: prio ?? BEHIND_ALL,
      fwmark,
      table,
    }),
  }),
});
