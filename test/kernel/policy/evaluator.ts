/**
 * What Kubernetes says of a packet: read from its documentation of NetworkPolicies, as directly as
 * it goes. It judges the product, so it imports nothing of it.
 */
import { BlockList } from 'node:net';

export type Selector = {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
};
export type PeerOf = {
  podSelector?: Selector;
  namespaceSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
};
export type PortOf = { protocol?: string; port?: number | string; endPort?: number };
export type PolicyOf = {
  namespace: string;
  name: string;
  spec: {
    podSelector: Selector;
    policyTypes?: string[];
    ingress?: { from?: PeerOf[]; ports?: PortOf[] }[];
    egress?: { to?: PeerOf[]; ports?: PortOf[] }[];
  };
};
export type PodOf = {
  namespace: string;
  name: string;
  labels: Record<string, string>;
  /** IPv4 and IPv6. */
  addresses: string[];
  ports: { name: string; protocol: string; port: number }[];
  hostNetwork?: boolean;
  finished?: boolean;
};
export type Scenario = {
  namespaces: Record<string, Record<string, string>>;
  pods: PodOf[];
  policies: PolicyOf[];
};
/** Addresses of one family, as the packet has them. */
export type Packet = { from: string; to: string; protocol: string; port: number };

export const isAllowed = (scenario: Scenario, packet: Packet): boolean => {
  const from = podWith(scenario, packet.from);
  const to = podWith(scenario, packet.to);
  const out =
    from === undefined || passes(scenario, from, 'egress', { ...packet, peer: packet.to });
  const into =
    to === undefined || passes(scenario, to, 'ingress', { ...packet, peer: packet.from });
  return out && into;
};

const podWith = ({ pods }: Scenario, address: string): PodOf | undefined =>
  pods.find((pod) => !pod.hostNetwork && !pod.finished && pod.addresses.includes(address));

const passes = (
  scenario: Scenario,
  pod: PodOf,
  direction: 'ingress' | 'egress',
  packet: Packet & { peer: string },
): boolean => {
  const isolating = scenario.policies.filter(
    (policy) =>
      policy.namespace === pod.namespace &&
      isMatch(policy.spec.podSelector, pod.labels) &&
      typesOf(policy).includes(direction),
  );
  if (isolating.length === 0) return true;
  return isolating.some((policy) => {
    const rules =
      direction === 'ingress'
        ? (policy.spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
        : (policy.spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));
    return rules.some(
      ({ peers = [], ports = [] }) =>
        (peers.length === 0 ||
          peers.some((peer) => isPeer(scenario, policy.namespace, peer, packet.peer))) &&
        (ports.length === 0 || ports.some((port) => isPort(scenario, port, packet))),
    );
  });
};

const typesOf = ({ spec }: PolicyOf): string[] => {
  if (spec.policyTypes !== undefined) return spec.policyTypes.map((type) => type.toLowerCase());
  return (spec.egress ?? []).length > 0 ? ['ingress', 'egress'] : ['ingress'];
};

const isPeer = (scenario: Scenario, own: string, peer: PeerOf, address: string): boolean => {
  if (peer.ipBlock !== undefined) {
    const { cidr, except = [] } = peer.ipBlock;
    return isIn(cidr, address) && !except.some((block) => isIn(block, address));
  }
  const pod = podWith(scenario, address);
  if (pod === undefined) return false;
  const isInNamespace =
    peer.namespaceSelector === undefined
      ? pod.namespace === own
      : isMatch(peer.namespaceSelector, scenario.namespaces[pod.namespace] ?? {});
  return isInNamespace && isMatch(peer.podSelector ?? {}, pod.labels);
};

const isPort = (scenario: Scenario, port: PortOf, packet: Packet): boolean => {
  if ((port.protocol ?? 'TCP') !== packet.protocol) return false;
  if (port.port === undefined) return true;
  if (typeof port.port === 'number')
    return port.port <= packet.port && packet.port <= (port.endPort ?? port.port);
  const target = podWith(scenario, packet.to);
  return (target?.ports ?? []).some(
    (named) =>
      named.name === port.port && named.protocol === packet.protocol && named.port === packet.port,
  );
};

const isMatch = (
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Record<string, string>,
) =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every(({ key, operator, values = [] }) => {
    const value = labels[key];
    if (operator === 'Exists') return value !== undefined;
    if (operator === 'DoesNotExist') return value === undefined;
    if (operator === 'In') return value !== undefined && values.includes(value);
    return value === undefined || !values.includes(value);
  });

const isIn = (cidr: string, address: string): boolean => {
  const [base = '', length = ''] = cidr.split('/');
  const type = base.includes(':') ? 'ipv6' : 'ipv4';
  if (address.includes(':') !== base.includes(':')) return false;
  const list = new BlockList();
  list.addSubnet(base, Number(length), type);
  return list.check(address, type);
};
