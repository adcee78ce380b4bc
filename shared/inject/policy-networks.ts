/**
 * Annotations `policy-networks` and `policy-kinds` of a CNF's pods: of which networks it enforces
 * policies, and which policies.
 */
import { parseNetworks, parseSelections, shortIn } from '../compile/networks.ts';
import {
  NETWORKS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  POLICY_KINDS_ANNOTATION,
  POLICY_NETWORKS_ANNOTATION,
} from '../names.ts';
import { blockText, parseBlock } from '../policy/address-blocks.ts';
import { bareName, CLUSTER_PLACE, type Scope } from '../policy/networks.ts';

export type AskedPolicyNetworks = {
  /** With the subnets that the annotation itself says. Empty where it does not parse. */
  scope: Scope;
  /** NetworkPolicies hold for second networks, too, and not only MultiNetworkPolicies. */
  hasNetworkPolicies: boolean;
  /** Each says what is wrong, and what would be right. */
  problems: readonly string[];
};

const ADDITIONAL_KIND = 'NetworkPolicy';
/** Names that Nodus and Multus give to networks; others could not be written into an object. */
const NAME = /^([a-z0-9-]{0,63}\/)?[A-Za-z0-9._-]{1,63}$/;
/** The most networks of one CNF. */
const MAX_NETWORKS = 16;
const MAX_SUBNETS = 16;
/** A longer value is not shown whole, since it comes back in a message. */
const MAX_SHOWN = 64;

type Annotations = Readonly<Record<string, string>>;

/**
 * A network may say its subnet, `net1=10.1.0.0/24`, as often as it has some. In the scope those of
 * Nodus have plain names, and those of Multus their namespace. `namespace`: that of the pod, if it
 * is known.
 */
export const policyNetworksIn = (annotations: Annotations, namespace = ''): AskedPolicyNetworks => {
  const networks = annotations[POLICY_NETWORKS_ANNOTATION];
  const kinds = annotations[POLICY_KINDS_ANNOTATION];
  const asked =
    networks === undefined
      ? { scope: [] }
      : askedScope(networks, attachedTo(annotations, namespace), namespace);
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
  namespace: string,
): { scope: Scope } | { problem: string } => {
  const found = new Map<string, string[]>();
  for (const entry of value.split(',').map((text) => text.trim())) {
    const at = entry.indexOf('=');
    const asked = at < 0 ? entry : entry.slice(0, at);
    const meant = meantBy(asked, known, namespace);
    if ('problem' in meant) return meant;
    const { name } = meant;
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

const meantBy = (
  asked: string,
  known: readonly string[],
  namespace: string,
): { name: string } | { problem: string } => {
  const meant = [asked, `${namespace}/${asked}`].filter((one) => known.includes(one));
  if (meant.length > 1) return { problem: `${shown(asked)} may be each of ${meant.join(', ')}` };
  const [name = asked] = meant;
  // A template says nothing of its namespace.
  const isIn = namespace === '' && known.includes(asked.replace(/^[^/]+/, ''));
  if (meant.length > 0 || isIn) return { name };
  const names = known.slice(0, MAX_NETWORKS).map((one) => shortIn(namespace, one));
  return { problem: `${shown(asked)} must be one of ${names.join(', ')}` };
};

/** None where the annotation cannot be read, which is said elsewhere. */
const attachedTo = (annotations: Annotations, namespace: string): string[] => {
  const named = (read: () => readonly string[]): string[] => {
    try {
      return read().filter((name) => NAME.test(name) && bareName(name) !== CLUSTER_PLACE);
    } catch {
      return [];
    }
  };
  const nodus = named(() => [...parseNetworks(annotations[NFN_NETWORK_ANNOTATION]).keys()]);
  const multus = named(() =>
    parseSelections(annotations[NETWORKS_ANNOTATION], namespace).map(({ name }) => name),
  );
  return [...new Set([CLUSTER_PLACE, ...nodus, ...multus])];
};

const shown = (text: string): string => JSON.stringify(text.slice(0, MAX_SHOWN));
