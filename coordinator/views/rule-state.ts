/** What the status of a rule says, in the words of this program. Pure. */
import * as z from 'zod';
import type { RuleObject } from '#shared/kube/objects.ts';
import {
  ruleStatusSchema,
  podProblemSchema,
  type Condition,
  type RuleStatus,
} from '#shared/protocol/status.ts';
import { cureOf } from './what-to-do.ts';
import { purposeOf } from './cluster-facts.ts';

export const ruleStateSchema = z.object({
  namespace: z.string(),
  /** Empty: none, so that it belongs to no CNF. */
  cnf: z.string().describe('The value of its label sdewanPurpose; empty when it has none.'),
  kind: z.string(),
  name: z.string(),
  generation: z.int(),
  state: z
    .enum(['InSync', 'NotInSync', 'BeingDeleted', 'Unknown'])
    .describe('Unknown: the status is not about this generation, or there is none.'),
  reason: z.string().describe('One of docs/status.md; NoStatus and OldStatus where it is Unknown.'),
  cause: z.string().describe('Empty in sync.'),
  cure: z
    .string()
    .optional()
    .describe('What to do; absent in sync, and for reasons of another version.'),
  since: z.string().optional().describe('RFC 3339.'),
  pods: z
    .object({ live: z.int(), applied: z.int() })
    .optional()
    .describe('While it is being deleted: the pods that may still hold it, of those that could.'),
  outOfSync: z.array(podProblemSchema).describe('The first ten pods.'),
});
export type RuleStateView = z.infer<typeof ruleStateSchema>;

export const ruleStateOf = (rule: RuleObject): RuleStateView =>
  ruleStateWith(rule, ruleStatusSchema.safeParse(rule.status).data);

/** Where the status has been read already. */
export const ruleStateWith = (rule: RuleObject, status: RuleStatus | undefined): RuleStateView => {
  const { kind, metadata } = rule;
  const place = {
    namespace: metadata.namespace,
    cnf: purposeOf(rule),
    kind,
    name: metadata.name,
    generation: metadata.generation ?? 0,
  };
  const seen = {
    ...(status?.pods && { pods: { live: status.pods.live, applied: status.pods.applied } }),
    outOfSync: status?.outOfSync ?? [],
  };
  return { ...place, ...verdictOf(rule, status), ...seen };
};

/** Rules that have one cause in common. `since`: when the first of them had it. */
export type OneCause = {
  first: RuleStateView;
  all: readonly RuleStateView[];
  since: string | undefined;
};

export const byCause = (rules: readonly RuleStateView[]): OneCause[] => {
  const groups = Map.groupBy(rules, ({ namespace, cnf, state, reason, cause }) =>
    JSON.stringify([namespace, cnf, state, reason, cause]),
  );
  return [...groups.values()].flatMap((all) => {
    const [first] = all;
    const since = all.flatMap((one) => one.since ?? []).sort()[0];
    return first ? [{ first, all, since }] : [];
  });
};

type Verdict = Pick<RuleStateView, 'state' | 'reason' | 'cause' | 'cure' | 'since'>;

const LOOK_AT_COORDINATOR =
  'Wait some seconds. If it remains, see whether the coordinator runs: kubectl get pods -n sdewan-system';

const verdictOf = ({ kind, metadata }: RuleObject, status: RuleStatus | undefined): Verdict => {
  const { deletionTimestamp, generation = 0, creationTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return beingDeleted(deletionTimestamp, kind, status);
  const ready = conditionOf(status, 'Ready');
  if (!status || !ready)
    return {
      state: 'Unknown',
      reason: 'NoStatus',
      cause: 'the coordinator has not written a status',
      cure: LOOK_AT_COORDINATOR,
      since: creationTimestamp,
    };
  const { observedGeneration = 0 } = status;
  if (observedGeneration < generation)
    return {
      state: 'Unknown',
      reason: 'OldStatus',
      cause: `the status is about generation ${observedGeneration}, and the rule has generation ${generation}`,
      cure: LOOK_AT_COORDINATOR,
    };
  const { reason, lastTransitionTime: since } = ready;
  if (status.inSync === true) return { state: 'InSync', reason, cause: '', since };
  const cause = status.message || ready.message;
  return { state: 'NotInSync', reason, cause, ...curedBy(cureOf(reason, { kind })), since };
};

const conditionOf = (status: RuleStatus | undefined, type: string): Condition | undefined =>
  status?.conditions?.find((one) => one.type === type);

const curedBy = (cure: string | undefined) => (cure === undefined ? {} : { cure });

const beingDeleted = (since: string, kind: string, status: RuleStatus | undefined): Verdict => {
  const condition = conditionOf(status, 'Removed') ?? conditionOf(status, 'Ready');
  const reason = condition?.reason ?? 'NoStatus';
  return {
    state: 'BeingDeleted',
    reason,
    cause: condition?.message || 'the coordinator has not said yet what it waits for',
    cure: cureOf(reason, { kind, isBeingDeleted: true }) ?? LOOK_AT_COORDINATOR,
    since,
  };
};
