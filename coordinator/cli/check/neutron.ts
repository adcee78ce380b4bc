/** Whether Neutron follows policies, by the Events that the coordinator leaves on them: the last one of each policy is the truth. Pure but for `neutronEvents`. */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { objectSchema, resourceV1 } from '#shared/kube/objects.ts';
import { few } from '#shared/runtime/few.ts';
import { bad, good } from './states.ts';
import type { Item } from './view.ts';

export const eventResource = resourceV1(
  '',
  'events',
  'Event',
  objectSchema.extend({
    reason: z.string().default(''),
    message: z.string().default(''),
    lastTimestamp: z.string().nullish(),
    involvedObject: z.looseObject({
      kind: z.string().default(''),
      namespace: z.string().default(''),
      name: z.string().default(''),
      uid: z.string().default(''),
    }),
  }),
);
export type PolicyEvent = z.infer<(typeof eventResource)['schema']>;

/** Of a container of the coordinator. */
export const usesNeutron = (env: readonly { name: string }[]): boolean =>
  env.some(({ name }) => name === 'SDEWAN_OPENSTACK_CLOUD_FILE');

const FAILING = 'NeutronUnavailable';
const REASONS = [FAILING, 'Enforced', 'NotEnforced'];
const PAGE_SIZE = 500;

export const neutronEvents = async (
  client: KubeClient,
  signal: AbortSignal,
): Promise<PolicyEvent[]> => {
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
const isOfNeutron = ({ message }: PolicyEvent): boolean => message.includes('Neutron');

export const neutronItem = (events: readonly PolicyEvent[]): Item => {
  const last = new Map<string, PolicyEvent>();
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
