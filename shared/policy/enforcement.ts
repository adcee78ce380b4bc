/**
 * A policy → what is enforced of it at one place: the group of its pods, and for each direction
 * that it isolates the packets that may pass. Selectors have become groups; everything else stands
 * as in the policy. What Kubernetes implies is said here, once: a rule without peers is for all of
 * them, one without ports for all ports and protocols, and a direction without rules lets nothing
 * through.
 */
import { blockText, parseBlock } from './address-blocks.ts';
import { MAX_RULES, type TooLarge } from './bounds.ts';
import { groupId, type Group, type PodSelector } from './group-members.ts';
import { CLUSTER_SCOPE, isClusterAlone, type Scope } from './networks.ts';
import type { Policy, PolicyPeer, PolicyPort, Protocol } from './network-policy.ts';

/** `group`: its id. */
export type Peer = { group: string } | { cidr: string; except: readonly string[] };

/** `group`: addresses with the numbers of a port's name. Neither: all ports of the protocol. */
export type Port = { protocol: Protocol; port?: number; endPort?: number; group?: string };

/** Absent: any. */
export type Rule = { peers?: readonly Peer[]; ports?: readonly Port[] };

/** `pods`: id of the group. A direction that is absent is not isolated. */
export type Enforcement = { pods: string; ingress?: readonly Rule[]; egress?: readonly Rule[] };

export type Compiled =
  | { enforcement: Enforcement; groups: ReadonlyMap<string, Group> }
  | { tooLarge: TooLarge }
  /** `path` in the policy, e.g. `spec.egress[0].to[1].ipBlock.cidr`. */
  | { invalid: { path: string; message: string } };

/** What the compiler reads of a policy. */
export type CompiledFrom = Pick<Policy, 'namespace' | 'spec'>;

/** `scope`: by which addresses pods and peers are meant. */
export const compilePolicy = (policy: CompiledFrom, scope: Scope = CLUSTER_SCOPE): Compiled => {
  const { namespace, spec } = policy;
  const has = weightOf(policy);
  if (has > MAX_RULES) return { tooLarge: { what: 'rules', has, limit: MAX_RULES } };
  const groups = new Map<string, Group>();
  const use = (selected: Group): string => {
    const group = isClusterAlone(scope) ? selected : { ...selected, scope };
    const id = groupId(group);
    groups.set(id, group);
    return id;
  };
  const own: PodSelector = { pods: spec.podSelector, namespaces: { name: namespace } };
  const types = typesOf(policy);
  try {
    const enforcement: Enforcement = {
      pods: use(own),
      ...(types.includes('Ingress') && {
        ingress: (spec.ingress ?? []).map(({ from, ports }, at) =>
          ruleOf(from, ports, {
            path: `spec.ingress[${at}].from`,
            namespace,
            named: own,
            use,
          }),
        ),
      }),
      ...(types.includes('Egress') && {
        egress: (spec.egress ?? []).map(({ to, ports }, at) =>
          ruleOf(to, ports, { path: `spec.egress[${at}].to`, namespace, named: ALL_PODS, use }),
        ),
      }),
    };
    return { enforcement, groups };
  } catch (error) {
    if (!(error instanceof InvalidPolicyError)) throw error;
    return { invalid: { path: error.path, message: error.message } };
  }
};

class InvalidPolicyError extends Error {
  override name = 'InvalidPolicyError';
  readonly path: string;
  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

const ALL_PODS: PodSelector = { pods: {}, namespaces: { labels: {} } };

export const typesOf = (policy: CompiledFrom): readonly ('Ingress' | 'Egress')[] => {
  const { policyTypes = [] } = policy.spec;
  return policyTypes.length > 0 ? policyTypes : impliedTypes(policy);
};

/** How many rules and blocks the policy comes to. */
export const weightOf = (policy: CompiledFrom): number => {
  const { egress = [], ingress = [] } = policy.spec;
  const types = typesOf(policy);
  const rules = [
    ...(types.includes('Ingress')
      ? ingress.map(({ from, ports }) => ({ peers: from, ports }))
      : []),
    ...(types.includes('Egress') ? egress.map(({ to, ports }) => ({ peers: to, ports })) : []),
  ];
  return rules
    .map(({ peers = [], ports = [] }) => {
      const exceptions = peers.reduce((sum, { ipBlock }) => sum + (ipBlock?.except.length ?? 0), 0);
      return (Math.max(1, peers.length) + exceptions) * Math.max(1, ports.length);
    })
    .reduce((sum, size) => sum + size, 0);
};

const impliedTypes = ({ spec }: CompiledFrom): ('Ingress' | 'Egress')[] =>
  spec.egress === undefined || spec.egress.length === 0 ? ['Ingress'] : ['Ingress', 'Egress'];

type Context = {
  /** Where in the policy the peers are. */
  path: string;
  namespace: string;
  /** The pods that a packet of this direction can go to: the name of a port is one of theirs. */
  named: PodSelector;
  use: (group: Group) => string;
};

const ruleOf = (
  peers: readonly PolicyPeer[] | undefined,
  ports: readonly PolicyPort[] | undefined,
  context: Context,
): Rule => ({
  ...(peers?.length && { peers: peers.map((peer, at) => peerOf(peer, at, context)) }),
  ...(ports?.length && { ports: ports.map((port) => portOf(port, context)) }),
});

const peerOf = (
  { ipBlock, podSelector, namespaceSelector }: PolicyPeer,
  at: number,
  { path, namespace, use }: Context,
): Peer => {
  if (ipBlock === undefined) {
    const namespaces =
      namespaceSelector === undefined ? { name: namespace } : { labels: namespaceSelector };
    return { group: use({ pods: podSelector ?? {}, namespaces }) };
  }
  const spell = (text: string, field: string): string => {
    const block = parseBlock(text);
    if (block) return blockText(block);
    throw new InvalidPolicyError(`${path}[${at}].ipBlock.${field}`, `${text} is no block`);
  };
  return {
    cidr: spell(ipBlock.cidr, 'cidr'),
    except: ipBlock.except.map((text, index) => spell(text, `except[${index}]`)),
  };
};

const portOf = ({ protocol, port, endPort }: PolicyPort, { named, use }: Context): Port => {
  if (typeof port === 'string')
    return { protocol, group: use({ ...named, port: { name: port, protocol } }) };
  return {
    protocol,
    ...(port !== undefined && { port }),
    ...(endPort !== undefined && { endPort }),
  };
};
