/** What of ours Neutron has; and what of it is left as it is. */
import type {
  Neutron,
  NeutronAddressGroup,
  NeutronGroup,
  NeutronPort,
  NeutronRule,
} from '../../neutron/neutron.ts';
import { blockText, parseBlock } from '#shared/policy/address-blocks.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { prefixOf } from '../../neutron/names.ts';
import { DIRECTIONS, policyTag, type PolicyDirection } from './names.ts';
import type { GroupRule, Remote } from './types.ts';
import { ruleText } from './policy-parts.ts';

export type PresentInNeutron = {
  /** Ports with our prefix, by id. */
  ports: Map<string, NeutronPort>;
  /** Ours, by id. */
  groups: Map<string, NeutronGroup>;
  addressGroups: Map<string, NeutronAddressGroup>;
};

export const readPresent = async (
  neutron: Pick<Neutron, 'ports' | 'groups' | 'addressGroups'>,
  cluster: string,
  signal: AbortSignal,
): Promise<PresentInNeutron> => {
  const prefix = prefixOf(cluster);
  const ours = <T extends { id: string; name: string }>(all: readonly T[]): Map<string, T> =>
    new Map(all.filter(({ name }) => name.startsWith(prefix)).map((one) => [one.id, one]));
  const groups = ours(await neutron.groups(signal));
  const addressGroups = ours(await neutron.addressGroups(signal));
  return { groups, addressGroups, ports: ours(await neutron.ports({}, signal)) };
};

/** What Neutron has: read whole now and then and after any doubt; writes are known. */
export const createPresent = ({
  neutron,
  clock,
  resyncMs,
}: {
  neutron: Pick<Neutron, 'ports' | 'groups' | 'addressGroups'>;
  clock: Pick<Clock, 'monotonic'>;
  resyncMs: number;
}) => {
  let present: PresentInNeutron | undefined;
  let readAt = -Infinity;
  /** Ports that pods name and Neutron did not have when it was last read. */
  let absent = new Set<string>();

  /** `named`: ids of ports that pods name; unknown ones are not asked for again before all is. */
  const look = async (
    cluster: string,
    named: readonly string[],
    signal: AbortSignal,
  ): Promise<PresentInNeutron> => {
    if (present === undefined || clock.monotonic() >= readAt + resyncMs) {
      present = await readPresent(neutron, cluster, signal);
      readAt = clock.monotonic();
      absent = new Set();
    }
    const { ports } = present;
    const ids = [...new Set(named)].filter((id) => !ports.has(id) && !absent.has(id));
    if (ids.length > 0) {
      const prefix = prefixOf(cluster);
      for (const port of await neutron.ports({ ids }, signal))
        if (port.name.startsWith(prefix)) ports.set(port.id, port);
      for (const id of ids) if (!ports.has(id)) absent.add(id);
    }
    return present;
  };

  return {
    look,
    doubt: () => {
      present = undefined;
    },
    nextReadInMs: () => Math.max(0, readAt + resyncMs - clock.monotonic()),
  };
};

/**
 * Names are not unique in Neutron: a call that got no answer may have made a group, and was made
 * again. Of several the first id counts, whatever becomes of the others.
 */
export const groupsByName = ({ groups }: PresentInNeutron): Map<string, NeutronGroup[]> =>
  byName(groups.values());

export const addressGroupsByName = ({
  addressGroups,
}: PresentInNeutron): Map<string, NeutronAddressGroup[]> => byName(addressGroups.values());

const byName = <T extends { id: string; name: string }>(all: Iterable<T>): Map<string, T[]> => {
  const named = new Map<string, T[]>();
  for (const one of all) {
    const those = [...(named.get(one.name) ?? []), one];
    named.set(
      one.name,
      those.sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
  }
  return named;
};

/** The text of the rule as it would be wanted; one of its own where it could not be. */
export const presentRuleText = (
  rule: NeutronRule,
  /** The names of the groups that count. */
  nameOf: (id: string) => string | undefined,
): string => {
  const { direction, ethertype, protocol, port_range_min: min, port_range_max: max } = rule;
  const remote = remoteOf(rule, nameOf);
  const isKnown =
    (ethertype === 'IPv4' || ethertype === 'IPv6') &&
    isKnownProtocol(protocol) &&
    remote !== 'other';
  if (!isKnown) return `other ${rule.id}`;
  const wanted: GroupRule = {
    direction,
    ethertype,
    ...(protocol !== null && { protocol }),
    ...(min !== null && max !== null && { ports: [min, max] as const }),
    ...(remote && { remote }),
  };
  return ruleText(wanted);
};

const isKnownProtocol = (
  protocol: string | null,
): protocol is (GroupRule['protocol'] & string) | null =>
  protocol === null || protocol === 'tcp' || protocol === 'udp' || protocol === 'sctp';

const remoteOf = (
  {
    remote_ip_prefix: prefix,
    remote_group_id: group,
    remote_address_group_id: addresses,
  }: NeutronRule,
  nameOf: (id: string) => string | undefined,
): Remote | undefined | 'other' => {
  if (prefix !== null) {
    const block = parseBlock(prefix);
    return block ? { prefix: blockText(block) } : 'other';
  }
  const id = group ?? addresses ?? undefined;
  if (id === undefined) return undefined;
  const name = nameOf(id);
  if (name === undefined) return 'other';
  return group === null ? { addresses: name } : { group: name };
};

/** The groups of a policy that cannot be carried as it is now: they stay as they were last. */
export type KeptPolicy = {
  /** Names of groups, and of address groups that their rules name. */
  names: readonly string[];
  /** Which of them a port has, by its id. */
  ports: ReadonlyMap<string, readonly string[]>;
  isolates: readonly { port: string; direction: PolicyDirection }[];
};

/** Undefined: there are none. */
export const lastFormOf = (present: PresentInNeutron, uid: string): KeptPolicy | undefined => {
  const own = [...present.groups.values()].flatMap((group) => {
    const direction = DIRECTIONS.find((one) => group.tags.includes(policyTag(uid, one)));
    return direction ? [{ group, direction }] : [];
  });
  if (own.length === 0) return undefined;
  const ids = new Set(own.map(({ group }) => group.id));
  const remotes = own.flatMap(({ group }) =>
    group.security_group_rules.flatMap((rule) => [
      ...[rule.remote_group_id ?? []].flat(),
      ...[rule.remote_address_group_id ?? []].flat(),
    ]),
  );
  for (const id of remotes) ids.add(id);
  const nameOf = (id: string): string[] => {
    const name = present.groups.get(id)?.name ?? present.addressGroups.get(id)?.name;
    return name === undefined ? [] : [name];
  };
  const attached = [...present.ports.values()].map((port) => ({
    port: port.id,
    names: port.security_groups.filter((id) => ids.has(id)).flatMap(nameOf),
  }));
  return {
    names: [...ids].flatMap(nameOf),
    ports: new Map(
      attached.filter(({ names }) => names.length > 0).map((one) => [one.port, one.names]),
    ),
    isolates: [...present.ports.values()].flatMap(({ id, security_groups: of }) =>
      own
        .filter(({ group }) => of.includes(group.id))
        .map(({ direction }) => ({ port: id, direction })),
    ),
  };
};
