/**
 * What has to be written so that the objects of one CNF say what it is to enforce, in the order in
 * which it has to be: policy by policy, first its groups, then what refers to them, and at last
 * what no policy asks for. Pure.
 */
import type { Desired } from '#shared/kube/owned.ts';
import type { AddressGroup } from '#shared/resources/other-kinds/address-group.ts';
import type {
  PolicyEnforcement,
  PolicyEnforcementSpec,
} from '#shared/resources/other-kinds/policy-enforcement.ts';
import type { AskedPolicies } from './desired.ts';
import { inTurns } from '#shared/util/in-turns.ts';
import { desiredEnforcement, desiredGroup, groupsOf, type PolicyPlace } from './objects.ts';
import { slicesOf } from './slices.ts';

/** What an object should be, undefined: gone; and as it was seen. */
export type ObjectChange<T> = readonly [Desired | undefined, T | undefined];

export type Present = {
  groups: readonly AddressGroup[];
  enforcements: readonly PolicyEnforcement[];
};

/** A policy with the groups that it needs and no step before it has. */
export type Step = {
  groups: readonly ObjectChange<AddressGroup>[];
  enforcement: ObjectChange<PolicyEnforcement> | undefined;
  /** The policy's namespace. */
  namespace?: string;
};

export type Changes = {
  /** In the order in which they are to be begun; namespaces take turns. */
  steps: readonly Step[];
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
  const isEmpty = (id: string): boolean => asked.groups.get(id)?.length === 0 && !slices.has(id);
  const listed = new Map(
    [...wanted].map(([uid, spec]) => [uid, listedBy(spec, byPolicy.get(uid)?.spec, isEmpty)]),
  );
  const unlisted = new Set(
    [...wanted].flatMap(([uid, spec]) => groupsOf(spec).filter((id) => !listed.get(uid)?.has(id))),
  );
  const left = new Map([...asked.groups].filter(([group]) => inUse.has(group)));
  const written = new Set<string>();
  const take = (ids: Iterable<string>): Step['groups'] =>
    [...ids].flatMap((group) => {
      const members = left.get(group);
      left.delete(group);
      if (members === undefined || (about !== 'all' && !about.groups.has(group))) return [];
      if (members.length === 0 && !slices.has(group) && !unlisted.has(group)) return [];
      const changed = slicesFor(place, { group, members }, slices.get(group) ?? []);
      for (const [{ metadata }] of changed) written.add(metadata.name);
      return changed;
    });
  const due = [...wanted].filter(([uid, spec]) => isAbout(about, uid, spec));
  const inOrder = inTurns(due, ([, { policy }]) => policy.namespace);
  const steps = inOrder.map(([uid, spec]): Step => {
    const { namespace } = spec.policy;
    const empty = [...(listed.get(uid) ?? [])].toSorted();
    const desired = desiredEnforcement(place, { ...spec, ...(empty.length > 0 && { empty }) });
    return { groups: take(groupsOf(spec)), enforcement: [desired, byPolicy.get(uid)], namespace };
  });
  // The groups and enforcements of policies that are not carried any more.
  const others: Step = { groups: take([...left.keys()]), enforcement: undefined };
  return {
    steps: [...steps, others],
    enforcementsGone: present.enforcements
      .filter(
        ({ metadata, spec: { policy } }) =>
          !wanted.has(policy.uid) && metadata.deletionTimestamp === undefined,
      )
      .map((one) => [undefined, one] as const),
    // A group whose members are not known any more stays as it is, as long as an agent may need it.
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

/**
 * Groups that a policy lists as empty, so that they need no object. Once there is one it stays, and
 * counts instead: who comes and goes changes that alone. One that it is about without listing it
 * has had an object, and is to have it again.
 */
const listedBy = (
  spec: PolicyEnforcementSpec,
  before: PolicyEnforcementSpec | undefined,
  isEmpty: (id: string) => boolean,
): ReadonlySet<string> => {
  const known = new Set(before?.empty);
  const had = new Set(before ? groupsOf(before) : []);
  return new Set(groupsOf(spec).filter((id) => known.has(id) || (!had.has(id) && isEmpty(id))));
};

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
