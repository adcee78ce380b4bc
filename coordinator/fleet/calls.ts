/** What a roll-out does to pods: a label, an annotation and one condition. Each call can only hit the pod that was judged. */
import type { KubeClient } from '#shared/kube/client.ts';
import { ACTIVE_LABEL, DELETION_COST_ANNOTATION, HANDED_OVER_GATE } from '#shared/names.ts';
import { timestamp } from '../verdict/wording.ts';
import { fleetPods, type FleetPodObject } from './apps.ts';
import type { Action } from './stage.ts';

type Calls = {
  client: Pick<KubeClient, 'patch'>;
  pods: readonly FleetPodObject[];
  now: number;
  signal: AbortSignal;
};

/** In their order. @throws KubeError; a conflict: somebody has changed a pod since */
export const carryOutActions = async (actions: readonly Action[], calls: Calls): Promise<void> => {
  const known = new Map(calls.pods.map((pod) => [pod.metadata.name, pod]));
  for (const action of actions) {
    const pod = known.get(action.pod);
    if (pod) known.set(action.pod, await call(action, pod, calls));
  }
};

/** Its ReplicaSet makes another one. @throws KubeError; a conflict: it is another pod by now */
export const replacePod = async (
  { metadata: { namespace, name, uid } }: FleetPodObject,
  { client, signal }: { client: Pick<KubeClient, 'delete'>; signal: AbortSignal },
): Promise<void> =>
  client.delete(fleetPods, { namespace, name }, { preconditions: { uid }, signal });

const call = (
  action: Action,
  pod: FleetPodObject,
  { client, now, signal }: Calls,
): Promise<FleetPodObject> => {
  const { namespace, name, uid, resourceVersion } = pod.metadata;
  const key = { namespace, name };
  if (action.do !== 'open' && action.do !== 'close') {
    // Its uid alone: its status changes all the time, and nothing rests on that.
    const body = { metadata: { uid, ...marksOf(action) } };
    return client.patch(fleetPods, key, { patch: { type: 'merge', body }, signal });
  }
  const status = { conditions: conditionsWith(pod, action.do === 'open', now) };
  // The list is written whole, so it has to be the one that was read.
  const body = { metadata: { uid, resourceVersion }, status };
  return client.patch(fleetPods, key, {
    patch: { type: 'merge', body },
    subresource: 'status',
    signal,
  });
};

const marksOf = (action: Exclude<Action, { do: 'open' | 'close' }>): object =>
  action.do === 'rate'
    ? { annotations: { [DELETION_COST_ANNOTATION]: String(action.cost) } }
    : { labels: { [ACTIVE_LABEL]: action.do === 'activate' ? 'true' : null } };

const conditionsWith = ({ status }: FleetPodObject, isOpen: boolean, now: number) => [
  ...(status?.conditions ?? []).filter(({ type }) => type !== HANDED_OVER_GATE),
  {
    type: HANDED_OVER_GATE,
    status: isOpen ? 'True' : 'False',
    reason: isOpen ? 'InSync' : 'TakenBack',
    lastTransitionTime: timestamp(now),
  },
];
