/**
 * What has to be written so that Neutron has what is wanted, in an order in which nothing passes
 * between that is denied before and after. Each call changes one port or one group, and a packet
 * needs the egress of one port and the ingress of another, so what is narrowed comes first and what
 * is widened last: between, less passes than before or after. Where nothing but rules of one
 * direction changes, rules come before others go, so that what passes before and after goes on. A
 * single call needs no order. Pure.
 */
import type { NeutronPort } from '../../neutron/neutron.ts';
import { DIRECTIONS, roleOf, type PolicyDirection } from './names.ts';
import { ruleText } from './policy-parts.ts';
import {
  addressGroupsByName,
  groupsByName,
  presentRuleText,
  type PresentInNeutron,
} from './present.ts';
import type { GroupRule, WantedInNeutron, WantedGroup } from './types.ts';

export type NeutronStep =
  | { do: 'create-address-group'; name: string }
  | { do: 'change-addresses'; name: string; change: 'add' | 'remove'; addresses: readonly string[] }
  | { do: 'create-group'; group: WantedGroup }
  | { do: 'tag-group'; id: string; tags: readonly string[] }
  | { do: 'add-rules'; rules: readonly { group: string; rule: GroupRule }[] }
  | { do: 'remove-rules'; rules: readonly { group: string; id: string }[] }
  /** In any order. `groups`: names of ours; those of others stay. */
  | { do: 'set-ports'; ports: readonly { port: string; groups: readonly string[] }[] }
  | { do: 'delete-group'; id: string }
  | { do: 'delete-address-group'; id: string };

type WantedHere = WantedInNeutron & { untouched: ReadonlySet<string> };

export const stepsFor = (wanted: WantedHere, present: PresentInNeutron): NeutronStep[] => {
  const groups = groupsByName(present);
  const changes = changesOf(wanted, present);
  const addresses = addressChanges(wanted, addressGroupsByName(present));
  const missing = [...wanted.groups.values()].filter(({ name }) => !groups.has(name));
  return [
    ...addresses.created,
    ...missing.map((group): NeutronStep => ({ do: 'create-group', group })),
    ...tagSteps(wanted, groups),
    ...addRules(missing.flatMap(({ name, rules }) => rules.map((rule) => ({ group: name, rule })))),
    ...changeSteps({ changes, addresses, moves: movesOf(wanted, present) }),
    ...deletions(wanted, present),
  ];
};

type RuleChange = { group: string; direction: PolicyDirection } & (
  | { add: GroupRule }
  | { remove: string }
);

const changesOf = (wanted: WantedHere, present: PresentInNeutron): RuleChange[] => {
  const groups = groupsByName(present);
  const counts = new Map(
    [...groups, ...addressGroupsByName(present)].flatMap(([name, [first]]) =>
      first ? [[first.id, name] as const] : [],
    ),
  );
  return [...wanted.groups.values()].flatMap(({ name, rules }): RuleChange[] => {
    const there = groups.get(name)?.[0];
    if (there === undefined) return [];
    const texts = new Set(rules.map(ruleText));
    const seen = new Set<string>();
    const surplus = there.security_group_rules.filter((rule) => {
      const text = presentRuleText(rule, (id) => counts.get(id));
      // The second of two that are the same goes.
      const isWanted = texts.has(text) && !seen.has(text);
      seen.add(text);
      return !isWanted;
    });
    const lacking = rules.filter((rule) => !seen.has(ruleText(rule)));
    return [
      ...lacking.map((add) => ({ group: name, direction: add.direction, add })),
      ...surplus.map(({ id, direction }) => ({ group: name, direction, remove: id })),
    ];
  });
};

type AddressSteps = { created: NeutronStep[]; added: NeutronStep[]; removed: NeutronStep[] };

const addressChanges = (
  { addressGroups: wanted }: WantedHere,
  there: ReadonlyMap<string, readonly { addresses: readonly string[] }[]>,
): AddressSteps => {
  const steps: AddressSteps = { created: [], added: [], removed: [] };
  for (const [name, addresses] of wanted) {
    const present = there.get(name)?.[0];
    const has = new Set(present?.addresses);
    const goal = new Set(addresses);
    const add = addresses.filter((one) => !has.has(one));
    const remove = [...has].filter((one) => !goal.has(one));
    if (present === undefined) steps.created.push({ do: 'create-address-group', name });
    const where = present === undefined ? steps.created : steps.added;
    if (add.length > 0) where.push({ do: 'change-addresses', name, change: 'add', addresses: add });
    if (remove.length > 0)
      steps.removed.push({ do: 'change-addresses', name, change: 'remove', addresses: remove });
  }
  return steps;
};

const tagSteps = (
  wanted: WantedHere,
  groups: ReadonlyMap<string, readonly { id: string; tags: readonly string[] }[]>,
): NeutronStep[] =>
  [...wanted.groups.values()].flatMap(({ name, tags }): NeutronStep[] => {
    const there = groups.get(name)?.[0];
    if (there === undefined || tags.every((tag) => there.tags.includes(tag))) return [];
    return [{ do: 'tag-group', id: there.id, tags }];
  });

type Changing = {
  changes: readonly RuleChange[];
  addresses: AddressSteps;
  moves: readonly Move[];
};

const changeSteps = ({ changes, addresses, moves }: Changing): NeutronStep[] => {
  const added = [
    ...addRules(
      changes.flatMap((one) => ('add' in one ? [{ group: one.group, rule: one.add }] : [])),
    ),
    ...addresses.added,
  ];
  const gone = changes.flatMap((one) =>
    'remove' in one ? [{ group: one.group, id: one.remove }] : [],
  );
  const removed: NeutronStep[] = [
    ...(gone.length === 0 ? [] : [{ do: 'remove-rules', rules: gone } as const]),
    ...addresses.removed,
  ];
  const isRulesAlone = addresses.added.length + addresses.removed.length === 0;
  const isOneCall = changes.length === 0 && isRulesAlone && moves.length <= 1;
  if (isOneCall) return setPorts(moves, ({ goal }) => goal);
  const isOneDirection = new Set(changes.map(({ direction }) => direction)).size <= 1;
  if (isOneDirection && isRulesAlone && moves.every(isWithoutEffect))
    return [
      ...setPorts(moves, ({ has, joins }) => new Set([...has, ...joins])),
      ...added,
      ...removed,
      ...setPorts(moves, ({ goal }) => goal, 'joined'),
    ];
  return [
    ...removed,
    ...setPorts(moves, narrowed),
    ...added,
    ...setPorts(moves, ({ goal }) => goal, 'narrowed'),
  ];
};

const addRules = (rules: readonly { group: string; rule: GroupRule }[]): NeutronStep[] =>
  rules.length === 0 ? [] : [{ do: 'add-rules', rules }];

/** A port from the groups that it has to those that it is to have, by their names. */
type Move = {
  port: string;
  has: ReadonlySet<string>;
  goal: ReadonlySet<string>;
  /** Groups of selectors that are new: no rule that is in force names them. */
  joins: ReadonlySet<string>;
  /** And those that no rule will name. */
  leaves: ReadonlySet<string>;
};

const movesOf = (wanted: WantedHere, present: PresentInNeutron): Move[] => {
  const named = groupsByName(present);
  const counts = new Map(
    [...named].flatMap(([name, [first]]) => (first ? [[first.id, name] as const] : [])),
  );
  return [...present.ports.values()].filter(isGuarded).flatMap((port): Move[] => {
    const goal = wanted.ports.get(port.id) ?? new Set<string>();
    const ours = port.security_groups.filter((id) => present.groups.has(id));
    // Only one of a group that is there twice has the name.
    const has = new Set(ours.map((id) => counts.get(id) ?? id));
    if (has.size === goal.size && [...has].every((name) => goal.has(name))) return [];
    const isSelector = (name: string): boolean => roleOf(name).role === 'selector';
    return [
      {
        port: port.id,
        has,
        goal,
        joins: new Set([...goal].filter((name) => isSelector(name) && !named.has(name))),
        leaves: new Set(
          [...has].filter(
            (name) => isSelector(name) && !wanted.groups.has(name) && !goal.has(name),
          ),
        ),
      },
    ];
  });
};

const isWithoutEffect = ({ has, goal, joins, leaves }: Move): boolean =>
  [...goal].every((name) => has.has(name) || joins.has(name)) &&
  [...has].every((name) => goal.has(name) || leaves.has(name));

/**
 * What lets nothing pass that the port's groups do not let pass before, nor after: the groups of
 * both. A direction that is open on one side is as on the other.
 */
const narrowed = ({ has, goal }: Move): ReadonlySet<string> => {
  const both = new Set([...has].filter((name) => goal.has(name)));
  for (const direction of DIRECTIONS) {
    const [was, will] = [isOpen(has, direction), isOpen(goal, direction)];
    if (was !== will)
      for (const name of was ? goal : has) if (roleOf(name).direction === direction) both.add(name);
  }
  return both;
};

const isOpen = (names: ReadonlySet<string>, direction: PolicyDirection): boolean =>
  [...names].some((name) => {
    const of = roleOf(name);
    return of.role === 'base' && of.direction === direction;
  });

/** Only where something changes. `after`: what the port has been made before. */
const setPorts = (
  moves: readonly Move[],
  groupsOf: (move: Move) => ReadonlySet<string>,
  after?: 'joined' | 'narrowed',
): NeutronStep[] => {
  const ports = moves.flatMap((move) => {
    const groups = groupsOf(move);
    const before = beforeOf(move, after);
    if (groups.size === before.size && [...groups].every((name) => before.has(name))) return [];
    // What is there twice cannot be named.
    const known = [...groups].filter((name) => roleOf(name).role !== undefined);
    return [{ port: move.port, groups: known.sort() }];
  });
  return ports.length === 0 ? [] : [{ do: 'set-ports', ports }];
};

const beforeOf = (move: Move, after: 'joined' | 'narrowed' | undefined): ReadonlySet<string> => {
  if (after === 'joined') return new Set([...move.has, ...move.joins]);
  return after === 'narrowed' ? narrowed(move) : move.has;
};

/** Whether security groups mean anything on it: SR-IOV and its like have none. */
export const isGuarded = (
  port: Pick<NeutronPort, 'port_security_enabled' | 'binding:vnic_type'>,
): boolean => port.port_security_enabled && port['binding:vnic_type'] === 'normal';

const deletions = (wanted: WantedHere, present: PresentInNeutron): NeutronStep[] => {
  const isKept = (name: string, at: number, names: ReadonlyMap<string, unknown>): boolean =>
    (names.has(name) && at === 0) || wanted.untouched.has(name);
  const groups = [...groupsByName(present)].flatMap(([name, those]) =>
    those.filter((_, at) => !isKept(name, at, wanted.groups)),
  );
  // What has rules names others, and goes first.
  const ordered = [
    ...groups.filter(({ security_group_rules: rules }) => rules.length > 0),
    ...groups.filter(({ security_group_rules: rules }) => rules.length === 0),
  ];
  const addressGroups = [...addressGroupsByName(present)].flatMap(([name, those]) =>
    those.filter((_, at) => !isKept(name, at, wanted.addressGroups)),
  );
  return [
    ...ordered.map(({ id }): NeutronStep => ({ do: 'delete-group', id })),
    ...addressGroups.map(({ id }): NeutronStep => ({ do: 'delete-address-group', id })),
  ];
};
