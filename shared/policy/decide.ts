/**
 * Which policies decide for a packet at one place, from what is enforced there: a pod that a policy
 * isolates in a direction passes only what one such policy lets pass. Pure. It says the same as the
 * kernel with the table (test/kernel/policy).
 */
import { blockOfOne, holdsBlock, parseAddress, parseBlock } from './address-blocks.ts';
import type { Enforcement, Peer, Port, Rule } from './enforcement.ts';
import { doubtful, pairText } from './group-members.ts';
import type { Protocol } from './network-policy.ts';

/** Addresses of one family, as the packet has them; `port`: of its destination. */
export type PolicyPacket = { from: string; to: string; protocol: Protocol; port: number };

export const DIRECTIONS = ['egress', 'ingress'] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** `isolatedBy`: those that select the pod; none: all is let pass. `allowedBy`: the first one. */
export type Decided<T> = {
  direction: Direction;
  isolatedBy: readonly T[];
  allowedBy: T | undefined;
};

export const passes = <T>({ isolatedBy, allowedBy }: Decided<T>): boolean =>
  isolatedBy.length === 0 || allowedBy !== undefined;

/** `members`: of a group, by its id. */
type Place<T> = {
  entries: readonly { of: T; enforcement: Enforcement }[];
  members: (group: string) => ReadonlySet<string>;
};

export const decide = <T>(
  packet: PolicyPacket,
  { entries, members }: Place<T>,
): readonly Decided<T>[] =>
  DIRECTIONS.map((direction) => {
    const own = direction === 'egress' ? packet.from : packet.to;
    const peer = direction === 'egress' ? packet.to : packet.from;
    const isolating = entries.flatMap(({ of, enforcement }) => {
      const rules = enforcement[direction];
      const pods = members(enforcement.pods);
      if (rules && pods.has(own)) return [{ of, rules }];
      return rules && pods.has(doubtful(own)) ? [{ of, rules: [] }] : [];
    });
    const allowing = isolating.find(({ rules }) =>
      rules.some((rule) => allows(rule, { ...packet, peer }, members)),
    );
    return { direction, isolatedBy: isolating.map(({ of }) => of), allowedBy: allowing?.of };
  });

type Asked = PolicyPacket & { peer: string };
type Members = (group: string) => ReadonlySet<string>;

const allows = ({ peers, ports }: Rule, packet: Asked, members: Members): boolean =>
  (peers?.some((peer) => isPeer(peer, packet.peer, members)) ?? true) &&
  (ports?.some((port) => isPort(port, packet, members)) ?? true);

const isPeer = (peer: Peer, address: string, members: Members): boolean =>
  'group' in peer
    ? members(peer.group).has(address)
    : isIn(peer.cidr, address) && !peer.except.some((block) => isIn(block, address));

const isIn = (block: string, text: string): boolean => {
  const outer = parseBlock(block);
  const address = parseAddress(text);
  if (!outer || !address) return false;
  return holdsBlock(outer, blockOfOne(address));
};

const isPort = (
  { protocol, port, endPort, group }: Port,
  packet: PolicyPacket,
  members: Members,
): boolean => {
  if (protocol !== packet.protocol) return false;
  if (group !== undefined) return members(group).has(pairText(packet.to, packet.port));
  return port === undefined || (packet.port >= port && packet.port <= (endPort ?? port));
};
