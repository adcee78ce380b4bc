/**
 * The members of a group of pods: the ports that its pods have, and the addresses of those that
 * have none. Looked for once each. Pure.
 */
import { MAX_GROUP_MEMBERS, MAX_PORT_NUMBERS } from '#shared/policy/bounds.ts';
import {
  groupId,
  hasOwnAddresses,
  type Group,
  type PolicyPod,
} from '#shared/policy/group-members.ts';
import { spelling } from '#shared/policy/address-blocks.ts';
import { sharedAmong } from '#shared/policy/shares.ts';
import type { PortOfPod } from './types.ts';

export type GroupMembers = {
  /** Ids. */
  ports: readonly string[];
  /** The addresses of these. */
  portAddresses: readonly string[];
  /** Addresses of pods that have no port with it. */
  addresses: readonly string[];
  /** How many ports, or addresses, there would be if namespaces had no share of them. */
  brought: number;
};

export type Members = {
  /** `number`: only pods on which the port of the group's name has it. */
  of: (group: Group, number?: number) => GroupMembers;
  /**
   * The numbers that the port of the group's name has on its pods, sorted. Each of several
   * namespaces has a share of them.
   */
  numbersOf: (group: Group) => number[];
};

export type MembersFacts = {
  /** Pods of a selector by the id of its group without port, whatever addresses they have. */
  selected: (id: string) => readonly PolicyPod[];
  /** Which pod an address belongs to. */
  ownerOf: (address: string) => PolicyPod | undefined;
  ports: readonly PortOfPod[];
};

export const createMembers = ({ selected, ownerOf, ports }: MembersFacts): Members => {
  const portsOf = Map.groupBy(ports, ({ pod }) => pod);
  const withPort = new Set(ports.flatMap(({ addresses }) => addresses.map(spelling)));
  const found = new Map<string, GroupMembers>();

  const podsOf = (group: Group): PolicyPod[] =>
    selected(selectorId(group)).filter(
      (pod) =>
        hasOwnAddresses(pod) && (group.port === undefined || numbersOn(pod, group.port).length > 0),
    );

  const numbersOn = (pod: PolicyPod, { name, protocol }: NonNullable<Group['port']>): number[] =>
    pod.ports
      .filter((one) => one.name === name && one.protocol === protocol)
      .map(({ port }) => port);

  const look = (group: Group, number: number | undefined): GroupMembers => {
    const those = podsOf(group).filter(
      (pod) => number === undefined || (group.port && numbersOn(pod, group.port).includes(number)),
    );
    const portsIn = (of: readonly PolicyPod[]): PortOfPod[] =>
      of.flatMap(({ uid }) => portsOf.get(uid) ?? []);
    const addressesIn = (of: readonly PolicyPod[]): string[] => {
      const own = of.flatMap((pod) =>
        pod.addresses
          .map(spelling)
          .filter((one) => ownerOf(one)?.uid === pod.uid && !withPort.has(one)),
      );
      return [...new Set(own)].sort();
    };
    const theirs = shared(group, { those, room: MAX_GROUP_MEMBERS, of: portsIn });
    const addresses = shared(group, { those, room: MAX_GROUP_MEMBERS, of: addressesIn });
    return {
      ports: theirs.carried.map(({ id }) => id).sort(),
      portAddresses: theirs.carried.flatMap((port) => port.addresses.map(spelling)),
      addresses: addresses.carried.toSorted(),
      brought: Math.max(theirs.brought, addresses.brought),
    };
  };

  return {
    of: (group, number) => {
      const key = `${groupId(group)}/${number}`;
      return found.getOrInsertComputed(key, () => look(group, number));
    },
    numbersOf: (group) => {
      const { port } = group;
      if (port === undefined) return [];
      const numbers = shared(group, {
        those: podsOf(group),
        room: MAX_PORT_NUMBERS,
        of: (those) => [...new Set(those.flatMap((pod) => numbersOn(pod, port)))].sort(byNumber),
      });
      return [...new Set(numbers.carried)].sort(byNumber);
    },
  };
};

type Sharing<T> = {
  those: readonly PolicyPod[];
  room: number;
  of: (pods: readonly PolicyPod[]) => readonly T[];
};

/** All members of a group of one namespace; of others what the shares of namespaces hold. */
const shared = <T>(
  group: Group,
  { those, room, of }: Sharing<T>,
): { carried: readonly T[]; brought: number } => {
  const all = of(those);
  if (isOfOneNamespace(group) || all.length <= room) return { carried: all, brought: all.length };
  const byNamespace = Map.groupBy(those, ({ namespace }) => namespace);
  return { carried: sharedAmong([...byNamespace.values()].map(of), room), brought: all.length };
};

export const isOfOneNamespace = ({ namespaces }: Group): boolean => 'name' in namespaces;

const byNumber = (one: number, other: number): number => one - other;

/** The id of the group without its port. */
export const selectorId = ({ port: _port, ...selector }: Group): string => groupId(selector);
