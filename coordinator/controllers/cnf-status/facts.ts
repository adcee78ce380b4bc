/** Gathers what is known of pods at one moment. */
import { sentenceOf } from '#shared/protocol/reasons.ts';
import { unreadSince } from '../../rule-status/unread.ts';
import { isSilent, type RollupContext } from '../../rule-status/pod-verdict.ts';
import { STRANGER, strangersAmong } from '../../sources/ownerless-pods.ts';
import type { Pods } from '../../sources/cnf-pods.ts';
import type { Reports } from '../../reports/reports.ts';
import type { Target } from '../../sources/cnf-pod.ts';
import type { PodKnowledge } from './status.ts';

type Sources = { pods: Pods; reports: Reports } & Pick<
  RollupContext,
  'monotonic' | 'silentAfterMs'
>;

/** Of pods that may still run: those of one purpose, or all. */
export const knowledgeOf = (
  of: { namespace: string; purpose: string } | undefined,
  sources: Sources,
): PodKnowledge[] => {
  const { pods, reports } = sources;
  const targets = of ? pods.ofPurpose(of.namespace, of.purpose) : pods.all();
  const strangers = strangersAmong(targets);
  return targets
    .filter(({ finished }) => !finished)
    .flatMap((target) => {
      const { name, namespace, purpose, ready, uid } = target;
      if (purpose === undefined) return [];
      const reported = reports.informationOf(uid);
      const stranger = strangers.has(target);
      const problem = stranger ? STRANGER : problemOf(target, sources);
      const { notReady } = target;
      const { node, ip } = pods.placeOf(uid);
      return [
        {
          name,
          namespace,
          purpose,
          node,
          ip,
          ready,
          notReady,
          stranger,
          problem,
          reported,
        },
      ];
    });
};

const problemOf = (target: Target, { reports, ...context }: Sources): string | undefined => {
  const { agent, uid } = target;
  if (agent.state === 'missing') return sentenceOf('AgentMissing');
  const report = reports.of(uid);
  if (!report) return sentenceOf('AgentStarting');
  if (isSilent(report, context)) return sentenceOf('AgentSilent');
  const { reachable, message } = report.openwrt;
  if (!reachable) return `OpenWRT does not answer the agent: ${message}`.slice(0, 1_024);
  const doubt = unreadSince(report, target) ?? report.doubt;
  return doubt === '' ? undefined : `OpenWRT may not have its rules: ${doubt}`.slice(0, 1_024);
};
