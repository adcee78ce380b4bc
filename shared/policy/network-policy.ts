/** NetworkPolicies as the API server has them. What an empty list or a missing field means is said in `enforcement.ts`. */
import * as z from 'zod';
import { labelSelectorSchema } from '../kube/selector.ts';

export const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export const portNameOrNumber = z.union([z.int(), z.string()]);

const portSchema = z.object({
  protocol: z.enum(PROTOCOLS).default('TCP'),
  /** A number, or the name of a port of the pod that the packet goes to. */
  port: portNameOrNumber.optional(),
  endPort: z.int().optional(),
});
export type PolicyPort = z.infer<typeof portSchema>;

const peerSchema = z.object({
  podSelector: labelSelectorSchema.optional(),
  namespaceSelector: labelSelectorSchema.optional(),
  ipBlock: z.object({ cidr: z.string(), except: z.array(z.string()).default([]) }).optional(),
});
export type PolicyPeer = z.infer<typeof peerSchema>;

const ports = z.array(portSchema).optional();
const peers = z.array(peerSchema).optional();

export const networkPolicySpecSchema = z.object({
  podSelector: labelSelectorSchema.default({}),
  policyTypes: z.array(z.enum(['Ingress', 'Egress'])).optional(),
  ingress: z.array(z.object({ from: peers, ports })).optional(),
  egress: z.array(z.object({ to: peers, ports })).optional(),
});
export type NetworkPolicySpec = z.infer<typeof networkPolicySpecSchema>;

/** A policy without what nobody here reads. */
export type Policy = {
  namespace: string;
  name: string;
  uid: string;
  generation: number;
  spec: NetworkPolicySpec;
};
