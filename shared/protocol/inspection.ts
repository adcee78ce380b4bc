/**
 * What an agent answers to people who ask it through the API server: how its OpenWRT is, how it
 * should be, and what it waits for.
 */
import * as z from 'zod';
import { openwrtStateSchema, ruleReportSchema } from './report.ts';
import { recordOf } from '../util/untrusted.ts';

/** On loopback of the pod, where only a port-forward and the pod's own containers get to. */
export const INSPECT_PORT = 9_465;
/** GET gives an `Inspection`, GET the kernel's rules as nft lists them; POST a `Resynced`. */
export const INSPECT_PATHS = {
  inspect: '/inspect',
  kernel: '/kernel',
  metrics: '/metrics',
  resync: '/resync',
} as const;

const sectionSchema = z.object({
  name: z.string(),
  anonymous: z.boolean(),
  type: z.string(),
  options: recordOf(z.union([z.string(), z.array(z.string())])),
});

/** Version 1. What a newer agent says besides is passed over. */
export const inspectionSchema = z.object({
  agent: z.string().describe('Its version.'),
  namespace: z.string(),
  pod: z.string(),
  purpose: z.string(),
  at: z.iso.datetime(),
  openwrt: openwrtStateSchema,
  paused: z.boolean(),
  lastPass: z
    .object({ at: z.iso.datetime(), outcome: z.string(), message: z.string() })
    .optional()
    .describe('Absent before the first.'),
  watches: z.array(z.object({ kind: z.string(), problem: z.string() })).describe('That fail.'),
  waitsFor: z.array(z.string()).describe('What must come before anything is written.'),
  packages: z
    .array(
      z.object({
        name: z.string(),
        wanted: z.array(sectionSchema),
        held: z.array(sectionSchema),
        unusable: z.string().optional().describe('Why it is not written to.'),
      }),
    )
    .describe('None while it is not known which rules there are.'),
  rules: z.array(
    ruleReportSchema
      .omit({ uid: true, revision: true })
      .extend({ sections: z.array(z.string()).describe('`package.section`') }),
  ),
});
export type Inspection = z.infer<typeof inspectionSchema>;

export const resyncedSchema = z.object({
  outcome: z.string(),
  message: z.string(),
  paused: z.boolean(),
});
export type Resynced = z.infer<typeof resyncedSchema>;
