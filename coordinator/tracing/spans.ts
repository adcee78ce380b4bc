/** The spans of a change of a rule: what an agent has told, and what the coordinator did. */
import type { ChangeTimes, Report } from '#shared/protocol/report.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import type { Rule } from '../sources/rule.ts';
import type { ChangedRule } from './change.ts';

/** Times in milliseconds since 1970. */
export type Span = {
  change: ChangedRule;
  /** By the names of semantic conventions, where there is one. */
  service: 'sdewan-agent' | 'sdewan-coordinator';
  name: string;
  /** It has the others in it. */
  isRoot?: true;
  startedAt: number;
  endedAt: number;
  attributes: Readonly<Record<string, string | number>>;
};

export type Tracing = {
  /** Whether agents are to report times. */
  isOn: boolean;
  /**
   * Exported in the background. Where the collector takes none, or too many come, some are lost.
   */
  add: (spans: readonly Span[]) => void;
  /** Exports what is left, for two seconds at most. */
  close: () => Promise<void>;
};

export type RuleInSync = {
  /** When the coordinator saw the change. */
  changedAt: number;
  /** When the write of the status began that says so. */
  begunAt: number;
  writtenAt: number;
};

/**
 * From the agent of one pod. Each span begins where the one before ends, so that a time that is
 * wrong makes none negative.
 */
const spansOfAgent = (
  rule: Rule,
  { uid, name }: CnfPod,
  { times, sentAt }: { times: ChangeTimes; sentAt: number },
): Span[] => {
  const steps = [
    ['seen', times.begunAt],
    ['compiled', times.compiledAt],
    ['applied', times.appliedAt],
    ['reported', sentAt],
  ] as const;
  const attributes = {
    ...attributesOf(rule, times.generation),
    'k8s.pod.name': name,
    'k8s.pod.uid': uid,
  };
  let startedAt = times.seenAt;
  return steps.map(([step, at]): Span => {
    const endedAt = Math.max(startedAt, at);
    const span = { startedAt, endedAt, name: step, attributes };
    startedAt = endedAt;
    return { ...span, change: times, service: 'sdewan-agent' };
  });
};

export const spansOfStatus = (
  rule: Rule,
  { changedAt, begunAt, writtenAt }: RuleInSync,
): Span[] => {
  const common = {
    change: rule,
    service: 'sdewan-coordinator',
    endedAt: writtenAt,
    attributes: attributesOf(rule, rule.generation),
  } as const;
  return [
    { ...common, name: 'status', startedAt: begunAt },
    { ...common, name: `${rule.kind} changed`, isRoot: true, startedAt: changedAt },
  ];
};

/** A report's changes that its pod's CNF has: a pod can tell nothing of others' rules. */
export const spansOfReport = (
  { times = [], clock }: Pick<Report, 'times' | 'clock'>,
  pod: CnfPod,
  ruleOf: (uid: string) => Rule | undefined,
): Span[] => {
  const { sentAt } = clock ?? {};
  if (sentAt === undefined) return [];
  return times.flatMap((each) => {
    const rule = ruleOf(each.uid);
    const isOwn = rule?.namespace === pod.namespace && rule.purpose === pod.purpose;
    return isOwn && each.generation <= rule.generation
      ? spansOfAgent(rule, pod, { times: each, sentAt })
      : [];
  });
};

const attributesOf = ({ kind, namespace, name, purpose = '' }: Rule, generation: number) => ({
  'k8s.namespace.name': namespace,
  'sdewan.rule.kind': kind,
  'sdewan.rule.name': name,
  'sdewan.rule.generation': generation,
  'sdewan.purpose': purpose,
});
