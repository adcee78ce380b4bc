/**
 * CNFDeployment: a CNF whose roll-outs wait for configured pods. Beneath it is an apps/v1
 * Deployment of its name, which makes and removes the pods; the coordinator decides when a new set
 * of them has the traffic.
 */
import * as z from 'zod';
import { objectOf, type ResourceType } from '../../kube/objects.ts';
import { FLEET_GROUP, FLEET_ROLE, HANDED_OVER_GATE, PURPOSE_LABEL } from '../../names.ts';
import { MESSAGE_COLUMN } from '../columns.ts';
import { celRule } from '../schema.ts';
import { defineKind } from '../kind.ts';
import type { Resource } from '../resource.ts';
import { MAX_DISTANCE, MAX_FLEET_PODS } from '../../protocol/report.ts';
import { own } from '../../util/own.ts';

const MAX_REPLICAS = 4;
const MAX_SOAK_SECONDS = 3_600;
const MAX_LABELS = 32;
const MAX_GATES = 16;
/** The most entries of the status's list; the others are counted in words. */
export const MAX_WAITS = 8;

/**
 * Not that of rules: `kubectl wait --for=condition=Ready sdewan` would wait for ever for a CNFSet
 * that has had its time.
 */
export const FLEET_CATEGORY = 'sdewan-fleet';

const KEPT = { 'x-kubernetes-preserve-unknown-fields': true };
const text = (max: number) => z.string().max(max);
const moment = () => text(64).meta({ format: 'date-time' });
const labels = () => z.record(z.string(), text(63)).meta({ maxProperties: MAX_LABELS });

const templateSchema = z
  .looseObject({
    metadata: z
      .looseObject({
        labels: labels().describe(`Those of the pods; ${PURPOSE_LABEL} is the purpose of the CNF.`),
      })
      .describe('Of the pods.')
      .meta(KEPT),
    spec: z
      .looseObject({
        readinessGates: z
          .array(z.looseObject({ conditionType: text(316).describe('Of the pod.') }).meta(KEPT))
          .max(MAX_GATES)
          .optional()
          .describe('Conditions that a pod needs to be ready.'),
      })
      .describe('A pod spec.')
      .meta(KEPT),
  })
  .describe('A pod template, as a Deployment has it.')
  .meta(KEPT);
export type FleetTemplate = z.infer<typeof templateSchema>;

/** Each write of the Deployment carries all of it, and the API server takes 20 times as much. */
export const MAX_TEMPLATE_BYTES = 65_536;

/** What is wrong with a template that is too large to be rolled out; undefined: nothing. */
export const tooLarge = (template: unknown): string | undefined => {
  const bytes = Buffer.byteLength(JSON.stringify(template) ?? '');
  return bytes <= MAX_TEMPLATE_BYTES
    ? undefined
    : `spec.template has ${bytes} bytes as JSON, and at most ${MAX_TEMPLATE_BYTES} are rolled out: take annotations and long values out of it`;
};

/** For statuses, and at `kubectl apply`. */
export const mayNotRoll = (namespace: string): string =>
  `the coordinator may not roll CNFs in namespace ${namespace}: bind ClusterRole ${FLEET_ROLE} there to its service account`;

const DURATION = /^([0-9]{1,3}h)?([0-9]{1,4}m)?([0-9]{1,5}s)?$/;

const duration = (preset: string, what: string) =>
  z.string().min(2).max(16).regex(DURATION).default(preset).describe(what);

/** Five fields as cron has them, of digits, names and `* , - / # L`. */
const SCHEDULE = /^([0-9A-Za-z*,/#-]+ ){4}[0-9A-Za-z*,/#-]+$/;
/** The most images of one template that are looked up. */
export const MAX_IMAGES = 16;
/** The most digests that are remembered as having failed; the oldest goes. */
export const MAX_FAILED_DIGESTS = 16;

export const updatesSchema = z.object({
  schedule: text(64)
    .regex(SCHEDULE)
    .describe(
      'When a window opens, as the five fields of cron: minute, hour, day, month, weekday.',
    ),
  duration: duration('1h', 'For how long it is open, from 1m to 24h.'),
  timeZone: text(64)
    .regex(/^[A-Za-z][A-Za-z0-9_+/-]*$/)
    .default('UTC')
    .describe('Of the schedule, as IANA names it, such as Europe/Berlin.'),
});
export type CnfUpdates = z.infer<typeof updatesSchema>;

const SURGE_MUST = 'must be 100% or 1';

const specSchema = z.object({
  replicas: z.int().min(0).max(MAX_REPLICAS).default(1).describe('How many pods serve.'),
  strategy: z
    .enum(['RollingUpdate', 'Recreate'])
    .default('RollingUpdate')
    .describe(
      'RollingUpdate: the old pods stay until the new ones have every rule and the traffic; needs room for both. Recreate: the old pods go first.',
    ),
  surge: z
    .union([z.string(), z.number()])
    .refine((value) => value === '100%' || value === 1, { error: SURGE_MUST })
    .default('100%')
    .describe(
      'How many pods there may be over replicas: 100% stages a whole set and hands over once, 1 hands over pod by pod, for clusters without room for two sets.',
    )
    .meta({
      'x-kubernetes-int-or-string': true,
      maxLength: 4,
      'x-examples': ['100%', '1'],
      ...celRule("type(self) == int ? self == 1 : self == '100%'", SURGE_MUST),
    }),
  selector: z
    .object({ matchLabels: labels().describe('Labels with these values.') })
    .describe('Labels of the pods; cannot change.'),
  template: templateSchema,
  soakSeconds: z
    .int()
    .min(0)
    .max(MAX_SOAK_SECONDS)
    .default(30)
    .describe(
      'For how long the old pods stay after the new ones have the traffic; less than 3 is taken as 3.',
    ),
  progressDeadline: duration(
    '15m',
    'Within which a new set of pods must have every rule, such as 15m or 1h30m.',
  ),
  handOverTimeout: duration(
    '20s',
    'For how long a roll-out waits until the agents of the old pods have confirmed that others have the traffic.',
  ),
  createTimeout: duration(
    '10m',
    'Within which a pod must run with an agent that reports, or it is replaced; 0s: never.',
  ),
  healthTimeout: duration(
    '0s',
    'For how long the agent of a pod may be silent, or its containers not ready, before it is replaced; 0s: for ever.',
  ),
  onFailure: z
    .enum(['Rollback', 'Pause'])
    .default('Rollback')
    .describe(
      'What becomes of a set that fails: Rollback takes it away again, Pause leaves it without traffic.',
    ),
  paused: z.boolean().default(false).describe('Nothing new is rolled out or handed over.'),
  updates: updatesSchema
    .optional()
    .describe(
      'When the coordinator may roll out what the tags of the template have come to stand for in their registries. Absent: never.',
    ),
});
export type CnfDeploymentSpec = z.infer<typeof specSchema>;

/** `types`: which there are. */
export const fleetConditionSchema = (types: string) =>
  z.object({
    type: text(64).describe(types),
    status: z.enum(['True', 'False', 'Unknown']).describe('Whether it is so.'),
    reason: text(64).describe('Why, in one word.'),
    message: text(2_048).describe('Why, in words.'),
    observedGeneration: z.int().optional().describe('Of the CNFDeployment that was looked at.'),
    lastTransitionTime: moment().describe('When status last changed.'),
  });
const conditionSchema = fleetConditionSchema(
  'Available, Progressing, Degraded, Ready, Stalled, RBACProvisioned or ImagesCurrent.',
);
/** Length of the longest that there is, of SHA-512. */
const MAX_DIGEST = 135;

const statusSchema = z.object({
  observedGeneration: z.int().optional(),
  targetReplicas: z
    .int()
    .optional()
    .describe('Pods that are to serve: those of the spec that was looked at.'),
  replicas: z.int().optional().describe('Pods of all sets.'),
  readyReplicas: z.int().optional().describe('Pods that are ready, of all sets.'),
  progressingReplicas: z
    .int()
    .optional()
    .describe('Pods that are not ready yet, or wait behind the gate, of all sets.'),
  unhealthyReplicas: z
    .int()
    .optional()
    .describe('Pods that crash, or were ready and whose agent is silent now, of all sets.'),
  inSyncReplicas: z
    .int()
    .optional()
    .describe('Pods that have every rule at the revision of today, of all sets.'),
  selector: text(4_096).optional().describe('Of the pods, for autoscalers.'),
  stage: text(32).optional().describe('Of the roll-out; Current: there is none.'),
  stageTime: moment().optional().describe('Since when it is in that stage.'),
  revisions: z
    .object({
      current: z.int().optional(),
      staged: z.int().optional(),
      failed: z.int().optional(),
    })
    .optional()
    .describe('The numbers of the following three, as `sdewan rollout history` has them.'),
  currentRevision: text(63)
    .optional()
    .describe('Label pod-template-hash of the set that was proven last: it serves.'),
  stagedRevision: text(63).optional().describe('The same of the set that is to follow.'),
  failedRevision: text(63).optional().describe('The same of the set that failed last.'),
  waitsFor: z.array(text(1_024)).max(MAX_WAITS).optional().describe('What the roll-out waits for.'),
  excused: z
    .array(text(512))
    .max(MAX_WAITS)
    .optional()
    .describe(
      'Rules for which it does not wait: they are in force on neither set, or people have promoted the new one.',
    ),
  message: text(2_048).optional(),
  active: text(253).optional().describe('The pod at distance 0.'),
  distances: z
    .array(
      z.object({
        pod: text(253),
        distance: z.int().min(0).max(MAX_DISTANCE),
        since: moment(),
        confirmed: z.boolean().describe('Its agent has it in force..'),
      }),
    )
    .max(MAX_FLEET_PODS)
    .optional()
    .describe(
      'How near each pod is to the traffic: 0 has it, 1 and 2 stand by, 3 and more are those of another set.',
    ),
  staged: z
    .object({
      since: moment(),
      swappedTime: moment().optional(),
      handedOverTime: moment().optional(),
      readyTime: moment().optional(),
      troubledTime: moment().optional(),
    })
    .optional()
    .describe('When the set that is staged came to where it is.'),
  failed: z
    .object({ template: text(64), message: text(2_048) })
    .optional()
    .describe(
      'Which template failed, by its hash, and why. It is not tried again before it changes.',
    ),
  renewal: z
    .object({ pod: text(64), reason: text(1_024) })
    .optional()
    .describe(
      'Why the set was made anew without a change of the template, and for which pod or request, by its uid.',
    ),
  rollSetTime: moment()
    .optional()
    .describe('When annotation roll-set of a CNFSet or CNF was last served.'),
  deployment: z
    .object({
      uid: text(64),
      generation: z.int(),
      written: text(64).describe('Its spec, by its hash.'),
      template: text(64).optional().describe('The template of that, by its hash.'),
    })
    .optional()
    .describe('The Deployment as the coordinator wrote it last.'),
  resolvedImages: z
    .array(
      z.object({
        image: text(512).describe('As the template has it.'),
        digest: text(MAX_DIGEST).describe('What its pods have.'),
      }),
    )
    .max(MAX_IMAGES)
    .optional()
    .describe('What the tags of the template stand for, since the last update of each.'),
  failedImages: z
    .object({
      template: text(64).describe('The template of the spec that they are of, by its hash.'),
      digests: z.array(text(MAX_DIGEST)).max(MAX_FAILED_DIGESTS),
      message: text(1_024).describe('Why the last of them failed.'),
    })
    .optional()
    .describe('Digests that failed: none of them is tried again with that template.'),
  nextUpdateWindow: moment()
    .optional()
    .describe('When images may be updated next; absent while they may be.'),
  conditions: z
    .array(conditionSchema)
    .max(8)
    .optional()
    .describe('How the CNF is, and how its roll-out goes on.'),
});
export type CnfDeploymentStatus = z.infer<typeof statusSchema>;
export type FleetCondition = z.infer<typeof conditionSchema>;

const cnfDeploymentSchema = objectOf(specSchema, statusSchema);
export type CnfDeployment = z.infer<typeof cnfDeploymentSchema>;

const LABELS = 'self.template.metadata.labels';
const NOTHING_STAGED = '!has(oldSelf.status) || !has(oldSelf.status.stagedRevision)';
const STAGED_MESSAGE =
  'cannot change while a new set of pods is staged: wait for its end, or set the template back';

export const cnfDeploymentResource = {
  group: FLEET_GROUP,
  version: 'v1alpha1',
  scope: 'Namespaced',
  kind: 'CNFDeployment',
  plural: 'cnfdeployments',
  shortNames: ['cnfdeploy'],
  category: FLEET_CATEGORY,
  description:
    'A CNF whose roll-outs wait until the new pods have every rule, and go back by themselves when they do not get there.',
  spec: specSchema,
  specRules: [
    {
      cel: `'${PURPOSE_LABEL}' in ${LABELS} && ${LABELS}['${PURPOSE_LABEL}'] != ''`,
      message: `metadata.labels must have ${PURPOSE_LABEL}, which names the purpose of the CNF`,
      path: 'spec.template',
      holds: ({ template }) => (template.metadata.labels[PURPOSE_LABEL] ?? '') !== '',
    },
    {
      cel: `self.selector.matchLabels.size() > 0 && self.selector.matchLabels.all(key, key in ${LABELS} && ${LABELS}[key] == self.selector.matchLabels[key])`,
      message:
        'matchLabels must name labels of spec.template.metadata.labels, with the same values',
      path: 'spec.selector',
      holds: ({ selector, template }) => {
        const wanted = Object.entries(selector.matchLabels);
        return (
          wanted.length > 0 &&
          wanted.every(([key, value]) => own(template.metadata.labels, key) === value)
        );
      },
    },
    {
      cel: `!has(self.template.spec.readinessGates) || self.template.spec.readinessGates.all(gate, gate.conditionType != '${HANDED_OVER_GATE}')`,
      message: `spec.readinessGates must not have ${HANDED_OVER_GATE}: the coordinator gives it to the pods that need it`,
      path: 'spec.template',
      holds: ({ template }) =>
        (template.spec.readinessGates ?? []).every(
          ({ conditionType }) => conditionType !== HANDED_OVER_GATE,
        ),
    },
  ],
  changeRules: [
    {
      cel: 'self.spec.selector == oldSelf.spec.selector',
      message: 'cannot change: make another CNFDeployment',
      path: 'spec.selector',
    },
    {
      cel: `self.spec.strategy == oldSelf.spec.strategy || ${NOTHING_STAGED}`,
      message: STAGED_MESSAGE,
      path: 'spec.strategy',
    },
    {
      cel: `self.spec.surge == oldSelf.spec.surge || ${NOTHING_STAGED}`,
      message: STAGED_MESSAGE,
      path: 'spec.surge',
    },
  ],
  status: statusSchema,
  columns: [
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
    { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas' },
    { name: 'Progressing', type: 'integer', jsonPath: '.status.progressingReplicas' },
    { name: 'Unhealthy', type: 'integer', jsonPath: '.status.unhealthyReplicas' },
    { name: 'In Sync', type: 'integer', jsonPath: '.status.inSyncReplicas' },
    { name: 'Active', type: 'string', jsonPath: '.status.active', priority: 1 },
    { name: 'Stage', type: 'string', jsonPath: '.status.stage' },
    {
      name: 'Reason',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Degraded")].reason',
    },
    { name: 'Revision', type: 'integer', jsonPath: '.status.revisions.current' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    MESSAGE_COLUMN,
  ],
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
  schema: cnfDeploymentSchema,
} satisfies Resource<CnfDeploymentSpec> & ResourceType<CnfDeployment>;

/** As the list of all resources holds it. */
export const cnfDeploymentKind = defineKind<CnfDeploymentSpec>(cnfDeploymentResource);
