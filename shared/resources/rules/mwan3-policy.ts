/** Mwan3Policy: how traffic is spread over networks. Its name is mwan3's: a ledger tells whose. */
import * as z from 'zod';
import { nameIsNot, specRule, unique } from '../conditions.ts';
import type { UciSection } from '../../uci/model.ts';
import { networkName } from '../fields.ts';
import { icnResource, inNameSpace, objectText, textsIn } from '../icn.ts';
import { specColumn } from '../columns.ts';
import { defineKind } from '../kind.ts';
import { BUILT_IN_POLICIES, mwan3NameLimit } from './mwan3.ts';
import { listOf, ruleResource, section } from '../render.ts';

/** More would not fit mwan3's marks, which number interfaces (60 at its default mask). */
const MAX_MEMBERS = 60;
/** mwan3 leaves out a member with a higher metric (`DEFAULT_LOWEST_METRIC`). */
const MAX_METRIC = 256;
/** What mwan3 documents. */
const MAX_WEIGHT = 1_000;
const rank = (max: number) =>
  z
    .int({ error: `must be a whole number from 1 to ${max}` })
    .min(1)
    .max(max);

const spec = z.strictObject({
  members: z
    .array(
      z.strictObject({
        network: networkName().describe(
          'A network that the CNF pod is attached to; mwan3 must know its interface.',
        ),
        metric: rank(MAX_METRIC).describe(
          'Members with the lowest metric that are up are used: metrics that differ are a failover.',
        ),
        weight: rank(MAX_WEIGHT).describe('Share of the traffic among members of equal metric.'),
      }),
    )
    .min(1)
    .max(MAX_MEMBERS)
    .describe('The networks to use.'),
});

export const mwan3Policy = defineKind({
  ...ruleResource,
  kind: 'Mwan3Policy',
  plural: 'mwan3policies',
  shortNames: ['mwp'],
  description: 'A policy of mwan3: which networks carry traffic, and in which shares.',
  wideColumns: [specColumn('Members', 'members[*].network')],
  spec,
  specRules: [
    specRule('members', unique('members', 'network'), 'each network can be a member only once'),
  ],
  nameRules: [
    mwan3NameLimit,
    nameIsNot(
      `^(${BUILT_IN_POLICIES.join('|')})$`,
      `the name must not be ${BUILT_IN_POLICIES.join(', ')}: mwan3 defines these itself`,
    ),
  ],
  cautions: ({ members }) =>
    members.flatMap(({ metric, weight }, index) => {
      const upToIt = members.slice(0, index + 1).filter((other) => other.metric === metric);
      const total = upToIt.reduce((sum, other) => sum + other.weight, 0);
      return weight * 1_000 < total
        ? [
            `spec.members[${index}].weight: mwan3 takes less than a thousandth of the traffic for none, so nothing uses it while those of its metric before it are up; write a larger one`,
          ]
        : [];
    }),
  networks: ({ members }) =>
    members.map(({ network }, index) => ({ path: `spec.members[${index}].network`, network })),
  uci: {
    package: 'mwan3',
    ownership: 'stamp',
    sectionPrefix: '',
    nameOf: ({ type, name }) => (type === 'policy' ? name : undefined),
    icn: {
      nameOf: ({ type, name }) => (type === 'policy' ? name : undefined),
      partsOf: (policy, there) => ownMembersOf(policy, there),
      isOnlyIcns: (policy, there) => {
        const used = listOf(policy.options['use_member']);
        return used.length > 0 && ownMembersOf(policy, there).length === used.length;
      },
    },
    lacks: ({ members }, { interfaceOf, observed }) => {
      const isKnown = (name: string) =>
        observed('mwan3').some((there) => there.type === 'interface' && there.name === name);
      return members.flatMap(({ network }, index) =>
        isKnown(interfaceOf(network))
          ? []
          : [
              {
                path: `spec.members[${index}].network`,
                reason: 'WaitingForInterface' as const,
                message: `mwan3 has no interface ${interfaceOf(network)} on this OpenWRT`,
              },
            ],
      );
    },
    render: ({ members }, { sectionName, interfaceOf }) => {
      const memberSections = members.map(({ network, metric, weight }) =>
        section('member', `${sectionName}_${interfaceOf(network)}`, {
          interface: interfaceOf(network),
          metric: String(metric),
          weight: String(weight),
        }),
      );
      const use_member = memberSections.map(({ name }) => name);
      return [...memberSections, section('policy', sectionName, { use_member })];
    },
  },
  icn: icnResource<z.infer<typeof spec>>({
    collection: 'mwan3/policies',
    limits: {},
    nameOf: ({ name }) => name,
    identities: ({ name, options }) =>
      inNameSpace('mwan3', [
        name,
        ...textsIn(options.members).map((text) => `${name}_${String(JSON.parse(text).interface)}`),
      ]),
    object: ({ members }, { interfaceOf }) => ({
      members: members.map(({ network, metric, weight }) =>
        objectText({
          interface: interfaceOf(network),
          metric: String(metric),
          weight: String(weight),
        }),
      ),
    }),
  }),
});

/** Those that are the policy's own: `<policy>_<interface>`. */
const ownMembersOf = (policy: UciSection, there: readonly UciSection[]): UciSection[] => {
  const used = listOf(policy.options['use_member']);
  return there.filter(
    ({ type, name, options: { interface: network } }) =>
      type === 'member' &&
      used.includes(name) &&
      typeof network === 'string' &&
      name === `${policy.name}_${network}`,
  );
};
