/** Security groups as they should be, by their names: Neutron's ids come with what is there. */
import type { PolicyDirection } from './names.ts';

/** `group`, `addresses`: the name of a security group, of an address group. */
export type Remote = { prefix: string } | { group: string } | { addresses: string };

export type GroupRule = {
  direction: PolicyDirection;
  ethertype: 'IPv4' | 'IPv6';
  /** Absent: all. */
  protocol?: 'tcp' | 'udp' | 'sctp';
  /** First and last. */
  ports?: readonly [number, number];
  /** Absent: anybody. */
  remote?: Remote;
};

export type WantedGroup = {
  name: string;
  tags: readonly string[];
  description: string;
  rules: readonly GroupRule[];
};

/** A pod with the ports that are ours, and as Neutron has them. */
export type PortOfPod = {
  /** The port's id. */
  id: string;
  /** Uid of the pod. */
  pod: string;
  addresses: readonly string[];
};

/** All that is to be in Neutron for the policies. */
export type WantedInNeutron = {
  /** By name. */
  groups: ReadonlyMap<string, WantedGroup>;
  /** Blocks of one address each, sorted, by the name of the address group. */
  addressGroups: ReadonlyMap<string, readonly string[]>;
  /** Names of groups by the port's id; ports that are not in it get none of ours. */
  ports: ReadonlyMap<string, ReadonlySet<string>>;
};
