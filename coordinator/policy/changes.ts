/**
 * What has to be written so that the objects of one CNF say what it is to enforce, in the order in which it has to be: first the groups, then
 * what refers to them, then what nobody asks for. Pure.
 */
import type { Desired } from '#shared/kube/owned.ts';
import type { AddressGroup } from '#shared/resources/address-group.ts';
import type { PolicyEnforcement } from '#shared/resources/policy-enforcement.ts';
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

export const changesFor = (place: PolicyPlace, asked: AskedPolicies, present: Present): Changes => {
  const byPolicy = new Map(present.enforcements.map((one) => [one.spec.policy.uid, one]));
  // One that is being deleted, too: its agents may still have it in force.
  const inUse = new Set(
    [...present.enforcements.map(({ spec }) => spec), ...asked.enforcements.values()].flatMap(
      groupsOf,
    ),
  );
  const groups = [...asked.groups].flatMap(([group, members]) =>
    inUse.has(group) ? slicesFor(place, { group, members }, present.groups) : [],
  );
  const written = new Set(groups.map(([desired]) => desired.metadata.name));
  return {
    groups,
    enforcements: [...asked.enforcements.values()].map(
      (spec) => [desiredEnforcement(place, spec), byPolicy.get(spec.policy.uid)] as const,
    ),
    // One that cannot be carried stays as it last could.
    enforcementsGone: present.enforcements
      .filter(({ metadata, spec: { policy } }) => {
        const isAsked = asked.enforcements.has(policy.uid) || asked.refused.has(policy.uid);
        return !isAsked && metadata.deletionTimestamp === undefined;
      })
      .map((one) => [undefined, one] as const),
    // A group of which it is not known any more who is in it stays as it is, as long as an agent may need it.
    groupsGone: present.groups
      .filter(({ metadata, spec: { group } }) => {
        const isKept = inUse.has(group) && !asked.groups.has(group);
        return !written.has(metadata.name) && !isKept;
      })
      .map((one) => [undefined, one] as const),
  };
};

const slicesFor = (
  place: PolicyPlace,
  { group, members }: { group: string; members: readonly string[] },
  present: readonly AddressGroup[],
): (readonly [Desired, AddressGroup | undefined])[] => {
  const there = present.filter(({ spec }) => spec.group === group);
  const numbered = new Map(there.map((one) => [one.spec.slice, one]));
  const held = new Map(there.map(({ spec }) => [spec.slice, spec.members]));
  return [...slicesOf(members, held)].map(
    ([slice, of]) =>
      [desiredGroup(place, { group, slice, members: of }), numbered.get(slice)] as const,
  );
};
