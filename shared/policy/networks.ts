/**
 * The networks in which addresses of pods count: their own ones, and those that a pod has in a
 * second network of which a CNF is the gateway.
 */
import { holdsBlock, parseAddress, parseBlock } from './address-blocks.ts';

/** The pods' own addresses, as the cluster's network gives them. */
export const CLUSTER_PLACE = 'cluster';

/**
 * `subnets`: of a second network; an address outside them counts for nothing, since a user with the
 * right to change the pod can write any there.
 */
export type ScopedNetwork = { name: string; subnets: readonly string[] };
export type Scope = readonly ScopedNetwork[];

export const CLUSTER_SCOPE: Scope = [{ name: CLUSTER_PLACE, subnets: [] }];

/** Addresses that a pod has in a network besides the cluster's. */
export type SecondAddresses = {
  network: string;
  addresses: readonly string[];
  /**
   * The coordinator gives the addresses of that network, and has not given these: they isolate the
   * pod where no other was given them, and let nothing pass.
   */
  isForeign?: true;
};

export const isClusterAlone = (scope: Scope): boolean =>
  scope.every(({ name }) => name === CLUSTER_PLACE);

/** What people and objects call it. */
export const placeName = (scope: Scope): string => scope.map(({ name }) => name).join(',');

export const isWithin = (text: string, subnets: readonly string[]): boolean =>
  subnetOf(text, subnets) !== undefined;

/** The first of these blocks in which the address lies. */
export const subnetOf = (text: string, subnets: readonly string[]): string | undefined => {
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const inner = { ...address, length: address.family === 4 ? 32 : 128 };
  return subnets.find((subnet) => {
    const outer = parseBlock(subnet);
    return outer !== undefined && holdsBlock(outer, inner);
  });
};

/** A network of an attachment definition is called `namespace/name` or `name`, by place. */
export const bareName = (name: string): string => name.slice(name.lastIndexOf('/') + 1);
