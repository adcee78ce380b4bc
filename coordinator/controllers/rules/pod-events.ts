/** Events on the pods of CNFs. */
import { sentenceOf } from '#shared/protocol/reasons.ts';
import type { Drift, UnreadOthers } from '#shared/protocol/report.ts';
import { few } from '#shared/util/few.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { podResource } from '../../sources/workload.ts';
import type { CnfPod } from '../../sources/cnf-pod.ts';

export const agentMissing = (pod: CnfPod): RecordedEvent => ({
  object: podOf(pod),
  type: 'Warning',
  reason: 'AgentMissing',
  message: `${sentenceOf('AgentMissing')}; re-create it`,
});

export const podNotReady = (pod: CnfPod): RecordedEvent => ({
  object: podOf(pod),
  type: 'Warning',
  reason: 'PodNotReady',
  message: `${pod.notReady}; until the pod is ready, its rules are not in sync`,
});

/** One for each package, whose words are the same when it happens again. */
export const driftRepaired = (pod: CnfPod, drifts: readonly Drift[]): RecordedEvent[] => {
  const emptied = new Set(drifts.flatMap(({ package: name, whole }) => (whole ? [name] : [])));
  const changed = Map.groupBy(
    drifts.filter(({ whole }) => !whole),
    (drift) => drift.package,
  );
  return [
    ...[...emptied].map((name) => packageRestored(pod, name)),
    ...[...changed].map(([name, sections]) => sectionsRestored(pod, name, sections)),
  ];
};

const packageRestored = (pod: CnfPod, name: string): RecordedEvent => ({
  object: podOf(pod),
  type: 'Warning',
  reason: 'DriftRepaired',
  message: `OpenWRT has come back without the agent's sections of package ${name}, as after a restart; the agent has written them again`,
});

const sectionsRestored = (pod: CnfPod, name: string, sections: readonly Drift[]): RecordedEvent => {
  const names = [...new Set(sections.map(({ section }) => section))].sort();
  return {
    object: podOf(pod),
    type: 'Warning',
    reason: 'DriftRepaired',
    message: `another user or program changed package ${name} on OpenWRT (${few(names)}); the agent has put it back`,
  };
};

export const commentsRemoved = (pod: CnfPod, uciPackage: string): RecordedEvent => ({
  object: podOf(pod),
  type: 'Normal',
  reason: 'CommentsRemoved',
  message:
    `the agent's first write of /etc/config/${uciPackage} on OpenWRT has removed the comments in that file, as any ` +
    `\`uci commit\` does; the sections of others are unchanged. Keep notes outside of that file, for example where the ` +
    "CNF's image is built",
  once: true,
});

export const stateFolderUnwritable = (pod: CnfPod, cause: string): RecordedEvent => ({
  object: podOf(pod),
  type: 'Warning',
  reason: 'StateFolderUnwritable',
  message: `${cause}; until that is mended nothing is changed on OpenWRT. The folder is an emptyDir of the pod: free its node's disk, or replace the pod`,
  // Each report says it again.
  once: true,
});

export const sectionsUnread = (
  pod: CnfPod,
  { package: uciPackage, sections }: UnreadOthers,
): RecordedEvent => ({
  object: podOf(pod),
  type: 'Warning',
  reason: 'SectionsUnread',
  message: `the agent cannot tell whether the kernel has what others have put into /etc/config/${uciPackage} on OpenWRT: ${sections}`,
  // Each report says it again.
  once: true,
});

const podOf = ({ namespace, name, uid }: CnfPod): RecordedEvent['object'] => ({
  apiVersion: 'v1',
  kind: podResource.kind,
  metadata: { namespace, name, uid, resourceVersion: '', creationTimestamp: '' },
});
