/**
 * Whether Neutron follows policies, by the Events that the coordinator leaves on them: the last one
 * of each policy is the truth. Pure but for `neutronEvents`.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { few } from '#shared/util/few.ts';
import { eventResource, type ClusterEvent } from '../cluster/events.ts';
import { bad, good } from './states.ts';
import type { Item } from './view.ts';

/** Whether a container of the coordinator uses Neutron. */
export const usesNeutron = (env: readonly { name: string }[]): boolean =>
  env.some(({ name }) => name === 'SDEWAN_OPENSTACK_CLOUD_FILE');

const FAILING = 'NeutronUnavailable';
const REASONS = [FAILING, 'Enforced', 'NotEnforced'];
const PAGE_SIZE = 500;

export const neutronEvents = async (
  client: KubeClient,
  signal: AbortSignal,
): Promise<ClusterEvent[]> => {
  const lists = await Promise.all(
    REASONS.map((reason) =>
      client.list(eventResource, {
        fieldSelector: `involvedObject.kind=NetworkPolicy,reason=${reason}`,
        pageSize: PAGE_SIZE,
        signal,
      }),
    ),
  );
  return lists.flatMap(({ items }) => items);
};

/** CNFs that enforce the same policy have Events on it, too, with the same reasons. */
const isOfNeutron = ({ message }: ClusterEvent): boolean => message.includes('Neutron');

export const neutronItem = (events: readonly ClusterEvent[]): Item => {
  const last = new Map<string, ClusterEvent>();
  for (const event of events.filter(isOfNeutron)) {
    const { uid } = event.involvedObject;
    const at = event.lastTimestamp ?? '';
    if (at >= (last.get(uid)?.lastTimestamp ?? '')) last.set(uid, event);
  }
  const failing = [...last.values()].filter(({ reason }) => reason === FAILING);
  const [first] = failing;
  if (!first) return good('Neutron: no NetworkPolicy says that it is not followed there');
  const names = failing.map(({ involvedObject: { namespace, name } }) => `${namespace}/${name}`);
  return bad(
    `Neutron and NetworkPolicies: ${few(names.toSorted())}`,
    first.message,
    'Mend what the words say; it is tried again within half a minute.',
  );
};
