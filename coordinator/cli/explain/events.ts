/** What has happened to an object so far, as long as Kubernetes keeps it. */
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden } from '#shared/kube/errors.ts';
import type { KubeObject } from '#shared/kube/objects.ts';
import { eventResource } from '../cluster/events.ts';
import { rightsOf } from '../../views/rights.ts';
import type { CommandIo } from '../command.ts';
import type { SeenEvent } from '../../views/explanation.ts';

/** Oldest first; none where they may not be seen. */
export const eventsOf = async (
  { metadata: { namespace, uid } }: KubeObject,
  client: KubeClient,
  { io, signal }: { io: CommandIo; signal: AbortSignal },
): Promise<SeenEvent[]> => {
  try {
    const fieldSelector = `involvedObject.uid=${uid}`;
    const { items } = await client.list(eventResource, { namespace, fieldSelector, signal });
    return items
      .map(({ type, reason, message, count, lastTimestamp, eventTime }) => {
        const last = lastTimestamp ?? eventTime;
        return { type, reason, message, count: count ?? 1, ...(last && { last }) };
      })
      .sort((a, b) => (a.last ?? '').localeCompare(b.last ?? ''));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    for (const line of rightsOf([{ verb: 'list', resource: 'events', namespace }])) io.say(line);
    return [];
  }
};
