/**
 * The status of a CR that makes other CRs: whether all of them are in sync. The fields of ICN's
 * controller are kept for programs that read them. The coordinator alone writes it, whole.
 */
import * as z from 'zod';
import { ruleStatusSchema } from './status.ts';

const text = (what: string) => z.string().max(256).optional().describe(what);
const ICN = 'As the ICN controller writes it.';

export const generatorStatusSchema = ruleStatusSchema.omit({ pods: true, outOfSync: true }).extend({
  inSync: z.boolean().optional().describe('All that it makes is made, and in sync.'),
  appliedVersion: z
    .string()
    .max(32)
    .optional()
    .describe('The generation that was last in sync; absent while it is not.'),
  appliedTime: z
    .string()
    .max(64)
    .meta({ format: 'date-time' })
    .optional()
    .describe('Since when it is in sync.'),
  children: z
    .object({
      total: z.int().describe('CRs that it makes.'),
      applied: z.int().describe('Those of them that are in sync.'),
      summary: z.string().max(32).describe('applied/total, for kubectl get.'),
    })
    .optional()
    .describe('The CRs that it makes.'),
  sip: text(ICN),
  port: text(ICN),
  dport: text(ICN),
  localip: text(ICN),
  localport: text(ICN),
  remoteips: z.array(z.string().max(64)).max(256).optional().describe(ICN),
  remoteport: text(ICN),
  type: text(ICN),
  subnet: text(ICN),
  hubip: text(ICN),
  devicepip: text(ICN),
});
export type GeneratorStatus = z.infer<typeof generatorStatusSchema>;
