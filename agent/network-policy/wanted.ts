/**
 * What the kernel should hold: PolicyEnforcements and AddressGroups → one table. An enforcement of
 * whose groups one is not known yet stays as it was, or isolates its pods and lets pass what is
 * known. A group that an enforcement needs and that is gone stays as it was, too: the coordinator
 * removes no group before what needs it. Of what is beyond the bounds only whom it isolates is
 * taken. Pure.
 */
import { revisionOf } from '#shared/compile/revision.ts';
import { createAllowance, TOO_MUCH } from '#shared/policy/allowance.ts';
import type { Enforcement } from '#shared/policy/enforcement.ts';
import {
  isSameList,
  policyTable,
  type PolicyTable,
  type TableEntry,
} from '#shared/policy/nft-table.ts';
import { enforcementOf } from '#shared/resources/enforcement-lines.ts';
import type { AddressGroup } from '#shared/resources/other-kinds/address-group.ts';
import type {
  PolicyEnforcement,
  Refusal,
} from '#shared/resources/other-kinds/policy-enforcement.ts';
import { inTurns } from '#shared/util/in-turns.ts';
import { oncePerObject } from '#shared/util/memo.ts';

/** One enforcement as it is in a table. */
export type Entry = TableEntry & { uid: string; revision: string };
/** The revision of an entry that is not all that its object asks for. */
const NO_REVISION = '';

export type Wanted = {
  /** Undefined: none is to be there. */
  table: PolicyTable | undefined;
  /** By uid. */
  entries: ReadonlyMap<string, Entry>;
  /** Members of the groups that these are about, or were when they were last taken, by id. */
  groups: ReadonlyMap<string, readonly string[]>;
  /** Those of which only the isolation is taken, since all of them are too many. By uid. */
  tooMany: ReadonlyMap<string, Refusal>;
};

export const NOTHING_WANTED: Wanted = {
  table: undefined,
  entries: new Map(),
  groups: new Map(),
  tooMany: new Map(),
};

/** What the kernel has taken: each entry as it last had it, by uid, and whether it refuses one. */
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
  const carried = enforcements.filter(
    // One that was never carried isolates nothing.
    ({ metadata, spec }) => metadata.deletionTimestamp === undefined && spec.isolates.length > 0,
  );
  const empty = carried
    .flatMap(({ spec }) => spec.empty ?? [])
    .map((id) => [id, NO_MEMBERS] as const);
  const groups = new Map([...empty, ...before.groups, ...groupsOf(slices, before.groups)]);
  const isComplete = ({ enforcement }: TableEntry): boolean =>
    groupIdsIn(enforcement).every((id) => groups.has(id));
  const partlyKnown = (object: PolicyEnforcement): Entry[] => {
    const entry = { ...entryOf(object), revision: NO_REVISION };
    return groups.has(object.spec.pods) && !isComplete(entry) ? [entry] : [];
  };
  const allowance = createAllowance((id) => groups.get(id)?.length ?? 0);
  const isTaken = (namespace: string, { enforcement }: TableEntry): boolean =>
    allowance(namespace, linesIn(enforcement), groupIdsIn(enforcement));
  const entries = new Map<string, Entry>();
  const tooMany = new Map<string, Refusal>();
  const inUse = new Set<string>();
  for (const object of inTurns(carried.toSorted(byAge), ({ spec }) => spec.policy.namespace)) {
    const { uid } = object.metadata;
    const last = good.get(uid);
    const versions = [entryOf(object), before.entries.get(uid), last].filter((one) => !!one);
    const found = [...versions.filter(isComplete), ...partlyKnown(object)].find(
      (one) => !isRefused(one),
    );
    const isWithin = found === undefined || isTaken(object.spec.policy.namespace, found);
    if (!isWithin) tooMany.set(uid, TOO_MANY);
    const entry = isWithin ? found : isolatingAlone(found);
    if (entry) entries.set(uid, entry);
    for (const one of [entry, last].filter((each) => !!each))
      for (const id of groupIdsIn(one.enforcement)) inUse.add(id);
  }
  const table =
    entries.size === 0
      ? undefined
      : policyTable([...entries.values()], (id) => groups.get(id) ?? []);
  const kept = new Map([...groups].filter(([id]) => inUse.has(id)));
  return { table, entries, groups: kept, tooMany };
};

const TOO_MANY: Refusal = { reason: 'TooLarge', message: TOO_MUCH };
const NO_MEMBERS: readonly string[] = [];

const byAge = (
  { metadata: one }: PolicyEnforcement,
  { metadata: other }: PolicyEnforcement,
): number =>
  one.creationTimestamp === other.creationTimestamp
    ? Number(one.uid > other.uid) - 0.5
    : Number(one.creationTimestamp > other.creationTimestamp) - 0.5;

const linesIn = oncePerObject(({ ingress = [], egress = [] }: Enforcement): number =>
  [...ingress, ...egress]
    .map(({ peers: [peer] = [] }) => 1 + (peer && 'except' in peer ? peer.except.length : 0))
    .reduce((sum, each) => sum + each, 0),
);

const isolatingAlone = (entry: Entry): Entry => ({
  ...entry,
  enforcement: isolationOf(entry.enforcement),
  revision: NO_REVISION,
});
const isolationOf = oncePerObject(({ pods, ingress, egress }: Enforcement): Enforcement => ({
  pods,
  ...(ingress && { ingress: [] }),
  ...(egress && { egress: [] }),
}));

/** By id; a group is known from its first slice on. The same list while the members are. */
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

const groupIdsIn = oncePerObject(
  ({ pods, ingress = [], egress = [] }: Enforcement): readonly string[] => [
    pods,
    ...[...ingress, ...egress].flatMap(({ peers = [], ports = [] }) => [
      ...peers.flatMap((peer) => ('group' in peer ? [peer.group] : [])),
      ...ports.flatMap(({ group }) => (group === undefined ? [] : [group])),
    ]),
  ],
);
