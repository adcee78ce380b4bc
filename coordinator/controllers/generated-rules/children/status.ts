/** The status of a CR that makes others, out of what became of them. Pure. */
import type { GeneratorStatus } from '#shared/protocol/generator-status.ts';
import type { IcnStatus } from '#shared/resources/generation.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { ConditionReason, Reason } from '#shared/protocol/reasons.ts';
import { conditionsOf, type ConditionNow } from '../../../rule-status/conditions.ts';
import { timestamp } from '../../../rule-status/wording.ts';
import { ruleOf, type Rule } from '../../../sources/rule.ts';

/** Something that keeps a CR from being what it asks for. */
export type GeneratorProblem = {
  reason: ConditionReason | Reason;
  message: string;
  /** Waiting does not help: an operator has to change something. */
  stalled: boolean;
};

export type GeneratorFacts = {
  parent: Rule;
  problem: GeneratorProblem | undefined;
  /** How many it should have. */
  total: number;
  /** Those that are there; none of them is being deleted. */
  children: readonly RuleObject[];
  icn: IcnStatus;
  /** Wall-clock milliseconds. */
  now: number;
};

export const generatorStatus = (facts: GeneratorFacts): GeneratorStatus => {
  const { parent, total, icn, now } = facts;
  const rules = facts.children.map((child) => ruleOf(child, ''));
  const applied = rules.filter(isInSync).length;
  const problem = facts.problem ?? childProblem(rules, total);
  const counts = { total, applied, summary: `${applied}/${total}` };
  const common = { observedGeneration: parent.generation, children: counts, ...icn };
  if (problem) {
    const { reason, message, stalled } = problem;
    return {
      ...common,
      inSync: false,
      state: parent.deletedAt === undefined ? 'Trying to apply' : 'Being delete',
      message,
      conditions: conditionsOf(parent, now, [
        { type: 'Ready', status: 'False', reason, message },
        ...(stalled ? [{ type: 'Stalled', status: 'True', reason, message } as const] : []),
      ] satisfies ConditionNow[]),
    };
  }
  const version = String(parent.generation);
  const since = parent.status?.appliedVersion === version ? parent.status.appliedTime : undefined;
  return {
    ...common,
    inSync: true,
    state: 'In Sync',
    appliedVersion: version,
    appliedGeneration: parent.generation,
    appliedTime: since ?? timestamp(now),
    conditions: conditionsOf(parent, now, [
      {
        type: 'Ready',
        status: 'True',
        reason: 'InSync',
        message: `all generated rules (${total})`,
      },
    ]),
  };
};

/** For this very generation; a condition of an earlier one does not count. */
const isInSync = ({ generation, status }: Rule): boolean =>
  status?.inSync === true && status.observedGeneration === generation;

const childProblem = (rules: readonly Rule[], total: number): GeneratorProblem | undefined => {
  const waiting = rules.find((rule) => !isInSync(rule));
  if (!waiting && rules.length === total) return undefined;
  const why = waiting
    ? `${waiting.kind} ${waiting.name}: ${waiting.status?.message ?? 'not yet in sync'}`
    : `${rules.length} of ${total} generated`;
  const stalled =
    waiting?.status?.conditions?.some(
      ({ type, status }) => type === 'Stalled' && status === 'True',
    ) ?? false;
  return { reason: 'ChildNotInSync', message: why, stalled };
};
