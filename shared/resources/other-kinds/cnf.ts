/**
 * CNF: one pod of a CNFDeployment, named like it: where it runs, what its agent says, and since
 * when. The coordinator alone writes it; what health limits are counted from stands here, so that
 * it survives a restart.
 */
import * as z from 'zod';
import { objectOf, type ResourceType } from '../../kube/objects.ts';
import { FLEET_GROUP } from '../../names.ts';
import { FLEET_CATEGORY, fleetConditionSchema } from './cnf-deployment.ts';
import { MESSAGE_COLUMN } from '../columns.ts';
import type { Resource } from '../resource.ts';
import { countersSchema } from '../../protocol/counters.ts';
import { MAX_ADDRESSES_OF_DEVICE, MAX_DEVICES } from '../../protocol/report.ts';

/** Containers of a pod that are listed. */
export const MAX_IMAGES = 16;
const MAX_DISTANCE = 8;

const text = (max: number) => z.string().max(max);
const moment = () => text(64).meta({ format: 'date-time' });
const distance = () => z.int().min(0).max(MAX_DISTANCE).optional();

const specSchema = z.strictObject({
  deployment: text(253).describe('The CNFDeployment.'),
  templateHash: text(63).describe('Label pod-template-hash of its set.'),
  distance: distance().describe('How near it is to the traffic: the lowest one has it.'),
  weight: z.int().optional().describe('The higher one is preferred.'),
});
export type CnfSpec = z.infer<typeof specSchema>;

export const CNF_PHASES = ['Creating', 'Running', 'Crashing'] as const;

const statusSchema = z.object({
  phase: z.enum(CNF_PHASES).optional().describe('Of the containers of the pod.'),
  node: text(253).optional().describe('Where the pod runs.'),
  podUID: text(64).optional().describe('Of the pod.'),
  images: z
    .array(text(1_024))
    .max(MAX_IMAGES)
    .optional()
    .describe('Those of the containers, as the pod names them.'),
  agentVersion: text(64).optional().describe('That of the agent, as it says.'),
  lastEvent: z
    .object({ reason: text(64), time: moment() })
    .optional()
    .describe('The condition that changed last, by its reason, and when.'),
  networks: z
    .array(
      z.object({
        device: text(64),
        addresses: z.array(text(64)).max(MAX_ADDRESSES_OF_DEVICE),
      }),
    )
    .max(MAX_DEVICES)
    .optional()
    .describe(
      'Addresses of OpenWRT by network device, as the agent sees them; written once a minute at most.',
    ),
  counters: countersSchema
    .optional()
    .describe('Counters that the agent reads; written once a minute at most.'),
  observedTime: moment().optional().describe('When networks or counters were written last.'),
  actualDistance: distance().describe('The distance that the agent has confirmed.'),
  lastReport: moment()
    .optional()
    .describe(
      'While Connected is False: when the agent last reported. Else the same as of the last change of this status.',
    ),
  conditions: z
    .array(fleetConditionSchema('Created, Ready, Connected, InSync, Distance or Provisioned.'))
    .max(8)
    .optional()
    .describe('How the CNF is. Provisioned stays True once it was.'),
  message: text(2_048).optional().describe('What is not as it should be.'),
});
export type CnfObjectStatus = z.infer<typeof statusSchema>;

const cnfSchema = objectOf(specSchema, statusSchema);
export type CnfObject = z.infer<typeof cnfSchema>;

const conditionPath = (type: string): string => `.status.conditions[?(@.type=="${type}")].status`;

export const cnfResource = {
  group: FLEET_GROUP,
  version: 'v1alpha1',
  scope: 'Namespaced',
  kind: 'CNF',
  plural: 'cnfs',
  shortNames: [],
  category: FLEET_CATEGORY,
  description: 'A pod of a CNFDeployment, and how it is. Written by the coordinator alone.',
  spec: specSchema,
  status: statusSchema,
  isWrittenWhole: true,
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Node', type: 'string', jsonPath: '.status.node' },
    { name: 'Distance', type: 'integer', jsonPath: '.spec.distance' },
    { name: 'Ready', type: 'string', jsonPath: conditionPath('Ready') },
    { name: 'In Sync', type: 'string', jsonPath: conditionPath('InSync') },
    { name: 'Last Report', type: 'date', jsonPath: '.status.lastReport' },
    { name: 'Last Event', type: 'string', jsonPath: '.status.lastEvent.reason', priority: 1 },
    { name: 'Agent', type: 'string', jsonPath: '.status.agentVersion', priority: 1 },
    { name: 'Image', type: 'string', jsonPath: '.status.images[0]', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    MESSAGE_COLUMN,
  ],
  isMadeByCoordinator: true,
  isCoordinatorsAlone: true,
  schema: cnfSchema,
} satisfies Resource<CnfSpec> & ResourceType<CnfObject>;
