/**
 * Annotations `policy-networks` and `policy-kinds` of a CNF's pods: of which networks it enforces
 * policies, and which policies.
 */
import { parseNetworks } from '../compile/networks.ts';
import {
  NFN_NETWORK_ANNOTATION,
  POLICY_KINDS_ANNOTATION,
  POLICY_NETWORKS_ANNOTATION,
} from '../names.ts';
import { blockText, parseBlock } from '../policy/addresses.ts';
import { CLUSTER_PLACE, type Scope } from '../policy/networks.ts';

export type AskedPolicyNetworks = {
  /** With the subnets that the annotation itself says. Empty where it does not parse. */
  scope: Scope;
  /** NetworkPolicies hold for second networks, too, and not only MultiNetworkPolicies. */
  hasNetworkPolicies: boolean;
  /** Each says what is wrong, and what would be right. */
  problems: readonly string[];
};

const ADDITIONAL_KIND = 'NetworkPolicy';
/** Names that Nodus gives to networks; others could not be written into an object. */
const NAME = /^[A-Za-z0-9._-]{1,63}$/;
/** The most networks of one CNF. */
const MAX_NETWORKS = 16;
const MAX_SUBNETS = 16;
/** A longer value is not shown whole, since it comes back in a message. */
const MAX_SHOWN = 64;

type Annotations = Readonly<Record<string, string>>;

/** A network may say its subnet, `net1=10.1.0.0/24`, as often as it has some. */
export const policyNetworksIn = (annotations: Annotations): AskedPolicyNetworks => {
  const networks = annotations[POLICY_NETWORKS_ANNOTATION];
  const kinds = annotations[POLICY_KINDS_ANNOTATION];
  const asked =
    networks === undefined
      ? { scope: [] }
      : askedScope(networks, [CLUSTER_PLACE, ...attachedTo(annotations[NFN_NETWORK_ANNOTATION])]);
  const hasNetworkPolicies = kinds?.trim() === ADDITIONAL_KIND;
  return {
    scope: 'scope' in asked ? asked.scope : [],
    hasNetworkPolicies,
    problems: [
      ...('problem' in asked ? [`annotation ${POLICY_NETWORKS_ANNOTATION}: ${asked.problem}`] : []),
      ...(kinds === undefined || hasNetworkPolicies
        ? []
        : [`annotation ${POLICY_KINDS_ANNOTATION}: ${shown(kinds)} must be ${ADDITIONAL_KIND}`]),
      ...(kinds !== undefined && networks === undefined
        ? [`annotation ${POLICY_KINDS_ANNOTATION} needs annotation ${POLICY_NETWORKS_ANNOTATION}`]
        : []),
    ],
  };
};

const askedScope = (
  value: string,
  known: readonly string[],
): { scope: Scope } | { problem: string } => {
  const found = new Map<string, string[]>();
  for (const entry of value.split(',').map((text) => text.trim())) {
    const at = entry.indexOf('=');
    const name = at < 0 ? entry : entry.slice(0, at);
    if (!known.includes(name)) {
      const names = known.slice(0, MAX_NETWORKS).join(', ');
      return { problem: `${shown(entry)} must be one of ${names}` };
    }
    const subnets = found.get(name) ?? [];
    found.set(name, subnets);
    if (at < 0) continue;
    const block = parseBlock(entry.slice(at + 1));
    if (block === undefined || name === CLUSTER_PLACE || subnets.length === MAX_SUBNETS)
      return {
        problem: `${shown(entry)} must be ${CLUSTER_PLACE}, or a network with at most ${MAX_SUBNETS} subnets, each as in net1=10.1.0.0/24`,
      };
    subnets.push(blockText(block));
  }
  if (found.size > MAX_NETWORKS) return { problem: `must name at most ${MAX_NETWORKS} networks` };
  return { scope: [...found].map(([name, subnets]) => ({ name, subnets })) };
};

/** None where the annotation cannot be read, which is said elsewhere. */
const attachedTo = (annotation: string | undefined): string[] => {
  try {
    const names = [...parseNetworks(annotation).keys()];
    return names.filter((name) => NAME.test(name) && name !== CLUSTER_PLACE);
  } catch {
    return [];
  }
};

const shown = (text: string): string => JSON.stringify(text.slice(0, MAX_SHOWN));
