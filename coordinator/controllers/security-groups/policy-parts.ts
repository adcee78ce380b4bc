/**
 * What one NetworkPolicy comes to in security groups, as the design for Kuryr has it: a group per direction, whose rules are the product of
 * peers and ports; a group without rules for each selector, named by those rules; blocks without their exceptions as one address group for each
 * rule; a port's name as one group for each number that it has on pods. Pure.
 */
import {
  blockText,
  parseAddress,
  parseBlock,
  WIDTH,
  type Block,
} from '#shared/policy/addresses.ts';
import {
  MAX_GROUP_MEMBERS,
  MAX_RULES,
  tooLargeText,
  type TooLarge,
} from '#shared/policy/bounds.ts';
import { compilePolicy, type Peer, type Port, type Rule } from '#shared/policy/enforcement.ts';
import { groupId, type Group } from '#shared/policy/groups.ts';
import type { Policy } from '#shared/policy/network-policy.ts';
import { oncePerObject } from '#shared/util/memo.ts';
import { createHash } from 'node:crypto';
import type { AnyPolicy } from '../network-policy/kept.ts';
import type { Members } from './members.ts';
import {
  blocksName,
  clusterTag,
  descriptionOf,
  DIRECTIONS,
  policyGroupName,
  policyTag,
  selectorName,
  type PolicyDirection,
} from './names.ts';
import { outermost, piecesOf } from './pieces.ts';
import type { GroupRule, Remote, WantedGroup } from './types.ts';

export type PolicyParts = {
  /** Ids of the ports of the pods that it selects. */
  selected: readonly string[];
  /** The directions in which these are isolated. */
  isolates: readonly PolicyDirection[];
  groups: readonly WantedGroup[];
  /** Ids of ports by the name of a group. */
  members: ReadonlyMap<string, readonly string[]>;
  addressGroups: ReadonlyMap<string, readonly string[]>;
};

export type PartsOf =
  | PolicyParts
  | { refused: { reason: 'TooLarge' | 'InvalidSpec'; message: string } };

const ETHERTYPES = ['IPv4', 'IPv6'] as const;
const ETHERTYPE_OF = { 4: 'IPv4', 6: 'IPv6' } as const;
const PROTOCOL_OF = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const;

/** Where packets come from or go to. */
type Side = { ethertype: 'IPv4' | 'IPv6'; remote?: Remote };

export const partsOf = (cluster: string, policy: AnyPolicy, members: Members): PartsOf => {
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

  const groups = new Map<string, WantedGroup>();
  const attached = new Map<string, readonly string[]>();
  const addressGroups = new Map<string, readonly string[]>();
  /** How many blocks an address group of blocks has. */
  const pieces = new Map<string, number>();
  const tags = [clusterTag(cluster)];

  const selectorOf = (id: string): Group => {
    const group = selectors.get(id);
    if (group === undefined) throw new Error(`no group ${id}`);
    return group;
  };

  /** The pods of a selector, on which the port of its name has this number if it has one. */
  const sidesOfPods = (group: Group, number?: number): Side[] => {
    const id = groupId(group);
    const name = selectorName(cluster, id, number);
    const { ports, addresses } = members.of(group, number);
    groups.set(name, { name, tags, description: descriptionOf(describe(group)), rules: [] });
    attached.set(name, ports);
    return [
      ...ETHERTYPES.map((ethertype) => ({ ethertype, remote: { group: name } })),
      ...sidesOfAddresses(name, addresses),
    ];
  };

  const sidesOfAddressGroup = (name: string, blocks: readonly Block[]): Side[] => {
    addressGroups.set(name, blocks.map(blockText).sort());
    const families = new Set(blocks.map(({ family }) => ETHERTYPE_OF[family]));
    return ETHERTYPES.filter((ethertype) => families.has(ethertype)).map((ethertype) => ({
      ethertype,
      remote: { addresses: name },
    }));
  };

  const sidesOfAddresses = (name: string, addresses: readonly string[]): Side[] => {
    if (addresses.length === 0) return [];
    const parsed = addresses.flatMap((text) => parseAddress(text) ?? []);
    return sidesOfAddressGroup(
      name,
      parsed.map((one) => ({ ...one, length: WIDTH[one.family] })),
    );
  };

  /** A rule for each of many blocks would use up the quota, and Neutron takes the square of their number to make them. */
  const sidesOfBlocks = (blocks: readonly Block[]): Side[] => {
    const [first] = blocks;
    if (first === undefined) return [];
    if (blocks.length === 1)
      return [{ ethertype: ETHERTYPE_OF[first.family], remote: { prefix: blockText(first) } }];
    const name = blocksName(cluster, blocks.map(blockText));
    pieces.set(name, blocks.length);
    return sidesOfAddressGroup(name, blocks);
  };

  const sidesOf = (peers: readonly Peer[]): Side[] => [
    ...peers.flatMap((peer) => ('group' in peer ? sidesOfPods(selectorOf(peer.group)) : [])),
    ...sidesOfBlocks(
      outermost(peers.flatMap((peer) => ('group' in peer ? [] : piecesOfPeer(peer)))),
    ),
  ];

  /** Of the peers those pods on which the port has this number. */
  const sidesWithNumber = (peer: Peer | undefined, named: Group, number: number): Side[] => {
    if (peer === undefined) return sidesOfPods(named, number);
    const { port } = named;
    if ('group' in peer) {
      const group = { ...selectorOf(peer.group), ...(port && { port }) };
      return sidesOfPods(group, number);
    }
    const { portAddresses, addresses } = members.of(named, number);
    const within = [...new Set([...portAddresses, ...addresses])].filter((text) =>
      piecesOfPeer(peer).some((piece) => isIn(piece, text)),
    );
    return sidesOfAddresses(portBlockName(cluster, { peer, named, number }), within);
  };

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
      tags: [...tags, policyTag(policy.uid, direction)],
      description: descriptionOf(`NetworkPolicy ${policy.namespace}/${policy.name}, ${direction}`),
      rules: [...(present?.rules ?? []), ...rules],
    });
  };

  const addRule = (direction: PolicyDirection, { peers, ports }: Rule): void => {
    const sides = (): Side[] =>
      peers === undefined ? ETHERTYPES.map((ethertype) => ({ ethertype })) : sidesOf(peers);
    for (const port of ports ?? [undefined]) {
      if (port?.group === undefined) {
        addTo(
          direction,
          undefined,
          sides().map((side) => ({ direction, ...side, ...of(port) })),
        );
        continue;
      }
      const named = selectorOf(port.group);
      for (const number of members.numbersOf(named)) {
        const exact = { protocol: port.protocol, port: number };
        if (direction === 'egress') {
          const to = (peers ?? [undefined]).flatMap((peer) => sidesWithNumber(peer, named, number));
          addTo(
            direction,
            undefined,
            to.map((side) => ({ direction, ...side, ...of(exact) })),
          );
        } else {
          const label = `${named.port?.name}-${number}`;
          addTo(
            direction,
            label,
            sides().map((side) => ({ direction, ...side, ...of(exact) })),
          );
          const name = policyGroupName(cluster, policy, { direction, port: label });
          attached.set(name, members.of(named, number).ports);
        }
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
  const has =
    distinct.reduce((sum, { rules }) => sum + rules.length, 0) +
    [...pieces.values()].reduce((sum, count) => sum + count, 0);
  if (has > MAX_RULES) return tooLarge({ what: 'rules', has, limit: MAX_RULES });
  const most = Math.max(
    0,
    ...[...attached.values(), ...addressGroups.values()].map(({ length }) => length),
  );
  if (most > MAX_GROUP_MEMBERS)
    return tooLarge({ what: 'addresses', has: most, limit: MAX_GROUP_MEMBERS });
  return { selected, isolates, groups: distinct, members: attached, addressGroups };
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

/** Of the pods that the policy selects, one of `selectorsOf`; undefined: it is not known. */
export const ownSelectorOf = (policy: AnyPolicy): Group | undefined => {
  if ('unread' in policy) return undefined;
  const compiled = compiledOf(policy);
  return 'groups' in compiled ? compiled.groups.get(compiled.enforcement.pods) : undefined;
};

const tooLarge = (what: TooLarge): PartsOf => ({
  refused: { reason: 'TooLarge', message: tooLargeText(what) },
});

const of = (port: Port | undefined): Pick<GroupRule, 'protocol' | 'ports'> =>
  port === undefined
    ? {}
    : {
        protocol: PROTOCOL_OF[port.protocol],
        ...(port.port !== undefined && { ports: [port.port, port.endPort ?? port.port] as const }),
      };

const piecesOfPeer = ({ cidr, except }: Extract<Peer, { cidr: string }>): Block[] => {
  const block = parseBlock(cidr);
  // The compiler has looked at them.
  if (block === undefined) throw new Error(`${cidr} is no block`);
  return piecesOf(
    block,
    except.flatMap((text) => parseBlock(text) ?? []),
  );
};

const isIn = (piece: Block, text: string): boolean => {
  const address = parseAddress(text);
  return address !== undefined && holds(piece, address);
};

const holds = (outer: Block, address: { family: 4 | 6; bits: bigint }): boolean => {
  const behind = BigInt(WIDTH[outer.family] - outer.length);
  return outer.family === address.family && outer.bits >> behind === address.bits >> behind;
};

const portBlockName = (
  cluster: string,
  { peer, named, number }: { peer: Peer; named: Group; number: number },
): string => {
  const text = JSON.stringify([peer, groupId(named)]);
  return selectorName(
    cluster,
    createHash('sha256').update(text).digest('hex').slice(0, 16),
    number,
  );
};

const describe = ({ pods, namespaces, port }: Group): string =>
  `pods ${JSON.stringify(pods)} in namespaces ${JSON.stringify(namespaces)}${port ? ` with port ${port.name}` : ''}`;

/** Neutron refuses a rule that is there already. */
const once = (rules: readonly GroupRule[]): GroupRule[] => [
  ...new Map(rules.map((rule) => [ruleText(rule), rule])).values(),
];

/** The same rule has the same text. */
export const ruleText = ({ direction, ethertype, protocol, ports, remote }: GroupRule): string =>
  JSON.stringify([direction, ethertype, protocol, ports, remote]);
