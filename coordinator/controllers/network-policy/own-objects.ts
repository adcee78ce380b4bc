/**
 * The AddressGroups and PolicyEnforcements that are there: watched, with what has just been written
 * of them, and the writes themselves.
 */
import { OVERTAKEN, type Outcome } from '#shared/kube/controller.ts';
import { Reflector, type ReflectorOptions } from '#shared/kube/informer/reflector.ts';
import { isOvertaken, keep } from '#shared/kube/owned.ts';
import { createOwnWrites, type OwnWrites } from '#shared/kube/own-writes.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import {
  addressGroupResource,
  type AddressGroup,
} from '#shared/resources/other-kinds/address-group.ts';
import {
  policyEnforcementResource,
  type PolicyEnforcement,
} from '#shared/resources/other-kinds/policy-enforcement.ts';
import { atOnce } from '#shared/util/at-once.ts';
import type { Changed } from './changed.ts';
import type { Changes, ObjectChange } from './changes.ts';
import { keyOf } from './objects.ts';

/**
 * Policies of one CNF. One after the other, 100 groups that change each second came to the kernels
 * 6 s late (1,000 pods, two cores).
 */
const WRITES_AT_ONCE = 16;
/** Groups of one policy, which can have hundreds: others are not to wait for all of them. */
const GROUPS_AT_ONCE = 4;
/** Until the watch shows what has just been written. */
const SHOWN_MS = 100;

export const createOwnObjects = (
  common: Pick<ReflectorOptions<AddressGroup>, 'client' | 'clock' | 'log'>,
  markOf: (object: AddressGroup | PolicyEnforcement, about: Partial<Changed>) => void,
) => {
  const { client } = common;
  const writtenGroups = createOwnWrites((group: AddressGroup) => group);
  const writtenEnforcements = createOwnWrites((enforcement: PolicyEnforcement) => enforcement);
  const groups = new Reflector({
    ...common,
    resource: addressGroupResource,
    indices: { place: placesOf },
    onEvent: ({ object, type }) => {
      if (type === 'deleted') writtenGroups.forget(object.metadata.uid);
      markOf(object, { groups: [object.spec.group] });
    },
  });
  const enforcements = new Reflector({
    ...common,
    resource: policyEnforcementResource,
    indices: { place: placesOf },
    // One that is gone may have been the last that needed a group.
    onEvent: ({ object, type }) => {
      if (type === 'deleted') writtenEnforcements.forget(object.metadata.uid);
      markOf(object, type === 'updated' ? { policies: [object.spec.policy.uid] } : { isAll: true });
    },
  });

  const ofGroups = { resource: addressGroupResource, written: writtenGroups };
  const ofEnforcements = { resource: policyEnforcementResource, written: writtenEnforcements };

  /** After a write that hits another version, or when it is enough, none is begun. */
  const write = async (
    { enforcementsGone, groupsGone, steps }: Changes,
    { isEnough, signal }: { isEnough: () => boolean; signal: AbortSignal },
  ): Promise<Outcome> => {
    let isOfToday = true;
    let isWhole = true;
    /** Namespaces with a policy to be written: what they let go may be what it stands for. */
    const unfinished = new Set<string>();
    const writeOne = async <T extends AddressGroup | PolicyEnforcement>(
      { resource, written }: { resource: Reflector<T>['resource']; written: OwnWrites<T> },
      [desired, present]: ObjectChange<T>,
    ): Promise<void> => {
      if (!isOfToday) return;
      const { object, outcome } = await keep({ client, resource, signal }, desired, present);
      if (object) written.note(object);
      if (isOvertaken(outcome)) isOfToday = false;
    };
    await atOnce(steps, WRITES_AT_ONCE, async ({ enforcement, groups: slices, namespace }) => {
      isWhole &&= !isEnough();
      if (!isWhole) {
        if (namespace !== undefined) unfinished.add(namespace);
        return;
      }
      await atOnce(slices, GROUPS_AT_ONCE, (change) => writeOne(ofGroups, change));
      if (enforcement) await writeOne(ofEnforcements, enforcement);
    });
    const gone = enforcementsGone.filter(
      ([, present]) => !unfinished.has(present?.spec.policy.namespace ?? ''),
    );
    await atOnce(gone, WRITES_AT_ONCE, (change) => writeOne(ofEnforcements, change));
    if (!isWhole) return isOfToday ? { againInMs: SHOWN_MS } : OVERTAKEN;
    await atOnce(groupsGone, WRITES_AT_ONCE, (change) => writeOne(ofGroups, change));
    return isOfToday ? 'done' : OVERTAKEN;
  };

  return {
    sources: [groups, enforcements],
    areListed: () => groups.state.listed && enforcements.state.listed,
    places: () => [...groups.store.list(), ...enforcements.store.list()].flatMap(placesOf),
    at: (place: string) => ({
      groups: groups.store.by('place', place).map(writtenGroups.latest),
      enforcements: enforcements.store.by('place', place).map(writtenEnforcements.latest),
    }),
    writtenEnforcements,
    write,
  };
};

const placesOf = ({ metadata }: AddressGroup | PolicyEnforcement): string[] => [
  keyOf({ namespace: metadata.namespace, purpose: metadata.labels?.[PURPOSE_LABEL] ?? '' }),
];
