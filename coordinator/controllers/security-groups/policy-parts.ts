/**
 * What one NetworkPolicy comes to in security groups, as the design for Kuryr has it: a group per
 * direction, whose rules are the product of peers and ports; a group without rules for each
 * selector, named by those rules; blocks without their exceptions as one address group for each
 * rule; a port's name as one group for each number that it has on pods. Pure.
 */
import {
  MAX_GROUP_MEMBERS,
  MAX_RULES,
  tooLargeText,
  type TooLarge,
} from '#shared/policy/bounds.ts';
import { compilePolicy, type Port, type Rule } from '#shared/policy/enforcement.ts';
import { groupId, type Group } from '#shared/policy/group-members.ts';
import type { Policy } from '#shared/policy/network-policy.ts';
import { oncePerObject } from '#shared/util/memo.ts';
import type { AnyPolicy } from '../network-policy/kept.ts';
import { isOfOneNamespace, type Members } from './members.ts';
import {
  clusterTag,
  descriptionOf,
  DIRECTIONS,
  policyGroupName,
  policyTag,
  type PolicyDirection,
} from './names.ts';
import { createSides, ETHERTYPES, type Side } from './sides.ts';
import type { GroupRule, WantedGroup } from './types.ts';

export type PolicyParts = {
  /** Ids of the ports of the pods that it selects. */
  selected: readonly string[];
  /** The directions in which these are isolated. */
  isolates: readonly PolicyDirection[];
  groups: readonly WantedGroup[];
  /** Ids of ports by the name of a group. */
  members: ReadonlyMap<string, readonly string[]>;
  addressGroups: ReadonlyMap<string, readonly string[]>;
  /** The most that one of its selectors of several namespaces selects, carried or not. */
  brought: number;
};

/** Whom a policy isolates. */
export type Isolated = Pick<PolicyParts, 'selected' | 'isolates'>;

export type PartsOf =
  | PolicyParts
  | {
      refused: { reason: 'TooLarge' | 'InvalidSpec'; message: string };
      /** Undefined: it is not known. */
      isolated?: Isolated;
      /** It could be carried if there were no pods of other namespaces. */
      isByOthers?: boolean;
    };

const PROTOCOL_OF = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const;

export const partsOf = (cluster: string, policy: AnyPolicy, members: Members): PartsOf => {
  const parts = partsWith(cluster, policy, members);
  if (!('refused' in parts) || parts.isolated === undefined) return parts;
  return { ...parts, isByOthers: !('refused' in partsWith(cluster, policy, ofOneAlone(members))) };
};

/** Without what pods of several namespaces bring. */
const ofOneAlone = (members: Members): Members => ({
  of: (group, number) => (isOfOneNamespace(group) ? members.of(group, number) : NO_MEMBERS),
  numbersOf: (group) => (isOfOneNamespace(group) ? members.numbersOf(group) : []),
});
const NO_MEMBERS = { ports: [], portAddresses: [], addresses: [], brought: 0 };

const partsWith = (cluster: string, policy: AnyPolicy, members: Members): PartsOf => {
  if ('unread' in policy) return { refused: policy.unread };
  const compiled = compiledOf(policy);
  if ('tooLarge' in compiled) return tooLarge(compiled.tooLarge);
  if ('invalid' in compiled) {
    const { path, message } = compiled.invalid;
    return { refused: { reason: 'InvalidSpec', message: `${path}: ${message}` } };
  }
  const { enforcement, groups: selectors } = compiled;
  const own = selectors.get(enforcement.pods);
  if (own === undefined) throw new Error(`no group ${enforcement.pods}`);

  const selectorOf = (id: string): Group => {
    const group = selectors.get(id);
    if (group === undefined) throw new Error(`no group ${id}`);
    return group;
  };

  const { groups, attached, addressGroups, pieces, ...sides } = createSides({
    cluster,
    members,
    selectorOf,
  });

  const addTo = (
    direction: PolicyDirection,
    port: string | undefined,
    rules: GroupRule[],
  ): void => {
    const name = policyGroupName(cluster, policy, {
      direction,
      ...(port !== undefined && { port }),
    });
    const present = groups.get(name);
    groups.set(name, {
      name,
      tags: [clusterTag(cluster), policyTag(policy.uid, direction)],
      description: descriptionOf(`NetworkPolicy ${policy.namespace}/${policy.name}, ${direction}`),
      rules: [...(present?.rules ?? []), ...rules],
    });
  };

  const addRule = (direction: PolicyDirection, { peers, ports }: Rule): void => {
    const sidesOfRule = (): Side[] =>
      peers === undefined ? ETHERTYPES.map((ethertype) => ({ ethertype })) : sides.sidesOf(peers);
    for (const port of ports ?? [undefined]) {
      if (port?.group === undefined) {
        addTo(
          direction,
          undefined,
          sidesOfRule().map((side) => ({ direction, ...side, ...of(port) })),
        );
        continue;
      }
      const named = selectorOf(port.group);
      const exact = (number: number) => of({ protocol: port.protocol, port: number });
      if (direction === 'egress') {
        const to = (peers ?? [undefined]).flatMap((peer) =>
          sides
            .sidesOfName(peer, named)
            .map(({ number, ...side }) => ({ direction, ...side, ...exact(number) })),
        );
        addTo(direction, undefined, to);
        continue;
      }
      for (const number of members.numbersOf(named)) {
        const label = `${named.port?.name}-${number}`;
        addTo(
          direction,
          label,
          sidesOfRule().map((side) => ({ direction, ...side, ...exact(number) })),
        );
        const name = policyGroupName(cluster, policy, { direction, port: label });
        attached.set(name, members.of(named, number).ports);
      }
    }
  };

  const selected = members.of(own).ports;
  const isolates = DIRECTIONS.filter((direction) => enforcement[direction] !== undefined);
  for (const direction of isolates) {
    // There even if it has no rule: then nothing may pass.
    addTo(direction, undefined, []);
    attached.set(policyGroupName(cluster, policy, { direction }), selected);
    for (const rule of enforcement[direction] ?? []) addRule(direction, rule);
  }

  const distinct = [...groups.values()].map((group) => ({ ...group, rules: once(group.rules) }));
  const exceeded = exceededBound({ groups: distinct, attached, addressGroups, pieces });
  if (exceeded) return { ...tooLarge(exceeded), isolated: { selected, isolates } };
  const ofSeveral = [...selectors.values()].filter((group) => !isOfOneNamespace(group));
  const brought = Math.max(0, ...ofSeveral.map((group) => members.of(group).brought));
  return { selected, isolates, groups: distinct, members: attached, addressGroups, brought };
};

const exceededBound = ({
  groups,
  attached,
  addressGroups,
  pieces,
}: Pick<ReturnType<typeof createSides>, 'attached' | 'addressGroups' | 'pieces'> &
  Pick<PolicyParts, 'groups'>): TooLarge | undefined => {
  const has =
    groups.reduce((sum, { rules }) => sum + rules.length, 0) +
    [...pieces.values()].reduce((sum, count) => sum + count, 0);
  if (has > MAX_RULES) return { what: 'rules', has, limit: MAX_RULES };
  const most = Math.max(
    0,
    ...[...attached.values(), ...addressGroups.values()].map(({ length }) => length),
  );
  return most > MAX_GROUP_MEMBERS
    ? { what: 'addresses', has: most, limit: MAX_GROUP_MEMBERS }
    : undefined;
};

/** A policy that changes is another object. */
const compiledOf = oncePerObject((policy: Policy) => compilePolicy(policy));

/** Whom `partsOf` asks members of: groups without port, by `selectorId`. */
export const selectorsOf = (policy: AnyPolicy): (readonly [string, Group])[] => {
  if ('unread' in policy) return [];
  const compiled = compiledOf(policy);
  if (!('groups' in compiled)) return [];
  return [...compiled.groups.values()].map(({ port: _port, ...selector }) => [
    groupId(selector),
    selector,
  ]);
};

/** One of `selectorsOf`, of the pods that the policy selects; undefined: it is not known. */
export const ownSelectorOf = (policy: AnyPolicy): Group | undefined => {
  if ('unread' in policy) return undefined;
  const compiled = compiledOf(policy);
  return 'groups' in compiled ? compiled.groups.get(compiled.enforcement.pods) : undefined;
};

const tooLarge = (what: TooLarge) => ({
  refused: { reason: 'TooLarge' as const, message: tooLargeText(what) },
});

const of = (port: Port | undefined): Pick<GroupRule, 'protocol' | 'ports'> =>
  port === undefined
    ? {}
    : {
        protocol: PROTOCOL_OF[port.protocol],
        ...(port.port !== undefined && { ports: [port.port, port.endPort ?? port.port] as const }),
      };

/** Neutron refuses a rule that is there already. */
const once = (rules: readonly GroupRule[]): GroupRule[] => [
  ...new Map(rules.map((rule) => [ruleText(rule), rule])).values(),
];

/** The same rule has the same text. */
export const ruleText = ({ direction, ethertype, protocol, ports, remote }: GroupRule): string =>
  JSON.stringify([direction, ethertype, protocol, ports, remote]);
