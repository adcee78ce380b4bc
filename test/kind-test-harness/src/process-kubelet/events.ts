/** Events, mostly on pods. What repeats is counted on one Event, as `kubectl describe` expects. */
import type { KubeClient } from '../kube/client.ts';
import type { KubeObject } from '../kube/objects.ts';

/** What an Event is about; a pod unless it says otherwise. */
export type Subject = KubeObject & { kind?: string };

export type EventRecorder = {
  record: (about: Subject, type: 'Normal' | 'Warning', reason: string, message: string) => void;
  /** Forgets what was counted for an object that is gone. */
  forget: (about: Subject) => void;
};

export type EventDeps = {
  client: KubeClient;
  nodeName: string;
  now: () => number;
  onError: (error: unknown) => void;
};

type Counted = { path: string; count: number; done: Promise<unknown> };

/** Longest message that the API server takes. */
const MAX_MESSAGE = 1024;

export const createEventRecorder = (deps: EventDeps): EventRecorder => {
  const counted = new Map<string, Map<string, Counted>>();
  let sequence = 0;

  const create = ({ metadata }: Subject, event: object): Counted => {
    const { namespace, name } = metadata;
    sequence += 1;
    const eventName = `${name}.${deps.now().toString(16)}${sequence}`;
    const path = `/api/v1/namespaces/${namespace}/events`;
    const done = deps.client
      .create(path, { ...event, metadata: { name: eventName, namespace } })
      .catch(deps.onError);
    return { path: `${path}/${eventName}`, count: 1, done };
  };

  return {
    record: (about, type, reason, message) => {
      const { kind = 'Pod', metadata } = about;
      const { namespace, name, uid, resourceVersion } = metadata;
      const mine = counted.get(uid) ?? new Map<string, Counted>();
      counted.set(uid, mine);
      const key = `${reason}\n${message}`;
      const at = new Date(deps.now()).toISOString().replace(/\.\d+Z$/, 'Z');
      const before = mine.get(key);
      if (before) {
        before.count += 1;
        const { count } = before;
        before.done = before.done
          .then(async () => await deps.client.patch(before.path, { count, lastTimestamp: at }))
          .catch(deps.onError);
        return;
      }
      const event = {
        apiVersion: 'v1',
        kind: 'Event',
        involvedObject: { apiVersion: 'v1', kind, namespace, name, uid, resourceVersion },
        type,
        reason,
        message: message.slice(0, MAX_MESSAGE),
        source: { component: 'kubelet', host: deps.nodeName },
        reportingComponent: 'kubelet',
        reportingInstance: deps.nodeName,
        firstTimestamp: at,
        lastTimestamp: at,
        count: 1,
      };
      mine.set(key, create(about, event));
    },
    forget: ({ metadata }) => {
      counted.delete(metadata.uid);
    },
  };
};
