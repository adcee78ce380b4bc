/** Annotation `policy-networks` of a CNF's pods: of which networks it enforces policies. */
import { CLUSTER_PLACE } from '../resources/policy-enforcement.ts';

export const KNOWN_POLICY_NETWORKS = [CLUSTER_PLACE] as const;

/** None where it does not parse, or names a network that is not known: then nothing is enforced, and admission refuses it. */
export const policyNetworksIn = (value = ''): string[] => {
  const names = value.split(',').map((name) => name.trim());
  const isKnown = (name: string): boolean => KNOWN_POLICY_NETWORKS.some((known) => known === name);
  return names.every(isKnown) ? [...new Set(names)] : [];
};
