/**
 * What the kernel should hold: PolicyEnforcements and AddressGroups → one table. An enforcement whose groups have not all come yet stays as it
 * was, or is left out: with an empty group in their place it would forbid, or let through, what nobody has asked for. A group that an
 * enforcement needs and that is gone stays as it was, too: the coordinator removes no group before what needs it. Pure.
 */
import { revisionOf } from '#shared/compile/revision.ts';
import type { Enforcement } from '#shared/policy/enforcement.ts';
import {
  isSameList,
  policyTable,
  type PolicyTable,
  type TableEntry,
} from '#shared/policy/table.ts';
import { enforcementOf } from '#shared/resources/enforcement-lines.ts';
import type { AddressGroup } from '#shared/resources/address-group.ts';
import type { PolicyEnforcement } from '#shared/resources/policy-enforcement.ts';
import { oncePerObject } from '#shared/runtime/memo.ts';

/** One enforcement as it is in a table. */
export type Entry = TableEntry & { uid: string; revision: string };

export type Wanted = {
  /** Undefined: none is to be there. */
  table: PolicyTable | undefined;
  /** By uid. */
  entries: ReadonlyMap<string, Entry>;
  /** Members of the groups that these are about, or were when they were last taken, by id. */
  groups: ReadonlyMap<string, readonly string[]>;
};

export const NOTHING_WANTED: Wanted = {
  table: undefined,
  entries: new Map(),
  groups: new Map(),
};

/** What the kernel has taken: each entry as it last had it, by uid, and whether it is known that it does not take one. */
export type Taken = {
  good: ReadonlyMap<string, Entry>;
  isRefused: (entry: Entry) => boolean;
};

const NOTHING_TAKEN: Taken = { good: new Map(), isRefused: () => false };

/** `before`: what was wanted last. An entry that is refused stays as it was last taken. */
export const wantedTable = (
  enforcements: readonly PolicyEnforcement[],
  slices: readonly AddressGroup[],
  before: Pick<Wanted, 'entries' | 'groups'>,
  { good, isRefused }: Taken = NOTHING_TAKEN,
): Wanted => {
  const groups = new Map([...before.groups, ...groupsOf(slices, before.groups)]);
  const isComplete = ({ enforcement }: TableEntry): boolean =>
    groupIdsIn(enforcement).every((id) => groups.has(id));
  const entries = new Map<string, Entry>();
  const inUse = new Set<string>();
  for (const object of enforcements) {
    const { uid, deletionTimestamp } = object.metadata;
    // One that was never carried isolates nothing.
    if (deletionTimestamp !== undefined || object.spec.isolates.length === 0) continue;
    const last = good.get(uid);
    const entry = [entryOf(object), before.entries.get(uid), last].find(
      (one) => one && isComplete(one) && !isRefused(one),
    );
    if (entry) entries.set(uid, entry);
    for (const one of [entry, last])
      for (const id of one ? groupIdsIn(one.enforcement) : []) inUse.add(id);
  }
  const table =
    entries.size === 0
      ? undefined
      : policyTable([...entries.values()], (id) => groups.get(id) ?? []);
  return { table, entries, groups: new Map([...groups].filter(([id]) => inUse.has(id))) };
};

/** By id; a group is known from its first slice on. The same list as before where it has the same members. */
const groupsOf = (
  slices: readonly AddressGroup[],
  before: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, readonly string[]> => {
  const byGroup = Map.groupBy(slices, ({ spec }) => spec.group);
  const groups = new Map<string, readonly string[]>();
  for (const [id, of] of byGroup) {
    if (!of.some(({ spec }) => spec.slice === 0)) continue;
    const members = of.flatMap(({ spec }) => spec.members);
    const known = before.get(id);
    groups.set(id, known && isSameList(known, members) ? known : members);
  }
  return groups;
};

const entryOf = oncePerObject((object: PolicyEnforcement): Entry => {
  const { spec, metadata } = object;
  return {
    uid: metadata.uid,
    id: metadata.uid.replaceAll(/\W/g, '_'),
    title: `${spec.policy.namespace}/${spec.policy.name}`,
    enforcement: enforcementOf(spec),
    revision: revisionOf(object),
  };
});

const groupIdsIn = ({ pods, ingress = [], egress = [] }: Enforcement): string[] => [
  pods,
  ...[...ingress, ...egress].flatMap(({ peers = [], ports = [] }) => [
    ...peers.flatMap((peer) => ('group' in peer ? [peer.group] : [])),
    ...ports.flatMap(({ group }) => (group === undefined ? [] : [group])),
  ]),
];
