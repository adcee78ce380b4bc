/**
 * NetworkPortPool: ports of a ManagedNetwork in Neutron that are made before pods ask for them.
 * Each is a NetworkPort that no pod has yet, and bears the name of its pool as a label.
 */
import * as z from 'zod';
import { objectOf, type ResourceType } from '../../kube/objects.ts';
import { NETWORK_GROUP, NETWORK_VERSION } from '../../names.ts';
import { fleetConditionSchema } from './cnf-deployment.ts';
import { nameLimit } from '../conditions.ts';
import { defineKind } from '../kind.ts';
import type { Resource } from '../resource.ts';

const MOST_PORTS = 1_000;

const specSchema = z.strictObject({
  network: z
    .string()
    .regex(/^[a-z0-9.-]+$/)
    .max(63)
    .describe('The ManagedNetwork, of provider neutron.'),
  min: z
    .int()
    .min(1)
    .max(MOST_PORTS)
    .describe('With fewer ports that no pod has, up to twenty more are made at once.'),
  max: z
    .int()
    .min(1)
    .max(MOST_PORTS)
    .describe('The most ports that no pod has: any beyond are deleted.'),
});
export type NetworkPortPoolSpec = z.infer<typeof specSchema>;

const count = (what: string) => z.int().optional().describe(what);

const statusSchema = z.object({
  observedGeneration: z.int().optional().describe('The generation that this is about.'),
  available: count('Ports that the next pod gets.'),
  claimed: count('Those that pods have.'),
  beingMade: count('Those that Neutron has not made yet.'),
  resting: count('Those that a pod had until some seconds ago.'),
  failed: count('Those that Neutron refuses.'),
  conditions: z
    .array(
      fleetConditionSchema(
        'Ready: it has as many available ports as min. Else the reason, and the message, say what limits it.',
      ),
    )
    .max(1)
    .optional()
    .describe('How the pool is.'),
});
export type NetworkPortPoolStatus = z.infer<typeof statusSchema>;

const networkPortPoolSchema = objectOf(specSchema, statusSchema);
export type NetworkPortPool = z.infer<typeof networkPortPoolSchema>;

const conditionPath = (field: string): string => `.status.conditions[?(@.type=="Ready")].${field}`;

export const networkPortPoolResource = {
  group: NETWORK_GROUP,
  version: NETWORK_VERSION,
  scope: 'Cluster',
  kind: 'NetworkPortPool',
  plural: 'networkportpools',
  shortNames: ['npool'],
  description: 'Ports in Neutron that are made before pods ask for them.',
  spec: specSchema,
  nameRules: [nameLimit(63, 'it is a label of its NetworkPorts')],
  specRules: [
    {
      cel: 'self.min <= self.max',
      message: 'must be at most spec.max',
      path: 'spec.min',
      holds: ({ min, max }) => min <= max,
    },
  ],
  changeRules: [
    {
      cel: 'self.spec.network == oldSelf.spec.network',
      message: 'cannot change: make another NetworkPortPool',
      path: 'spec.network',
    },
  ],
  status: statusSchema,
  columns: [
    { name: 'Network', type: 'string', jsonPath: '.spec.network' },
    { name: 'Min', type: 'integer', jsonPath: '.spec.min' },
    { name: 'Max', type: 'integer', jsonPath: '.spec.max' },
    { name: 'Available', type: 'integer', jsonPath: '.status.available' },
    { name: 'Claimed', type: 'integer', jsonPath: '.status.claimed' },
    { name: 'Ready', type: 'string', jsonPath: conditionPath('status') },
    { name: 'Reason', type: 'string', jsonPath: conditionPath('reason') },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Message', type: 'string', jsonPath: conditionPath('message'), priority: 1 },
  ],
  schema: networkPortPoolSchema,
} satisfies Resource<NetworkPortPoolSpec> & ResourceType<NetworkPortPool>;

export const networkPortPoolKind = defineKind<NetworkPortPoolSpec>(networkPortPoolResource);
