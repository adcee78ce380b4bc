/**
 * The members of a group of pods: the ports that its pods have, and the addresses of those that
 * have none. Looked for once each. Pure.
 */
import { groupId, hasOwnAddresses, type Group, type PolicyPod } from '#shared/policy/groups.ts';
import { spelled } from '#shared/policy/addresses.ts';
import type { PortOfPod } from './types.ts';

export type GroupMembers = {
  /** Ids. */
  ports: readonly string[];
  /** The addresses of these. */
  portAddresses: readonly string[];
  /** Addresses of pods that have no port with it. */
  addresses: readonly string[];
};

export type Members = {
  /** `number`: only pods on which the port of the group's name has it. */
  of: (group: Group, number?: number) => GroupMembers;
  /** That the port of the group's name has on its pods, sorted. */
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
  const withPort = new Set(ports.flatMap(({ addresses }) => addresses.map(spell)));
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
    const theirs = those.flatMap(({ uid }) => portsOf.get(uid) ?? []);
    const addresses = those.flatMap((pod) =>
      pod.addresses.map(spell).filter((one) => ownerOf(one)?.uid === pod.uid && !withPort.has(one)),
    );
    return {
      ports: theirs.map(({ id }) => id).sort(),
      portAddresses: theirs.flatMap((port) => port.addresses.map(spell)),
      addresses: [...new Set(addresses)].sort(),
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
      const numbers = podsOf(group).flatMap((pod) => numbersOn(pod, port));
      return [...new Set(numbers)].sort((one, other) => one - other);
    },
  };
};

/** The id of the group without its port. */
export const selectorId = ({ port: _port, ...selector }: Group): string => groupId(selector);

const spell = (text: string): string => spelled(text)?.address ?? text;
