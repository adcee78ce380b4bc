/** Addresses of a network that are in use without a NetworkPort. Pure. */
import type { KubeObject } from '#shared/kube/objects.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import { isReleased, type Claims } from './claims.ts';
import type { Foreign } from './decide.ts';
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
  ports: Claims,
  holders: readonly Holder[],
): Foreign => {
  const foreign = new Map<number, string>();
  const doubtful = new Map<number, string>();
  const { namespaces = [], perNamespace = Infinity } = spec;
  const shares = new Map<string, number>();
  const shareOf = (namespace: string): number =>
    namespaces.includes(namespace) ? perNamespace - ports.countOf(namespace) : 0;
  const takeFrom = (namespace: string): boolean => {
    const left = shares.getOrInsertComputed(namespace, shareOf);
    shares.set(namespace, left - 1);
    return left > 0;
  };
  const isClaimed = (index: number): boolean => {
    const port = ports.at(index);
    return port !== undefined && !isReleased(port);
  };
  for (const { namespace, words, indexes } of holders)
    for (const index of indexes) {
      if (isClaimed(index) || foreign.has(index)) continue;
      if (takeFrom(namespace)) foreign.set(index, words);
      else doubtful.set(index, words);
    }
  for (const index of foreign.keys()) doubtful.delete(index);
  return { foreign, doubtful };
};
