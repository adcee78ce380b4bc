/** Which CNF enforces which policy, and by which addresses, by its pods' annotations. Pure. */
import type { KubeObject } from '#shared/kube/objects.ts';
import { policyNetworksIn } from '#shared/inject/policy-networks.ts';
import { POLICY_NETWORKS_ANNOTATION } from '#shared/names.ts';
import type { Policy } from '#shared/policy/network-policy.ts';
import {
  bareName,
  CLUSTER_PLACE,
  type Scope,
  type ScopedNetwork,
} from '#shared/policy/networks.ts';
import type { PolicyAnnotations } from '../../sources/policy-annotation.ts';
import type { PolicyPlace } from './objects.ts';
import { subnetsIn } from '../../sources/second-addresses.ts';

/** A CNF that asks for policies. `networks`: second ones, with all known subnets. */
export type Gateway = PolicyPlace & {
  hasCluster: boolean;
  networks: readonly ScopedNetwork[];
  /** NetworkPolicies hold for its second networks, too. */
  hasNetworkPolicies: boolean;
  /** No pod says what can be read: what is in force stays. */
  isUnread: boolean;
};

export type InvalidAnnotation = { object: KubeObject; message: string };

/** During a roll-out old and new pods can differ: it is the gateway of what any of them says. */
export const gatewaysOf = (
  pods: readonly PolicyAnnotations[],
): { gateways: Gateway[]; invalid: InvalidAnnotation[] } => {
  const invalid: InvalidAnnotation[] = [];
  const byPlace = Map.groupBy(
    pods.filter(({ annotations }) => annotations[POLICY_NETWORKS_ANNOTATION] !== undefined),
    ({ namespace, purpose }) => `${namespace}/${purpose}`,
  );
  const gateways = [...byPlace.values()].flatMap((ofPlace): Gateway[] => {
    const [first] = ofPlace;
    if (first === undefined) return [];
    const said = ofPlace.map(({ annotations, namespace }) =>
      policyNetworksIn(annotations, namespace),
    );
    for (const [at, one] of said.entries())
      for (const message of one.problems)
        invalid.push({ object: (ofPlace[at] ?? first).object, message });
    const subnets = new Map<string, Set<string>>();
    const scopes = said.flatMap(({ scope }) => scope);
    for (const { name, subnets: declared } of scopes)
      subnets.set(name, new Set([...(subnets.get(name) ?? []), ...declared]));
    for (const { annotations } of ofPlace)
      for (const { network, subnet } of subnetsIn(annotations)) subnets.get(network)?.add(subnet);
    return [
      {
        namespace: first.namespace,
        purpose: first.purpose,
        hasCluster: subnets.has(CLUSTER_PLACE),
        networks: [...subnets]
          .filter(([name]) => name !== CLUSTER_PLACE)
          .map(([name, of]) => ({ name, subnets: [...of].sort() }))
          .sort(byName),
        hasNetworkPolicies: said.some((one) => one.hasNetworkPolicies),
        isUnread: scopes.length === 0,
      },
    ];
  });
  return { gateways, invalid };
};

const byName = (one: ScopedNetwork, other: ScopedNetwork): number =>
  one.name < other.name ? -1 : 1;

/**
 * Undefined: the policy does not hold there. `unknown`: a network of which no subnet is known, so
 * that no address counts.
 */
export type PlaceScope = { scope: Scope } | { unknown: string } | undefined;

export const scopeOf = (
  { kind, networks }: Pick<Policy, 'kind' | 'networks'>,
  gateway: Gateway,
): PlaceScope => {
  const isAsked = (name: string): boolean =>
    kind === 'NetworkPolicy'
      ? gateway.hasNetworkPolicies
      : networks.some((network) => network === name || bareName(network) === name);
  const second = gateway.networks.filter(({ name }) => isAsked(name));
  const unknown = second.find(({ subnets }) => subnets.length === 0);
  if (unknown) return { unknown: unknown.name };
  const cluster: Scope =
    kind === 'NetworkPolicy' && gateway.hasCluster ? [{ name: CLUSTER_PLACE, subnets: [] }] : [];
  const scope = [...cluster, ...second];
  return scope.length === 0 ? undefined : { scope };
};
