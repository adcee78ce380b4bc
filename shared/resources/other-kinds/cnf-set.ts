/**
 * CNFSet: one revision of a CNFDeployment, named like its ReplicaSet, and what became of it. The
 * coordinator alone writes it; it keeps that from being forgotten when the next revision comes.
 */
import * as z from 'zod';
import { objectOf, type ResourceType } from '../../kube/objects.ts';
import { FLEET_GROUP } from '../../names.ts';
import { FLEET_CATEGORY } from './cnf-deployment.ts';
import { MESSAGE_COLUMN } from '../columns.ts';
import type { Resource } from '../resource.ts';

const text = (max: number) => z.string().max(max);
const count = (what: string) => z.int().optional().describe(what);

/** What came of a set whose roll-out is over; absent before. */
export const OUTCOMES = ['Proven', 'Failed', 'Superseded'] as const;

const specSchema = z.strictObject({
  deployment: text(253).describe('The CNFDeployment.'),
  revision: z.int().min(0).describe("Kubernetes' number of it, when the set was first seen."),
  templateHash: text(63).describe('Label pod-template-hash of its pods.'),
});
export type CnfSetSpec = z.infer<typeof specSchema>;

const statusSchema = z.object({
  stage: text(32)
    .optional()
    .describe(
      'That of the roll-out, while it is about this set; Replaced or Superseded: another set serves.',
    ),
  since: text(64).meta({ format: 'date-time' }).optional().describe('Since when it is there.'),
  replicas: count('Its pods.'),
  ready: count('Those that are ready, and whose agent reports.'),
  progressing: count('Those that are not ready yet, or wait behind the gate.'),
  unhealthy: count('Those that crash, or were ready and whose agent is silent now.'),
  inSync: count('Those that have every rule at the revision of today.'),
  outcome: z
    .enum(OUTCOMES)
    .optional()
    .describe(
      'Proven: it has served. Failed: it was given up. Superseded: a newer one came first.',
    ),
  message: text(2_048).optional().describe('Why it failed, or what it waits for.'),
});
export type CnfSetStatus = z.infer<typeof statusSchema>;

const cnfSetSchema = objectOf(specSchema, statusSchema);
export type CnfSet = z.infer<typeof cnfSetSchema>;

export const cnfSetResource = {
  group: FLEET_GROUP,
  version: 'v1alpha1',
  scope: 'Namespaced',
  kind: 'CNFSet',
  plural: 'cnfsets',
  shortNames: [],
  category: FLEET_CATEGORY,
  description:
    'A revision of a CNFDeployment, and what became of it. Written by the coordinator alone.',
  spec: specSchema,
  status: statusSchema,
  isWrittenWhole: true,
  columns: [
    { name: 'Replicas', type: 'integer', jsonPath: '.status.replicas' },
    { name: 'Ready', type: 'integer', jsonPath: '.status.ready' },
    { name: 'Progressing', type: 'integer', jsonPath: '.status.progressing' },
    { name: 'Unhealthy', type: 'integer', jsonPath: '.status.unhealthy' },
    { name: 'In Sync', type: 'integer', jsonPath: '.status.inSync' },
    { name: 'Revision', type: 'integer', jsonPath: '.spec.revision' },
    { name: 'Stage', type: 'string', jsonPath: '.status.stage' },
    { name: 'Outcome', type: 'string', jsonPath: '.status.outcome' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    MESSAGE_COLUMN,
  ],
  isMadeByCoordinator: true,
  isCoordinatorsAlone: true,
  schema: cnfSetSchema,
} satisfies Resource<CnfSetSpec> & ResourceType<CnfSet>;
