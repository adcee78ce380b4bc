/**
 * Where packets of a policy come from or go to, as Neutron's rules name it, and what must be there
 * for that: a group without rules for each selector, address groups of blocks.
 */
import { createHash } from 'node:crypto';
import {
  blockText,
  parseAddress,
  parseBlock,
  blockOfOne,
  WIDTH,
  type Block,
} from '#shared/policy/address-blocks.ts';
import type { Peer } from '#shared/policy/enforcement.ts';
import { groupId, type Group } from '#shared/policy/group-members.ts';
import type { Members } from './members.ts';
import { blocksName, clusterTag, descriptionOf, selectorName } from './names.ts';
import { outermost, piecesOf } from './pieces.ts';
import type { Remote, WantedGroup } from './types.ts';

export const ETHERTYPES = ['IPv4', 'IPv6'] as const;
const ETHERTYPE_OF = { 4: 'IPv4', 6: 'IPv6' } as const;

/** A rule's part that says where its packets come from or go to. */
export type Side = { ethertype: 'IPv4' | 'IPv6'; remote?: Remote };

export type SidesFacts = {
  cluster: string;
  members: Members;
  selectorOf: (id: string) => Group;
};

export const createSides = ({ cluster, members, selectorOf }: SidesFacts) => {
  const groups = new Map<string, WantedGroup>();
  const attached = new Map<string, readonly string[]>();
  const addressGroups = new Map<string, readonly string[]>();
  /** How many blocks an address group of blocks has. */
  const pieces = new Map<string, number>();
  const tags = [clusterTag(cluster)];

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
    return sidesOfAddressGroup(name, parsed.map(blockOfOne));
  };

  /** A rule for each block would use up the quota, and Neutron takes the square of their number. */
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

  /** The peer's pods, by the numbers that the port has on them: other pods add none. */
  const sidesOfName = (peer: Peer | undefined, named: Group): (Side & { number: number })[] => {
    const { port } = named;
    const isOfPods = peer !== undefined && 'group' in peer;
    const group = isOfPods ? { ...selectorOf(peer.group), ...(port && { port }) } : named;
    return members.numbersOf(group).flatMap((number) => {
      const sides =
        peer === undefined || isOfPods
          ? sidesOfPods(group, number)
          : sidesOfBlock(peer, named, number);
      return sides.map((side) => ({ ...side, number }));
    });
  };

  const sidesOfBlock = (peer: BlockPeer, named: Group, number: number): Side[] => {
    const { portAddresses, addresses } = members.of(named, number);
    const within = [...new Set([...portAddresses, ...addresses])].filter((text) =>
      piecesOfPeer(peer).some((piece) => isIn(piece, text)),
    );
    return sidesOfAddresses(portBlockName(cluster, { peer, named, number }), within);
  };

  return { groups, attached, addressGroups, pieces, sidesOf, sidesOfName };
};

type BlockPeer = Extract<Peer, { cidr: string }>;

const piecesOfPeer = ({ cidr, except }: BlockPeer): Block[] => {
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
