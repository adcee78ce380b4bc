/** Gathers what is known of pods at one moment. */
import { sentenceOf } from '#shared/protocol/reasons.ts';
import { unreadSince } from '../../rule-status/unread.ts';
import { isSilent, type RollupContext } from '../../rule-status/pod-verdict.ts';
import { OWNERLESS, ownerlessAmong } from '../../sources/ownerless-pods.ts';
import type { CnfPods } from '../../sources/cnf-pods.ts';
import type { Reports } from '../../reports/reports.ts';
import type { CnfPod } from '../../sources/cnf-pod.ts';
import type { ReportedPod } from './status.ts';

type Sources = { pods: CnfPods; reports: Reports } & Pick<
  RollupContext,
  'monotonic' | 'silentAfterMs'
>;

/** What is known of pods that may still run: those of one purpose, or all. */
export const reportedPodsOf = (
  of: { namespace: string; purpose: string } | undefined,
  sources: Sources,
): ReportedPod[] => {
  const { pods, reports } = sources;
  const all = of ? pods.ofPurpose(of.namespace, of.purpose) : pods.all();
  const ownerless = ownerlessAmong(all);
  return all
    .filter(({ finished }) => !finished)
    .flatMap((pod) => {
      const { name, namespace, purpose, ready, uid } = pod;
      if (purpose === undefined) return [];
      const reported = reports.informationOf(uid);
      const isOwnerless = ownerless.has(pod);
      const problem = isOwnerless ? OWNERLESS : problemOf(pod, sources);
      const { notReady } = pod;
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
          ownerless: isOwnerless,
          problem,
          reported,
        },
      ];
    });
};

const problemOf = (pod: CnfPod, { reports, ...context }: Sources): string | undefined => {
  const { agent, uid } = pod;
  if (agent.state === 'missing') return sentenceOf('AgentMissing');
  const report = reports.of(uid);
  if (!report) return sentenceOf('AgentStarting');
  if (isSilent(report, context)) return sentenceOf('AgentSilent');
  const { reachable, message } = report.openwrt;
  if (!reachable) return `OpenWRT does not answer the agent: ${message}`.slice(0, 1_024);
  const doubt = unreadSince(report, pod) ?? report.doubt;
  return doubt === '' ? undefined : `OpenWRT may not have its rules: ${doubt}`.slice(0, 1_024);
};
