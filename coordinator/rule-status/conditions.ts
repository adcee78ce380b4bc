/** Conditions whose `lastTransitionTime` changes only when the status of the condition does. */
import {
  MAX_CONDITION_MESSAGE,
  type Condition,
  type ConditionType,
} from '#shared/protocol/status.ts';
import type { FleetCondition } from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { Rule } from '../sources/rule.ts';
import { timestamp, truncated } from './wording.ts';

export type ConditionNow = {
  type: ConditionType;
  status: Condition['status'];
  reason: string;
  message: string;
};

type Said = { type: string; status: string; message: string };
type Dated = Pick<Said, 'type' | 'status'> & { lastTransitionTime: string };

const dated = <Now extends Said>(
  condition: Now,
  before: readonly Dated[] | undefined,
  wallMs: number,
): Now & Dated => {
  const last = before?.find(({ type }) => type === condition.type);
  return {
    ...condition,
    message: truncated(condition.message, MAX_CONDITION_MESSAGE),
    lastTransitionTime:
      last?.status === condition.status ? last.lastTransitionTime : timestamp(wallMs),
  };
};

/** Those that hold now, each with the time since when; a condition that is not given is gone. */
export const conditionsOf = (
  rule: Rule,
  wallMs: number,
  conditions: readonly ConditionNow[],
): Condition[] =>
  conditions.map((condition) => ({
    ...dated(condition, rule.status?.conditions, wallMs),
    observedGeneration: rule.generation,
  }));

type WithConditions = {
  metadata: { generation?: number | undefined };
  status?: { conditions?: readonly FleetCondition[] | undefined } | undefined;
};

/** The same for an object that is no rule. */
export const conditionOf = (
  { metadata, status }: WithConditions,
  wallMs: number,
  condition: Omit<FleetCondition, 'observedGeneration' | 'lastTransitionTime'>,
): FleetCondition => ({
  ...dated(condition, status?.conditions, wallMs),
  ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
});
