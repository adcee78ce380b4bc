/**
 * ManagedNetwork: a second network whose addresses the coordinator gives to pods before they run,
 * its own or those that Neutron gives. Each that is in use is a NetworkPort.
 */
import * as z from 'zod';
import { objectOf, type ResourceType } from '../../kube/objects.ts';
import { NETWORK_GROUP, NETWORK_VERSION } from '../../names.ts';
import { fleetConditionSchema } from './cnf-deployment.ts';
import { alike, is, nameLimit, not, present, specRule, when } from '../conditions.ts';
import { defineKind } from '../kind.ts';
import type { Resource } from '../resource.ts';

/** The most addresses of a network. */
export const MAX_ADDRESSES = 65_536;
/** The most conflicts that the status lists; the others are counted. */
export const MAX_CONFLICTS = 8;
/** Characters of each. */
export const MAX_CONFLICT = 512;

const text = (max: number) => z.string().max(max);
const count = (what: string) => z.int().optional().describe(what);
const address = () =>
  z
    .string()
    .regex(/^[0-9a-fA-F:.]+$/)
    .max(45);

const subnetSchema = z.strictObject({
  cidr: z
    .string()
    .regex(/^[0-9a-fA-F:.]+\/[0-9]{1,3}$/)
    .max(49)
    .describe('Of the network, e.g. 10.1.0.0/24.'),
  gateway: address().optional().describe('It is never given to a pod.'),
  ranges: z
    .array(
      z
        .string()
        .regex(/^[0-9a-fA-F:.]+(-[0-9a-fA-F:.]+)?$/)
        .max(91),
    )
    .min(1)
    .max(16)
    .describe(
      'Addresses that the coordinator gives to pods, e.g. 10.1.0.10-10.1.0.99. With two subnets both have the same offsets from the first address of their subnet.',
    ),
  excluded: z
    .array(address())
    .max(256)
    .optional()
    .describe('Addresses of these ranges that are not given, with those of the same offset.'),
});

const neutronId = () =>
  z
    .string()
    .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    .max(36);

const neutronSchema = z.strictObject({
  network: neutronId().describe('Id of the network, one of the project of `clouds.yaml`.'),
  subnets: z
    .array(neutronId())
    .min(1)
    .max(2)
    .optional()
    .describe('Ids of those of its subnets that count, one for each family. Default: all.'),
});

export const managedNetworkSpec = z.strictObject({
  provider: z
    .enum(['static', 'neutron'])
    .describe(
      'static: addresses are those of the ranges. neutron: they are those of ports in Neutron.',
    ),
  neutron: neutronSchema.optional().describe('The network in Neutron.'),
  names: z
    .array(
      z
        .string()
        .regex(/^([a-z0-9-]+\/)?[a-z0-9.-]+$/)
        .max(317),
    )
    .min(1)
    .max(8)
    .describe(
      'What annotations of pods call it: a Network of Nodus by its name, an attachment of Multus as namespace/name.',
    ),
  subnets: z.array(subnetSchema).min(1).max(2).optional().describe('One for each family.'),
  mtu: z.int().min(576).max(65_535).optional().describe('Shown on NetworkPorts.'),
  namespaces: z
    .array(
      z
        .string()
        .regex(/^[a-z0-9-]+$/)
        .max(63),
    )
    .max(256)
    .optional()
    .describe('Namespaces whose pods get addresses. Without any there are none.'),
  perNamespace: z
    .int()
    .min(1)
    .max(MAX_ADDRESSES)
    .optional()
    .describe('The most addresses of one namespace. Default: no limit of its own.'),
});
export type ManagedNetworkSpec = z.infer<typeof managedNetworkSpec>;

const statusSchema = z.object({
  observedGeneration: z.int().optional().describe('The generation that this is about.'),
  free: count('Addresses that can be given, both of a pair counted once.'),
  claimed: count('NetworkPorts of pods.'),
  resting: count('Those that a pod had until some seconds ago.'),
  foreign: count(
    'Addresses that pods use, or VirtualAddresses hold, and the coordinator has not given.',
  ),
  adopting: count(
    'While the reason of Ready is Adopting: interfaces of running pods whose addresses are being claimed.',
  ),
  conflicts: z
    .array(text(MAX_CONFLICT))
    .max(MAX_CONFLICTS + 1)
    .optional()
    .describe('Addresses of running pods that could not be claimed for them.'),
  conditions: z
    .array(
      fleetConditionSchema(
        'Ready: it gives addresses. Adopted: those of pods that ran before it are claimed. NotObeyed: pods wait, since an attachment takes no addresses or MACs. SweepHeld: so many ports in Neutron have no NetworkPort that none of them is deleted.',
      ),
    )
    .max(4)
    .optional()
    .describe('How the network is.'),
});
export type ManagedNetworkStatus = z.infer<typeof statusSchema>;

const managedNetworkSchema = objectOf(managedNetworkSpec, statusSchema);
export type ManagedNetwork = z.infer<typeof managedNetworkSchema>;

const STATIC = is('provider', 'static');
const NEUTRON = is('provider', 'neutron');

const conditionPath = (field: string): string => `.status.conditions[?(@.type=="Ready")].${field}`;

export const managedNetworkResource = {
  group: NETWORK_GROUP,
  version: NETWORK_VERSION,
  scope: 'Cluster',
  kind: 'ManagedNetwork',
  plural: 'managednetworks',
  shortNames: ['mnet'],
  description: 'A second network whose addresses the coordinator gives to pods before they run.',
  spec: managedNetworkSpec,
  nameRules: [nameLimit(63, 'it is a label of its NetworkPorts')],
  specRules: [
    specRule(
      'subnets',
      alike(STATIC, present('subnets')),
      'must be given for provider static alone',
    ),
    specRule(
      'neutron',
      alike(NEUTRON, present('neutron')),
      'must be given for provider neutron alone',
    ),
    specRule('mtu', when(NEUTRON, not(present('mtu'))), 'must not be given for provider neutron'),
  ],
  changeRules: [
    {
      cel: 'self.spec.provider == oldSelf.spec.provider',
      message: 'cannot change: make another ManagedNetwork',
      path: 'spec.provider',
    },
    {
      cel: '!has(self.spec.neutron) || !has(oldSelf.spec.neutron) || self.spec.neutron.network == oldSelf.spec.neutron.network',
      message: 'cannot change: make another ManagedNetwork',
      path: 'spec.neutron.network',
    },
  ],
  status: statusSchema,
  columns: [
    { name: 'Ready', type: 'string', jsonPath: conditionPath('status') },
    { name: 'Reason', type: 'string', jsonPath: conditionPath('reason') },
    { name: 'Free', type: 'integer', jsonPath: '.status.free' },
    { name: 'Claimed', type: 'integer', jsonPath: '.status.claimed' },
    { name: 'Foreign', type: 'integer', jsonPath: '.status.foreign' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Message', type: 'string', jsonPath: conditionPath('message'), priority: 1 },
  ],
  schema: managedNetworkSchema,
} satisfies Resource<ManagedNetworkSpec> & ResourceType<ManagedNetwork>;

export const managedNetworkKind = defineKind<ManagedNetworkSpec>(managedNetworkResource);
