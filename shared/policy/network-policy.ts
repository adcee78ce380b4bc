/**
 * NetworkPolicies as the API server has them, and MultiNetworkPolicies, which say the same of
 * second networks. What an empty list or a missing field means is said in `enforcement.ts`.
 */
import * as z from 'zod';
import { withoutNulls } from '../util/nulls.ts';
import { labelSelectorSchema } from '../kube/selector.ts';

export const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

const portNumber = z.int().min(1).max(65_535);
const portSchema = z
  .object({
    protocol: z.enum(PROTOCOLS).default('TCP'),
    /** A number, or the name of a port of the pod that the packet goes to. */
    port: z.union([portNumber, z.string().max(63)]).optional(),
    endPort: portNumber.optional(),
  })
  .refine(
    ({ port, endPort }) => endPort === undefined || (typeof port === 'number' && port <= endPort),
    { path: ['endPort'], message: 'ends no range that begins at port' },
  );
export type PolicyPort = z.infer<typeof portSchema>;

const peerSchema = z.object({
  podSelector: labelSelectorSchema.optional(),
  namespaceSelector: labelSelectorSchema.optional(),
  ipBlock: z.object({ cidr: z.string(), except: z.array(z.string()).default([]) }).optional(),
});
export type PolicyPeer = z.infer<typeof peerSchema>;

const ports = z.array(portSchema).optional();
const peers = z.array(peerSchema).optional();

/** The API server takes out nulls, and fills in types, of NetworkPolicies alone. */
export const networkPolicySpecSchema = z.preprocess(
  withoutNulls,
  z.object({
    podSelector: labelSelectorSchema.default({}),
    /** None is as if they were absent. */
    policyTypes: z.array(z.enum(['Ingress', 'Egress'])).optional(),
    ingress: z.array(z.object({ from: peers, ports })).optional(),
    egress: z.array(z.object({ to: peers, ports })).optional(),
  }),
);
export type NetworkPolicySpec = z.infer<typeof networkPolicySpecSchema>;

export const POLICY_KINDS = ['NetworkPolicy', 'MultiNetworkPolicy'] as const;
export type PolicyKind = (typeof POLICY_KINDS)[number];

/** A policy without the fields that are not read here. */
export type Policy = {
  kind: PolicyKind;
  namespace: string;
  name: string;
  uid: string;
  generation: number;
  /** The second networks that a MultiNetworkPolicy is for. */
  networks: readonly string[];
  spec: NetworkPolicySpec;
};

/**
 * One of which the spec is not known: a CRD need not check what the API server checks of
 * NetworkPolicies, and a spec can be too long to be kept.
 */
export type UnreadPolicy = Omit<Policy, 'spec'> & {
  unread: { reason: 'InvalidSpec' | 'TooLarge'; message: string };
};
