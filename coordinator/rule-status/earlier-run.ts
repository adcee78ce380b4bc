/**
 * Whether a report is of a run of the agent's container before the one that the pod's status shows,
 * either of which may be known first: the kubelet posts seconds late, or the coordinator has just
 * started. Restarts are not counted, since a run may end before it has reported.
 *
 * A run ends before the next one starts, and the kubelet's times and the agent's are of one clock.
 * So a report is of the run that is shown, or of a later one, when its agent started in the same
 * second or later, or sent it later than that second. The kubelet gives whole seconds, and takes
 * the time only when the process runs already (up to a second earlier on a real node, more on a
 * busy one).
 */
import type { AgentContainer } from '../sources/cnf-pod.ts';
import type { PodReport } from './pod-report.ts';

const SECOND_MS = 1_000;

export const isOfEarlierRun = (
  { clock }: Pick<PodReport, 'clock'>,
  agent: AgentContainer,
): boolean => {
  if (agent.state !== 'started' || agent.startedAt === undefined) return false;
  return clock.startedAt < agent.startedAt && clock.sentAt < agent.startedAt + SECOND_MS;
};
