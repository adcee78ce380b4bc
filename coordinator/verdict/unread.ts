/**
 * Whether a container of the pod, of which one is OpenWRT's, has started since the agent looked at OpenWRT: what is said of it was so before.
 * The kubelet gives whole seconds of the clock that the agent has, too. An agent that has noticed begins anew (`since`); one that has not
 * must have found all as it was after that second (`last`), as when another container has restarted.
 */
import type { Target } from '../cnf/target.ts';
import type { PodReport } from './pod-report.ts';

const SECOND_MS = 1_000;

/** What is said of it; undefined: no container has, or nothing can be told of it. */
export const unreadSince = (
  { clock }: Pick<PodReport, 'clock'>,
  { othersStartedAt }: Pick<Target, 'othersStartedAt'>,
): string | undefined => {
  const verified = clock?.verified;
  if (!verified || othersStartedAt === undefined) return undefined;
  const isRead = verified.since >= othersStartedAt || verified.last >= othersStartedAt + SECOND_MS;
  return isRead
    ? undefined
    : 'a container of the pod has started since the agent last looked at OpenWRT';
};
