/**
 * The status of a rule CR, for people and for programs of both origins: `appliedVersion`,
 * `appliedTime` and `inSync` are the seed's, `appliedGeneration`, `state` and `message` ICN's, the
 * rest is Kubernetes custom. The coordinator alone writes it, whole. The CRDs' status schema is
 * generated from `ruleStatusSchema`.
 */
import * as z from 'zod';
import { MAX_REASON_LENGTH } from './reasons.ts';

/** ICN's exact strings (icn-sdwan 48d3ca6); its fifth, `Idle`, is never set. */
export const icnStates = ['In Sync', 'Trying to apply', 'Being delete', 'Unknown status'] as const;
export type IcnState = (typeof icnStates)[number];

/** Pods named in a status; the rest is only counted, so that a status stays small. */
export const MAX_LISTED_PODS = 10;
/** The API server accepts a message of 32 KiB in a condition; people read a few lines. */
export const MAX_CONDITION_MESSAGE = 2_048;

/**
 * `Ready`: in sync, what `kubectl wait` waits for. `Stalled`: an operator has to change something.
 * `Removed`: only while being deleted. `KernelRead`: only when it is false, since an agent sees the
 * files of its OpenWRT alone. `Paused`: only when it is true, since an annotation of a pod keeps
 * its agent from changing anything. `TunnelUp`: of rules that bring tunnels of IPsec up.
 */
export const conditionTypes = [
  'Ready',
  'Stalled',
  'Removed',
  'KernelRead',
  'Paused',
  'TunnelUp',
] as const;
export type ConditionType = (typeof conditionTypes)[number];

export const conditionSchema = z.object({
  type: z.string().max(63).describe('Ready, Stalled, Removed, KernelRead, Paused or TunnelUp.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it is so.'),
  reason: z.string().max(MAX_REASON_LENGTH).describe('CamelCase word for programs.'),
  message: z.string().max(MAX_CONDITION_MESSAGE).describe('Sentence for people.'),
  observedGeneration: z.int().describe('The generation that this is about.'),
  lastTransitionTime: z
    .string()
    .max(64)
    .meta({ format: 'date-time' })
    .describe('When status last changed, RFC 3339 in whole seconds.'),
});
export type Condition = z.infer<typeof conditionSchema>;

/** Whether a pod has a rule in force, for the whole sentence see `wordsOfForce`. */
export const forces = ['InForce', 'NotInForce', 'EarlierInForce', 'Unconfirmed'] as const;

export const podProblemSchema = z.object({
  pod: z.string().max(253).describe('Name of the pod.'),
  reason: z.string().max(MAX_REASON_LENGTH).describe('CamelCase word for programs.'),
  message: z.string().max(1_024).describe('Sentence for people.'),
  inForce: z
    .enum(forces)
    .optional()
    .describe(
      'Whether its OpenWRT has the rule in force: as it is now, not at all, an earlier generation of it, or as far as was known before, which no agent confirms.',
    ),
  generationInForce: z
    .int()
    .optional()
    .describe('Which generation is in force, or was when it was last read; absent: none.'),
});
export type PodProblem = z.infer<typeof podProblemSchema>;

/**
 * Which CNF a rule has cut off from the API server: pods of it that start leave the rule out while
 * it has this revision.
 */
export const lostConnectivitySchema = z.object({
  purpose: z.string().max(63).describe('The CNF.'),
  revision: z.string().max(64).describe('Hash of what the rule asked for.'),
  message: z.string().max(1_024).describe('What a pod of it has found.'),
  pod: z.string().max(253).optional().describe('Which pod has found that.'),
  podUID: z.string().max(64).optional().describe('Its uid.'),
});
/** How a pod begins that leaves a rule out by this entry alone, and has found nothing itself. */
export const LOST_ELSEWHERE = 'another pod of the CNF has lost its connection with the rule: ';

/** What others did to a rule on OpenWRTs, and agents have put right. */
export const driftStatusSchema = z.object({
  count: z.int().describe('Sections of the rule that were put back, on all pods.'),
  lastTime: z
    .string()
    .max(64)
    .meta({ format: 'date-time' })
    .describe('When one was put back last, RFC 3339 in milliseconds.'),
  section: z.string().max(256).describe('Which one that was: package.section.'),
});

export const ruleStatusSchema = z.object({
  observedGeneration: z
    .int()
    .optional()
    .describe('The generation of the rule that this status is about.'),
  inSync: z
    .boolean()
    .optional()
    .describe('Every live pod of the CNF is ready and has exactly this rule now.'),
  appliedVersion: z
    .string()
    .max(32)
    .optional()
    .describe(
      'The generation that all live pods have. Absent while a pod is not ready or lacks it.',
    ),
  appliedTime: z
    .string()
    .max(64)
    .meta({ format: 'date-time' })
    .optional()
    .describe('When the last pod confirmed appliedVersion.'),
  appliedGeneration: z
    .int()
    .optional()
    .describe('appliedVersion as a number, as the ICN controller writes it.'),
  state: z.enum(icnStates).optional().describe('The state in the words of the ICN controller.'),
  message: z
    .string()
    .max(MAX_CONDITION_MESSAGE)
    .optional()
    .describe('What keeps the rule from being in sync or gone; absent in sync.'),
  pods: z
    .object({
      live: z.int().describe('Pods of the CNF that are not finished or terminating.'),
      applied: z.int().describe('Those that are ready and have exactly this rule.'),
      summary: z.string().max(32).describe('applied/live, for kubectl get.'),
    })
    .optional()
    .describe(
      'While the rule is being deleted: the pods that may still hold it, of those that could.',
    ),
  outOfSync: z
    .array(podProblemSchema)
    .max(MAX_LISTED_PODS)
    .optional()
    .describe('Pods that are not in sync, or that block the deletion, and why; the first ten.'),
  drift: driftStatusSchema
    .optional()
    .describe(
      'Another user or program has changed what the rule has on OpenWRT, and it was put back.',
    ),
  lostConnectivity: lostConnectivitySchema
    .optional()
    .describe(
      'The rule has cut a pod off from the API server. New pods leave it out until it changes.',
    ),
  conditions: z
    .array(conditionSchema)
    .max(16)
    .optional()
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
    .describe('What is true of the rule; `kubectl wait --for=condition=Ready` looks here.'),
});
export type RuleStatus = z.infer<typeof ruleStatusSchema>;
