/**
 * AddressGroup: a slice of the addresses of the pods that a selector of a NetworkPolicy selects, at
 * one CNF. An input of agents: it has no status and no finalizer, so that a pod that comes or goes
 * costs one write. The coordinator alone writes it.
 */
import * as z from 'zod';
import { objectSchema, type ResourceType } from '../../kube/objects.ts';
import { NETWORK_GROUP, NETWORK_VERSION } from '../../names.ts';
import { MAX_SLICE_MEMBERS } from '../../policy/bounds.ts';
import { PURPOSE_COLUMN } from '../columns.ts';
import type { Resource } from '../resource.ts';

/** Length of an address, or of one with the number of a port: `fd00::1 . 53`. */
const MAX_MEMBER_LENGTH = 64;
export const groupIdSchema = z
  .string()
  .regex(/^[0-9a-f]{16}$/)
  .max(16);

export const addressGroupSpec = z.strictObject({
  group: groupIdSchema.describe('The selector, hashed: all slices of one group have the same.'),
  slice: z.int().min(0).max(1_000).describe('Which slice of the group this is, from 0.'),
  members: z
    .array(
      z
        .string()
        .regex(/^\??[0-9a-f:.]+( \. \d{1,5})?$/)
        .max(MAX_MEMBER_LENGTH),
    )
    .max(MAX_SLICE_MEMBERS)
    .describe(
      "Addresses of pods, each with a number where the group is of a port's name. One with ? before it may be another pod's: it is isolated, and nothing is let pass by it.",
    ),
});
export type AddressGroupSpec = z.infer<typeof addressGroupSpec>;

const addressGroupSchema = objectSchema.extend({ spec: addressGroupSpec });
export type AddressGroup = z.infer<typeof addressGroupSchema>;

export const addressGroupResource = {
  group: NETWORK_GROUP,
  version: NETWORK_VERSION,
  scope: 'Namespaced',
  kind: 'AddressGroup',
  plural: 'addressgroups',
  shortNames: ['ag'],
  description:
    'Addresses of pods that a selector of a NetworkPolicy selects. Written by the coordinator alone.',
  spec: addressGroupSpec,
  columns: [
    PURPOSE_COLUMN,
    { name: 'Group', type: 'string', jsonPath: '.spec.group' },
    { name: 'Slice', type: 'integer', jsonPath: '.spec.slice' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  isMadeByCoordinator: true,
  isCoordinatorsAlone: true,
  isReadByAgents: true,
  schema: addressGroupSchema,
} satisfies Resource & ResourceType<AddressGroup>;
