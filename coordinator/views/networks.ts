/** The networks of a CNF's pods. Pure. */
import { networksIn } from '#shared/compile/networks.ts';
import type { PodNetworks } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { uciName } from '#shared/uci/names.ts';
import { usesOf } from '#shared/compile/offline.ts';
import type { ClusterFacts } from './cluster-facts.ts';

/** Undefined: no pod can be seen, or none says it in a form that can be read. */
export const networksOf = (
  { pods }: ClusterFacts,
  { namespace, purpose }: { namespace: string; purpose: string },
): PodNetworks | undefined => {
  const pod = pods?.find((one) => one.namespace === namespace && one.purpose === purpose);
  try {
    return pod && networksIn(pod.networks);
  } catch {
    return undefined;
  }
};

/** Where no pod can be seen. */
export const namesAsInterfaces = (rules: readonly RuleObject[]): PodNetworks => ({
  networks: new Map(
    rules.flatMap((rule) =>
      usesOf(rule, (kind, spec) => kind.networks?.(spec)).map(({ network }): [string, string] => [
        network,
        // The namespace must not become part of another network's name.
        network.includes('/') ? network : uciName(network),
      ]),
    ),
  ),
});
