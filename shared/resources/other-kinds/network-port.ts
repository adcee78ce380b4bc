/**
 * NetworkPort: addresses and MAC of one interface of a pod in a ManagedNetwork. Creating it is the
 * claim: its name has the offset of its addresses, in a network of Neutron its MAC, so that no two
 * pods can have one. The coordinator alone writes it.
 */
import * as z from 'zod';
import { objectOf, type ResourceType } from '../../kube/objects.ts';
import { NETWORK_GROUP, NETWORK_VERSION } from '../../names.ts';
import { defineKind } from '../kind.ts';
import type { Resource } from '../resource.ts';

const text = (max: number) => z.string().max(max);
const addresses = () => z.array(text(45)).max(2);

const claimSchema = z.strictObject({
  namespace: text(63).describe('Of the pod.'),
  pod: text(253).describe('Its name.'),
  uid: text(64).describe('One that is made anew under the same name is another.'),
  interface: text(64).describe('Of the pod.'),
  owner: text(64)
    .optional()
    .describe('uid of the controller of the pod: its next pod need not wait.'),
  keeper: z
    .strictObject({
      kind: z.enum(['Deployment', 'StatefulSet']).describe('Of apps/v1.'),
      name: text(253).describe('In the namespace of the pod.'),
      uid: text(64).describe('One that is made anew under the same name keeps nothing.'),
    })
    .optional()
    .describe('What keeps them for its next pod, a StatefulSet for that of the same name.'),
  before: text(64).optional().describe('uid of the pod that they were kept from.'),
});
type Claim = z.infer<typeof claimSchema>;
/** As an absent one is read: of no pod. */
const NO_CLAIM: Claim = { namespace: '', pod: '', uid: '', interface: '' };

const specSchema = z.strictObject({
  network: text(63).describe('The ManagedNetwork.'),
  index: z
    .int()
    .min(0)
    .optional()
    .describe('Offset of its addresses from the first address of their subnets, if not Neutron’s.'),
  mac: text(17).describe('Asked of the CNI for the interface.'),
  addresses: addresses().describe('One of each subnet; none yet while Neutron has not given any.'),
  claim: claimSchema
    .optional()
    .transform((claim) => claim ?? NO_CLAIM)
    .describe('The pod that has them; absent while they are in a pool.'),
  managed: z
    .boolean()
    .describe('Whether the coordinator gave them. false: the pod had them before.'),
});
export type NetworkPortSpec = z.infer<typeof specSchema>;

/** It is in a pool. */
export const isUnclaimed = ({ spec }: { spec: Pick<NetworkPortSpec, 'claim'> }): boolean =>
  spec.claim.uid === NO_CLAIM.uid;

const statusSchema = z.object({
  active: z.boolean().optional().describe('Whether the pod has a node.'),
  node: text(253)
    .optional()
    .describe('While it does not answer, the addresses of a pod that was on it stay claimed.'),
  portID: text(64).optional().describe('Of its port in Neutron.'),
  gateway: addresses().optional().describe('Those of the subnets.'),
  mtu: z.int().optional().describe('That of the network.'),
  keptSince: text(64)
    .meta({ format: 'date-time' })
    .optional()
    .describe('Since when no pod has them, and they are kept for the next one.'),
  releasedAt: text(64)
    .meta({ format: 'date-time' })
    .optional()
    .describe('Since when no pod has them. Some seconds later the NetworkPort goes.'),
});
export type NetworkPortStatus = z.infer<typeof statusSchema>;

const networkPortSchema = objectOf(specSchema, statusSchema);
export type NetworkPort = z.infer<typeof networkPortSchema>;

export const networkPortResource = {
  group: NETWORK_GROUP,
  version: NETWORK_VERSION,
  scope: 'Cluster',
  kind: 'NetworkPort',
  plural: 'networkports',
  shortNames: ['nport'],
  description:
    'Addresses of an interface of a pod in a ManagedNetwork. Written by the coordinator alone.',
  spec: specSchema,
  status: statusSchema,
  isWrittenWhole: true,
  columns: [
    { name: 'Network', type: 'string', jsonPath: '.spec.network' },
    { name: 'Addresses', type: 'string', jsonPath: '.spec.addresses' },
    { name: 'MAC', type: 'string', jsonPath: '.spec.mac', priority: 1 },
    { name: 'Port', type: 'string', jsonPath: '.status.portID', priority: 1 },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.claim.namespace' },
    { name: 'Pod', type: 'string', jsonPath: '.spec.claim.pod' },
    { name: 'Interface', type: 'string', jsonPath: '.spec.claim.interface' },
    { name: 'Active', type: 'boolean', jsonPath: '.status.active' },
    { name: 'Kept', type: 'date', jsonPath: '.status.keptSince' },
    { name: 'Released', type: 'date', jsonPath: '.status.releasedAt' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  isMadeByCoordinator: true,
  isCoordinatorsAlone: true,
  schema: networkPortSchema,
} satisfies Resource<NetworkPortSpec> & ResourceType<NetworkPort>;

export const networkPortKind = defineKind<NetworkPortSpec>(networkPortResource);
