/**
 * How statuses name pods: the cause first, since terminals cut what is behind it; the same facts
 * always in the same words.
 */
import { few } from '#shared/util/few.ts';
import { wordsOfForce, type Force } from './in-force.ts';

type Said = { pod: string; message: string };

/** `OpenWRT does not answer (2 of 3 pods: cnf-1-a, cnf-1-b); …`: one problem, many pods. */
export const describePods = (problems: readonly Said[], total: number): string =>
  describe(problems, total, () => '');

/**
 * `OpenWRT does not answer (in force on 2 of 3 pods: cnf-1-a, cnf-1-b); …`: whether the rule is in
 * force is always said.
 */
export const describeProblems = (
  problems: readonly (Said & Force)[],
  total: number,
  generation: number,
): string => describe(problems, total, (problem) => `${wordsOfForce(problem, generation)} on `);

const describe = <P extends Said>(
  problems: readonly P[],
  total: number,
  force: (problem: P) => string,
): string => {
  const groups = Map.groupBy(problems, (each) => JSON.stringify([each.message, force(each)]));
  const sentences = [...groups.values()].flatMap((pods) => {
    const [first] = pods;
    if (first === undefined) return [];
    return `${first.message} (${force(first)}${pods.length} of ${total} pods: ${few(pods.map(({ pod }) => pod))})`;
  });
  return truncated(sentences.join('; '), 2_048);
};

/** Which of several problems gives a condition its reason: what passes by itself comes last. */
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
  'NotConfirmed',
  'Removing',
  'Applying',
];

export const truncated = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1)}…`;

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export const timestamp = (wallMs: number): string =>
  `${new Date(wallMs).toISOString().slice(0, 19)}Z`;

/** Not of a pod with all its rules, and nothing that passes by itself. */
export const isOfRule = (reason: string): boolean =>
  !passing.includes(reason) && !ofPods.has(reason);

const ofPods: ReadonlySet<string> = new Set([
  'AgentMissing',
  'AgentSilent',
  'OpenwrtUnreachable',
  'Paused',
]);
