/**
 * CNFStatus: how the pods of a CNF are, as their agents report it. One object per purpose, named
 * like it, and ICN's `sdewan-system/cnf-status` for all. The coordinator writes it; its spec is
 * empty and nothing reads it to decide anything.
 */
import * as z from 'zod';
import { objectSchema, type ResourceType } from '../../kube/objects.ts';
import { RULE_GROUP, RULE_VERSION } from '../../names.ts';
import {
  firewallSchema,
  interfaceSchema,
  leftOverSchema,
  routeSchema,
  tunnelSchema,
  wanSchema,
} from '../../protocol/information.ts';
import { MESSAGE_COLUMN, PURPOSE_COLUMN, shareColumn } from '../columns.ts';
import type { Resource } from '../resource.ts';

/** ICN's one object for all CNFs. */
export const CLASSIC_NAME = 'cnf-status';
/** Pods that are listed; the others are only counted. */
export const MAX_STATUS_PODS = 100;

const text = (max: number) => z.string().max(max);
const moment = () => text(64).meta({ format: 'date-time' });

const podSchema = z.object({
  name: text(253).describe('The pod.'),
  namespace: text(63),
  node: text(253).optional(),
  purpose: text(63),
  ip: text(64).optional(),
  status: text(32_768).describe(
    "Available or Not Available; in sdewan-system/cnf-status the modules of ICN's REST as JSON text.",
  ),
  ready: z.boolean().optional().describe('The pod is ready.'),
  message: text(1_024).optional().describe('Why nothing newer is known of it.'),
  observedTime: moment().optional().describe('When what follows was first reported.'),
  firewall: firewallSchema.optional(),
  interfaces: z.array(interfaceSchema).max(64).optional().describe('Interfaces of OpenWRT.'),
  wans: z.array(wanSchema).max(64).optional().describe('Interfaces that mwan3 tracks.'),
  tunnels: z.array(tunnelSchema).max(128).optional().describe('IPsec tunnels.'),
  routes: z.array(routeSchema).max(128).optional().describe('Routes that OpenWRT keeps.'),
  leftOvers: z
    .array(leftOverSchema)
    .max(32)
    .optional()
    .describe("Sections that ICN's controller made for rules that do not exist."),
  leftOut: z.int().optional().describe('Entries of these lists that were too many.'),
});
export type PodStatus = z.infer<typeof podSchema>;

const shareSchema = z.object({
  up: z.int(),
  total: z.int(),
  summary: text(32).describe('up/total, for kubectl get.'),
});

export const cnfStatusSchema = z.object({
  appliedGeneration: z.int().optional().describe('As ICN has it; the spec is empty.'),
  appliedTime: moment().optional().describe('When anything here last changed.'),
  pods: shareSchema.optional().describe('Pods of which something is known now, of all.'),
  wans: shareSchema.optional().describe('WANs that mwan3 has up, over all pods.'),
  tunnels: shareSchema.optional().describe('IPsec tunnels that are up, over all pods.'),
  message: text(2_048).optional().describe('What is not as it should be.'),
  information: z
    .array(podSchema)
    .max(MAX_STATUS_PODS)
    .optional()
    .describe('Per pod, by name; the first hundred, with lists as far as there is room.'),
});
export type CnfStatus = z.infer<typeof cnfStatusSchema>;

const objectWithStatus = objectSchema.extend({
  /** One that is not ours, or of an older form, counts as none: it is replaced whole. */
  status: cnfStatusSchema.optional().catch(undefined),
});
export type CnfStatusObject = z.infer<typeof objectWithStatus>;

/** The category of the rules leaves it out: people do not apply it. */
export const cnfStatusResource = {
  group: RULE_GROUP,
  version: RULE_VERSION,
  scope: 'Namespaced',
  kind: 'CNFStatus',
  plural: 'cnfstatuses',
  shortNames: ['cnfst'],
  description: 'How the pods of a CNF are, as their agents report it.',
  spec: z.strictObject({}).describe('Empty.'),
  status: cnfStatusSchema,
  columns: [
    PURPOSE_COLUMN,
    shareColumn('Pods', '.status.pods'),
    shareColumn('WANs', '.status.wans'),
    shareColumn('Tunnels', '.status.tunnels'),
    { name: 'Changed', type: 'date', jsonPath: '.status.appliedTime' },
    MESSAGE_COLUMN,
  ],
  coalesceMs: 1_000,
  isMadeByCoordinator: true,
  schema: objectWithStatus,
} satisfies Resource & ResourceType<CnfStatusObject>;
