/** Addresses of a network that are in use without a NetworkPort. Pure. */
import type { KubeObject } from '#shared/kube/objects.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { isReleased, type Foreign } from './decide.ts';
import { presentOf, type PortPod } from './objects.ts';
import { indexOf, type Plan } from './subnets.ts';

/** A pod or a VirtualAddress. */
export type Holder = { namespace: string; words: string; indexes: readonly number[] };

export const holderOf = (
  { kind, metadata: { namespace, name } }: KubeObject,
  indexes: readonly number[],
  word = kind,
): Holder => ({ namespace, words: `${word} ${namespace}/${name}`, indexes });

export const NO_FOREIGN: Foreign = { foreign: new Map(), doubtful: new Map() };

export const indexesIn = (plan: Plan, texts: readonly string[]): number[] =>
  texts.flatMap((text) => indexOf(plan, text) ?? []);

/** Those that the pod has, by what its CNI says. */
export const indexesOfPod = (pod: PortPod, network: ManagedNetwork, plan: Plan): number[] =>
  indexesIn(
    plan,
    presentOf(pod, network).flatMap(({ addresses }) => addresses),
  );

/**
 * Any user with the right to change pods writes what their annotations say, and makes any number of
 * VirtualAddresses. So a namespace keeps no more addresses by them from others than its share, and
 * none where it gets no address.
 */
export const foreignOf = (
  { spec }: ManagedNetwork,
  ports: readonly NetworkPort[],
  holders: readonly Holder[],
): Foreign => {
  const foreign = new Map<number, string>();
  const doubtful = new Map<number, string>();
  const { namespaces = [], perNamespace = Infinity } = spec;
  const shares = new Map(namespaces.map((name) => [name, perNamespace]));
  const claims = new Set<number>();
  const takeFrom = (namespace: string): boolean => {
    const left = shares.get(namespace) ?? 0;
    shares.set(namespace, left - 1);
    return left > 0;
  };
  for (const { spec: claimed } of ports.filter((port) => !isReleased(port))) {
    claims.add(claimed.index);
    takeFrom(claimed.claim.namespace);
  }
  for (const { namespace, words, indexes } of holders)
    for (const index of indexes) {
      if (claims.has(index) || foreign.has(index)) continue;
      if (takeFrom(namespace)) foreign.set(index, words);
      else doubtful.set(index, words);
    }
  for (const index of foreign.keys()) doubtful.delete(index);
  return { foreign, doubtful };
};
