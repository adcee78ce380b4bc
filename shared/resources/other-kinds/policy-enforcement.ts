/**
 * PolicyEnforcement: one NetworkPolicy at one CNF. Its selectors have become AddressGroups; what
 * may pass stands as in the policy. The coordinator alone writes it; people look at its status,
 * since a NetworkPolicy has none.
 */
import * as z from 'zod';
import { objectOf, type ResourceType } from '../../kube/objects.ts';
import { NETWORK_GROUP, NETWORK_VERSION } from '../../names.ts';
import { MAX_RULES, MAX_SELECTORS } from '../../policy/bounds.ts';
import { POLICY_KINDS, PROTOCOLS } from '../../policy/network-policy.ts';
import { ruleStatusSchema } from '../../protocol/status.ts';
import { groupIdSchema } from './address-group.ts';
import { PURPOSE_COLUMN, REASON_COLUMN, shareColumn } from '../columns.ts';
import type { Resource } from '../resource.ts';

const number = () => z.int().min(1).max(65_535);
const block = () =>
  z
    .string()
    .regex(/^[0-9a-f:.]+\/\d{1,3}$/)
    .max(64);

const DIRECTIONS = ['ingress', 'egress'] as const;

/** Enough for 16 networks with their namespaces. */
const MAX_PLACE_LENGTH = 2_048;
const MAX_REFUSAL = 1_024;

/** The agents' reasons that the coordinator finds. */
const REFUSAL_REASONS = ['TooLarge', 'InvalidSpec', 'SubnetUnknown'] as const;

const line = z.strictObject({
  direction: z.enum(DIRECTIONS).describe('To the pods, or from them.'),
  group: groupIdSchema.optional().describe('Only from or to pods of this group.'),
  cidr: block().optional().describe('Only from or to addresses of this block.'),
  protocol: z.enum(PROTOCOLS).optional().describe('Absent: all protocols.'),
  port: number().optional().describe('Absent: all ports of the protocol.'),
  endPort: number().optional().describe('The last one of a range.'),
  named: groupIdSchema.optional().describe('The ports that a name stands for, pod by pod.'),
});

const exception = z.strictObject({
  line: z.int().min(0).max(MAX_RULES).describe('Of which line, counted from 0.'),
  cidr: block().describe('Addresses that its block does not mean.'),
});

export const policyEnforcementSpec = z.strictObject({
  policy: z
    .strictObject({
      kind: z.enum(POLICY_KINDS).optional().describe('NetworkPolicy, unless it is said.'),
      namespace: z
        .string()
        .regex(/^[a-z0-9-]+$/)
        .max(63)
        .describe('Of the NetworkPolicy.'),
      name: z
        .string()
        .regex(/^[a-z0-9.-]+$/)
        .max(253)
        .describe('Of the NetworkPolicy.'),
      uid: z.string().max(64).describe('One that is made anew under the same name is another.'),
      generation: z.int().min(0).describe('The generation of the policy that this is made of.'),
    })
    .describe('The NetworkPolicy, or MultiNetworkPolicy: change that to change the rule.'),
  place: z
    .string()
    .regex(/^[A-Za-z0-9._/-]+(,[A-Za-z0-9._/-]+)*$/)
    .max(MAX_PLACE_LENGTH)
    .describe(
      "Which addresses are meant: cluster, the pods' own ones, and names of second networks.",
    ),
  pods: groupIdSchema.describe('The group of the pods that the policy selects.'),
  isolates: z
    .array(z.enum(DIRECTIONS))
    .max(DIRECTIONS.length)
    .describe('In which directions nothing passes but what a line lets pass.'),
  lines: z.array(line).max(MAX_RULES).describe('Each lets some packets pass.'),
  exceptions: z.array(exception).max(MAX_RULES).describe('What the blocks of lines do not mean.'),
  empty: z
    .array(groupIdSchema)
    .max(MAX_SELECTORS)
    .optional()
    .describe(
      'Groups that had no address when this was written, and no AddressGroup. Of one that is neither here nor there nothing is known yet.',
    ),
  refused: z
    .strictObject({
      generation: z.int().min(0).describe('The generation of the policy that is not carried.'),
      reason: z.enum(REFUSAL_REASONS).describe('CamelCase word for programs.'),
      message: z.string().max(MAX_REFUSAL).describe('Sentence for people.'),
    })
    .optional()
    .describe('Why the policy as it is now is not carried. All else here is of when it last was.'),
});
export type PolicyEnforcementSpec = z.infer<typeof policyEnforcementSpec>;
export type Refusal = Omit<NonNullable<PolicyEnforcementSpec['refused']>, 'generation'>;

const text = (max: number) => z.string().max(max);

/** What the roll-up of the agents' reports knows nothing of. */
export const enforcedPodsSchema = z.object({
  selected: z
    .int()
    .describe('Pods that the policy selects, host-network and finished ones among them.'),
  enforced: z.int().describe('Those whose packets through this CNF are judged by the policy.'),
  summary: text(32).describe('enforced/selected, for kubectl get.'),
});

export const notEnforcedSchema = z.object({
  reason: text(64).describe('CamelCase word for programs.'),
  pods: z.int().describe('How many of the selected pods.'),
  examples: z.array(text(320)).max(5).describe('namespace/name of some of them.'),
});

export const policyEnforcementStatusSchema = ruleStatusSchema.extend({
  selectedPods: enforcedPodsSchema.optional(),
  notEnforced: z
    .array(notEnforcedSchema)
    .max(16)
    .optional()
    .describe('Pods that the policy selects and that it does not protect here, and why.'),
  scope: text(512).optional().describe('Which packets the policy judges here.'),
});

const policyEnforcementSchema = objectOf(policyEnforcementSpec, policyEnforcementStatusSchema);
export type PolicyEnforcement = z.infer<typeof policyEnforcementSchema>;

export const policyEnforcementResource = {
  group: NETWORK_GROUP,
  version: NETWORK_VERSION,
  scope: 'Namespaced',
  kind: 'PolicyEnforcement',
  plural: 'policyenforcements',
  shortNames: ['pe'],
  description:
    'A NetworkPolicy, or MultiNetworkPolicy, at one CNF, and how far it is enforced there. Written by the coordinator alone.',
  spec: policyEnforcementSpec,
  status: policyEnforcementStatusSchema,
  columns: [
    { name: 'Policy', type: 'string', jsonPath: '.spec.policy.name' },
    PURPOSE_COLUMN,
    { name: 'Place', type: 'string', jsonPath: '.spec.place' },
    shareColumn('Pods', '.status.selectedPods'),
    shareColumn('Applied', '.status.pods'),
    { name: 'In Sync', type: 'boolean', jsonPath: '.status.inSync' },
    REASON_COLUMN,
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  isMadeByCoordinator: true,
  isCoordinatorsAlone: true,
  isReadByAgents: true,
  schema: policyEnforcementSchema,
} satisfies Resource & ResourceType<PolicyEnforcement>;
