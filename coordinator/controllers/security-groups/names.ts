/**
 * What is ours in Neutron bears one prefix, and the cluster's mark: groups of two clusters in one
 * project leave each other alone. Pure.
 */
import { createHash } from 'node:crypto';
import { prefixOf } from '../../neutron/names.ts';

/** Characters of a name or a description in Neutron. */
const MOST = 255;

/** On all of our groups. */
export const clusterTag = (cluster: string): string => `sdewan/${cluster}`;

export const DIRECTIONS = ['ingress', 'egress'] as const;
export type PolicyDirection = (typeof DIRECTIONS)[number];
const SHORT: Readonly<Record<PolicyDirection, string>> = { ingress: 'IN', egress: 'EG' };

export const policyTag = (uid: string, direction: PolicyDirection): string =>
  `${uid}/${SHORT[direction]}`;

/** Readable, and unique by the policy's uid. `port`: of rules for pods with this number. */
export const policyGroupName = (
  cluster: string,
  policy: { namespace: string; name: string; uid: string },
  { direction, port }: { direction: PolicyDirection; port?: string },
): string => {
  const hash = createHash('sha256').update(policy.uid).digest('hex').slice(0, 12);
  const end = `.${hash}/${SHORT[direction]}${port === undefined ? '' : `/${port}`}`;
  const start = `${prefixOf(cluster)}policy/`;
  const readable = `${policy.namespace}.${policy.name}`.slice(0, MOST - start.length - end.length);
  return `${start}${readable}${end}`;
};

/** `id`: of the selector. `number`: what the port of that name is on those of its pods. */
export const selectorName = (cluster: string, id: string, number?: number): string =>
  `${prefixOf(cluster)}selector/${id}${number === undefined ? '' : `/${number}`}`;

/** The name of an address group, by the blocks in it: what changes is another one. */
export const blocksName = (cluster: string, blocks: readonly string[]): string => {
  const hash = createHash('sha256').update(blocks.toSorted().join()).digest('hex').slice(0, 16);
  return `${prefixOf(cluster)}blocks/${hash}`;
};

export const baseName = (cluster: string, direction: PolicyDirection): string =>
  `${prefixOf(cluster)}base/${SHORT[direction]}`;

export const nodesName = (cluster: string): string => `${prefixOf(cluster)}nodes`;

export const descriptionOf = (text: string): string => text.slice(0, MOST);

export type GroupRole = {
  /** Undefined: it is none of our names. */
  role: 'policy' | 'selector' | 'base' | 'nodes' | undefined;
  /** In which its rules let packets pass; undefined: it has none. */
  direction: PolicyDirection | undefined;
};

/** Namespaces and names of policies have no slash. */
const ROLE_OF =
  /^sdewan\/[^/]+\/(policy|selector|base|nodes)(?:\/[^/]+(?=\/(?:IN|EG)))?(?:\/(IN|EG))?/;

/** What the name says of the group. */
export const roleOf = (name: string): GroupRole => {
  const [, role, end] = ROLE_OF.exec(name) ?? [];
  if (role === 'nodes') return { role, direction: 'ingress' };
  if (role === 'selector') return { role, direction: undefined };
  if (role === 'policy' || role === 'base')
    return { role, direction: end === 'IN' ? 'ingress' : 'egress' };
  return { role: undefined, direction: undefined };
};
