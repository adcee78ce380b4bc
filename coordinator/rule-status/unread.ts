/**
 * Whether a container of the pod, of which one is OpenWRT's, has started since the agent looked at
 * OpenWRT: its report is about the time before that. The kubelet gives whole seconds of the clock
 * that the agent has, too: only what was found after that second was found after the start. The
 * agent reports when its looks come to such a second (`agent/report/freshness.ts`), so no heartbeat
 * is waited for.
 */
import type { CnfPod } from '../sources/cnf-pod.ts';
import type { PodReport } from './pod-report.ts';

const SECOND_MS = 1_000;

/** The problem; undefined: no container has, or that cannot be known. */
export const unreadSince = (
  { clock }: Pick<PodReport, 'clock'>,
  { othersStartedAt }: Pick<CnfPod, 'othersStartedAt'>,
): string | undefined => {
  const { verified } = clock;
  if (!verified || othersStartedAt === undefined) return undefined;
  return verified.last >= othersStartedAt + SECOND_MS
    ? undefined
    : 'a container of the pod has started since the agent last looked at OpenWRT';
};
