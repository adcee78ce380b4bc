/** Conditions whose `lastTransitionTime` changes only when the status of the condition does. */
import {
  MAX_CONDITION_MESSAGE,
  type Condition,
  type ConditionType,
} from '#shared/protocol/status.ts';
import type { Rule } from '../sources/rule.ts';
import { timestamp, truncated } from './wording.ts';

export type ConditionNow = {
  type: ConditionType;
  status: Condition['status'];
  reason: string;
  message: string;
};

/** Those that hold now, each with the time since when; a condition that is not given is gone. */
export const conditionsOf = (
  rule: Rule,
  wallMs: number,
  conditions: readonly ConditionNow[],
): Condition[] =>
  conditions.map((condition) => {
    const before = rule.status?.conditions?.find(({ type }) => type === condition.type);
    return {
      ...condition,
      message: truncated(condition.message, MAX_CONDITION_MESSAGE),
      observedGeneration: rule.generation,
      lastTransitionTime:
        before?.status === condition.status ? before.lastTransitionTime : timestamp(wallMs),
    };
  });
