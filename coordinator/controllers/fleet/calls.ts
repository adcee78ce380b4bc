/**
 * What a roll-out does to pods: a label, an annotation and one condition. Each call can only hit
 * the pod that was judged.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { ACTIVE_LABEL, DELETION_COST_ANNOTATION, HANDED_OVER_GATE } from '#shared/names.ts';
import { atOnce } from '#shared/util/at-once.ts';
import { timestamp } from '../../rule-status/wording.ts';
import { fleetPods, type FleetPodObject } from './apps.ts';
import type { Action } from './decide.ts';

type Calls = {
  client: Pick<KubeClient, 'patch'>;
  pods: readonly FleetPodObject[];
  now: number;
  signal: AbortSignal;
};

/**
 * All pods at once, with one call for each: its label is there no later than its condition. What
 * takes the traffic from a pod comes when the others have been given it.
 * @throws KubeError; a conflict: another client has changed a pod since
 */
export const carryOutActions = async (
  actions: readonly Action[],
  { client, now, pods, signal }: Calls,
): Promise<void> => {
  const known = new Map(pods.map((pod) => [pod.metadata.name, pod]));
  const ofPods = [...Map.groupBy(actions, ({ pod }) => pod)];
  for (const isTaken of [false, true]) {
    const these = ofPods.filter(([, all]) => all.some(takes) === isTaken);
    await atOnce(these, Infinity, async ([name, all]) => {
      const pod = known.get(name);
      if (pod) await call(all, pod, { client, now, signal });
    });
  }
};

const takes = (action: Action): boolean => action.do === 'deactivate' || action.do === 'close';

/** Its ReplicaSet makes another one. @throws KubeError; a conflict: it is another pod by now */
export const replacePod = async (
  { metadata: { namespace, name, uid } }: FleetPodObject,
  { client, signal }: { client: Pick<KubeClient, 'delete'>; signal: AbortSignal },
): Promise<void> =>
  client.delete(fleetPods, { namespace, name }, { preconditions: { uid }, signal });

const call = (
  actions: readonly Action[],
  pod: FleetPodObject,
  { client, now, signal }: Omit<Calls, 'pods'>,
): Promise<FleetPodObject> => {
  const { namespace, name, uid, resourceVersion } = pod.metadata;
  const key = { namespace, name };
  const marks = Object.assign({}, ...actions.map(marksOf));
  const gate = actions.find((one) => one.do === 'open' || one.do === 'close');
  if (gate === undefined) {
    // Its uid alone: its status changes all the time, and nothing rests on that.
    const body = { metadata: { uid, ...marks } };
    return client.patch(fleetPods, key, { patch: { type: 'merge', body }, signal });
  }
  const status = { conditions: conditionsWith(pod, gate.do === 'open', now) };
  // The list is written whole, so it has to be the one that was read. Labels and annotations are
  // written by way of the status as well.
  const body = { metadata: { uid, resourceVersion, ...marks }, status };
  return client.patch(fleetPods, key, {
    patch: { type: 'merge', body },
    subresource: 'status',
    signal,
  });
};

const marksOf = (action: Action): object => {
  if (action.do === 'rate')
    return { annotations: { [DELETION_COST_ANNOTATION]: String(action.cost) } };
  if (action.do === 'open' || action.do === 'close') return {};
  return { labels: { [ACTIVE_LABEL]: action.do === 'activate' ? 'true' : null } };
};

const conditionsWith = ({ status }: FleetPodObject, isOpen: boolean, now: number) => [
  ...(status?.conditions ?? []).filter(({ type }) => type !== HANDED_OVER_GATE),
  {
    type: HANDED_OVER_GATE,
    status: isOpen ? 'True' : 'False',
    reason: isOpen ? 'InSync' : 'TakenBack',
    lastTransitionTime: timestamp(now),
  },
];
