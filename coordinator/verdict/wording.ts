/** How statuses name pods: short, names first, the same facts always in the same words. */
import type { PodProblem } from '#shared/protocol/status.ts';

/** Pods named in one sentence; a status lists up to ten. */
const MAX_NAMED = 5;

/** `2 of 3 pods: cnf-1-a, cnf-1-b: OpenWRT does not answer; cnf-1-c: …`. Pods with the same problem are named together. */
export const describePods = (problems: readonly PodProblem[], total: number): string => {
  const byMessage = Map.groupBy(problems, ({ message }) => message);
  const sentences = [...byMessage].map(([message, pods]) => `${namesOf(pods)}: ${message}`);
  return truncated(`${problems.length} of ${total} pods: ${sentences.join('; ')}`, 2_048);
};

const namesOf = (pods: readonly PodProblem[]): string => {
  const named = pods.slice(0, MAX_NAMED).map(({ pod }) => pod);
  const rest = pods.length - named.length;
  return named.join(', ') + (rest > 0 ? ` and ${rest} more` : '');
};

/** Which of several problems a condition takes its reason from: what passes by itself comes last. */
export const rankOf = ({ reason, failed }: { reason: string; failed?: boolean }): number => {
  if (failed) return -1;
  // 0 for all that are not in the list.
  return passing.indexOf(reason) + 1;
};

const passing = [
  'PodNotReady',
  'AgentStarting',
  'AgentRestarted',
  'OpenwrtUnread',
  'Outdated',
  'Removing',
  'Applying',
];

export const truncated = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1)}…`;

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export const timestamp = (wallMs: number): string =>
  `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
