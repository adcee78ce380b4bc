/**
 * What has to be written so that the objects of one CNF say what it is to enforce, in the order in which it has to be: first the groups, then
 * what refers to them, then what nobody asks for. Pure.
 */
import type { Desired } from '#shared/kube/owned.ts';
import type { AddressGroup } from '#shared/resources/address-group.ts';
import type {
  PolicyEnforcement,
  PolicyEnforcementSpec,
} from '#shared/resources/policy-enforcement.ts';
import type { AskedPolicies } from './desired.ts';
import { desiredEnforcement, desiredGroup, groupsOf, type PolicyPlace } from './objects.ts';
import { slicesOf } from './slices.ts';

/** What an object should be, undefined: gone; and as it was seen. */
export type ObjectChange<T> = readonly [Desired | undefined, T | undefined];

export type Present = {
  groups: readonly AddressGroup[];
  enforcements: readonly PolicyEnforcement[];
};

export type Changes = {
  groups: readonly ObjectChange<AddressGroup>[];
  enforcements: readonly ObjectChange<PolicyEnforcement>[];
  enforcementsGone: readonly ObjectChange<PolicyEnforcement>[];
  groupsGone: readonly ObjectChange<AddressGroup>[];
};

/** What may have changed: these groups and policies, or anything. */
export type About = 'all' | { groups: ReadonlySet<string>; policies: ReadonlySet<string> };

export const changesFor = (
  place: PolicyPlace,
  asked: AskedPolicies,
  present: Present,
  about: About = 'all',
): Changes => {
  const byPolicy = new Map(present.enforcements.map((one) => [one.spec.policy.uid, one]));
  const wanted = new Map([
    ...asked.enforcements,
    ...[...asked.refused].map(
      ([uid, spec]) => [uid, refusedOver(spec, byPolicy.get(uid)?.spec)] as const,
    ),
  ]);
  // One that is being deleted, too: its agents may still have it in force.
  const inUse = new Set(
    [...present.enforcements.map(({ spec }) => spec), ...wanted.values()].flatMap(groupsOf),
  );
  const slices = Map.groupBy(present.groups, ({ spec }) => spec.group);
  const groups = [...asked.groups].flatMap(([group, members]) =>
    inUse.has(group) && (about === 'all' || about.groups.has(group))
      ? slicesFor(place, { group, members }, slices.get(group) ?? [])
      : [],
  );
  const written = new Set(groups.map(([desired]) => desired.metadata.name));
  return {
    groups,
    enforcements: [...wanted]
      .filter(([uid, spec]) => isAbout(about, uid, spec))
      .map(([uid, spec]) => [desiredEnforcement(place, spec), byPolicy.get(uid)] as const),
    enforcementsGone: present.enforcements
      .filter(
        ({ metadata, spec: { policy } }) =>
          !wanted.has(policy.uid) && metadata.deletionTimestamp === undefined,
      )
      .map((one) => [undefined, one] as const),
    // A group of which it is not known any more who is in it stays as it is, as long as an agent may need it.
    groupsGone: present.groups
      .filter(({ metadata, spec: { group } }) => {
        if (about !== 'all' && !about.groups.has(group)) return false;
        const isKept = inUse.has(group) && !asked.groups.has(group);
        return !written.has(metadata.name) && !isKept;
      })
      .map((one) => [undefined, one] as const),
  };
};

/** A policy is carried, or not any more, with the size of its groups. */
export const isAbout = (
  about: About,
  uid: string,
  spec: Pick<PolicyEnforcementSpec, 'pods' | 'lines'>,
): boolean =>
  about === 'all' || about.policies.has(uid) || groupsOf(spec).some((id) => about.groups.has(id));

/** What cannot be carried stays as it last could, and says why. */
const refusedOver = (
  spec: PolicyEnforcementSpec,
  present: PolicyEnforcementSpec | undefined,
): PolicyEnforcementSpec => (present ? { ...present, refused: spec.refused } : spec);

const slicesFor = (
  place: PolicyPlace,
  { group, members }: { group: string; members: readonly string[] },
  there: readonly AddressGroup[],
): (readonly [Desired, AddressGroup | undefined])[] => {
  const numbered = new Map(there.map((one) => [one.spec.slice, one]));
  const held = new Map(there.map(({ spec }) => [spec.slice, spec.members]));
  return [...slicesOf(members, held)].map(
    ([slice, of]) =>
      [desiredGroup(place, { group, slice, members: of }), numbered.get(slice)] as const,
  );
};
