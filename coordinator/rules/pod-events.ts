/** Events on the pods of CNFs. */
import { sentenceOf } from '#shared/protocol/reasons.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { podResource } from '../cnf/workload.ts';
import type { Target } from '../cnf/target.ts';

export const agentMissing = (target: Target): RecordedEvent => ({
  object: podOf(target),
  type: 'Warning',
  reason: 'AgentMissing',
  message: `${sentenceOf('AgentMissing')}; re-create it`,
});

export const commentsRemoved = (target: Target, uciPackage: string): RecordedEvent => ({
  object: podOf(target),
  type: 'Normal',
  reason: 'CommentsRemoved',
  message:
    `the agent has written /etc/config/${uciPackage} on OpenWRT for the first time, which has removed the comments in that file, as any ` +
    `\`uci commit\` does; sections that are not the agent's are as they were. Keep notes outside of that file, for example where the ` +
    "CNF's image is made",
  once: true,
});

const podOf = ({ namespace, name, uid }: Target): RecordedEvent['object'] => ({
  apiVersion: 'v1',
  kind: podResource.kind,
  metadata: { namespace, name, uid, resourceVersion: '', creationTimestamp: '' },
});
