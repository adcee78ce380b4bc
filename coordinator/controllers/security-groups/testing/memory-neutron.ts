/**
 * A Neutron in memory for unit tests: as much of its behaviour as ours rests on, and the verdict of
 * its groups on a packet.
 */
import { parseAddress, parseBlock, WIDTH } from '#shared/policy/address-blocks.ts';
import { NeutronError } from '../../../neutron/errors.ts';
import type {
  Neutron,
  NeutronAddressGroup,
  NeutronGroup,
  NeutronPort,
  NeutronQuota,
  NeutronRule,
} from '../../../neutron/neutron.ts';

export type MemoryPacket = {
  /** Ids of ports. */
  from: string;
  to: string;
  source: string;
  target: string;
  protocol: 'tcp' | 'udp' | 'sctp';
  port: number;
};

export type MemoryNeutron = Neutron & {
  state: {
    ports: Map<string, NeutronPort>;
    groups: Map<string, NeutronGroup>;
    addressGroups: Map<string, NeutronAddressGroup>;
  };
  /** Called after each write. */
  onWrite: (what: string) => void;
  limits: { groups: number; rules: number };
  /** All calls so far. */
  calls: string[];
  passes: (packet: MemoryPacket) => boolean;
};

const refusal = (status: number, type: string): NeutronError =>
  new NeutronError('a call', type, { status, type });

export const createMemoryNeutron = (
  ports: readonly { id: string; name: string; addresses: readonly string[] }[],
): MemoryNeutron => {
  let count = 0;
  const id = (): string => `id-${String((count += 1)).padStart(6, '0')}`;
  const state: MemoryNeutron['state'] = {
    groups: new Map(),
    addressGroups: new Map(),
    ports: new Map(
      ports.map((port) => [
        port.id,
        {
          id: port.id,
          name: port.name,
          revision_number: 1,
          security_groups: [],
          port_security_enabled: true,
          'binding:vnic_type': 'normal',
          fixed_ips: port.addresses.map((address) => ({ ip_address: address })),
        },
      ]),
    ),
  };
  const rules = (): NeutronRule[] =>
    [...state.groups.values()].flatMap(({ security_group_rules: of }) => of);
  const groupOf = (group: string): NeutronGroup => {
    const found = state.groups.get(group);
    if (!found) throw refusal(404, 'SecurityGroupNotFound');
    return found;
  };
  const addressGroupOf = (group: string): NeutronAddressGroup => {
    const found = state.addressGroups.get(group);
    if (!found) throw refusal(404, 'AddressGroupNotFound');
    return found;
  };
  const blank = {
    protocol: null,
    port_range_min: null,
    port_range_max: null,
    remote_ip_prefix: null,
    remote_group_id: null,
    remote_address_group_id: null,
  };
  const wrote = (what: string): void => {
    neutron.calls.push(what);
    neutron.onWrite(what);
  };
  const read = <T>(what: string, value: T): T => {
    neutron.calls.push(what);
    return structuredClone(value);
  };

  const isRemote = (rule: NeutronRule, peer: string, address: string): boolean => {
    if (rule.remote_ip_prefix !== null) return isWithin(rule.remote_ip_prefix, address);
    if (rule.remote_group_id !== null)
      return state.ports.get(peer)?.security_groups.includes(rule.remote_group_id) === true;
    if (!rule.remote_address_group_id) return true;
    const { addresses } = addressGroupOf(rule.remote_address_group_id);
    return addresses.some((text) => isWithin(text, address));
  };
  const isMatch = (
    rule: NeutronRule,
    packet: { peer: string; address: string; protocol: string; port: number },
  ): boolean =>
    rule.ethertype === (packet.address.includes(':') ? 'IPv6' : 'IPv4') &&
    (rule.protocol ?? packet.protocol) === packet.protocol &&
    (rule.port_range_min ?? 0) <= packet.port &&
    (rule.port_range_max ?? Infinity) >= packet.port &&
    isRemote(rule, packet.peer, packet.address);
  const rulesOf = (port: string, direction: string): NeutronRule[] =>
    (state.ports.get(port)?.security_groups ?? [])
      .flatMap((group) => groupOf(group).security_group_rules)
      .filter((rule) => rule.direction === direction);

  const neutron: MemoryNeutron = {
    state,
    onWrite: () => undefined,
    limits: { groups: Infinity, rules: Infinity },
    calls: [],
    passes: ({ from, to, source, target, protocol, port }) =>
      rulesOf(from, 'egress').some((rule) =>
        isMatch(rule, { peer: to, address: target, protocol, port }),
      ) &&
      rulesOf(to, 'ingress').some((rule) =>
        isMatch(rule, { peer: from, address: source, protocol, port }),
      ),
    ports: async ({ ids } = {}) =>
      read(
        'GET ports',
        [...state.ports.values()].filter((port) => ids === undefined || ids.includes(port.id)),
      ),
    groups: async () => read('GET groups', [...state.groups.values()]),
    addressGroups: async () => read('GET address groups', [...state.addressGroups.values()]),
    quotas: async () => {
      const quota = (limit: number, used: number): NeutronQuota => ({
        limit: limit === Infinity ? -1 : limit,
        used,
        reserved: 0,
      });
      return read('GET quotas', {
        security_group: quota(neutron.limits.groups, state.groups.size),
        security_group_rule: quota(neutron.limits.rules, rules().length),
      });
    },
    setPortGroups: async (port, groups) => {
      const found = state.ports.get(port.id);
      if (!found) throw refusal(404, 'PortNotFound');
      if (found.revision_number !== port.revision_number)
        throw refusal(412, 'RevisionNumberConstraintFailed');
      groups.forEach(groupOf);
      const next = {
        ...found,
        revision_number: found.revision_number + 1,
        security_groups: [...groups],
      };
      state.ports.set(port.id, next);
      wrote(`PUT port ${port.id}`);
      return structuredClone(next);
    },
    createGroup: async ({ name }) => {
      if (state.groups.size >= neutron.limits.groups) throw refusal(409, 'OverQuota');
      const made = {
        id: id(),
        name,
        tags: [],
        security_group_rules: ['IPv4', 'IPv6'].map((ethertype) => ({
          ...blank,
          id: id(),
          direction: 'egress' as const,
          ethertype,
        })),
      };
      state.groups.set(made.id, made);
      wrote('POST group');
      return structuredClone(made);
    },
    setGroupTags: async (group, tags) => {
      groupOf(group).tags = [...tags];
      wrote('PUT tags');
    },
    deleteGroup: async (group) => {
      if ([...state.ports.values()].some((port) => port.security_groups.includes(group)))
        throw refusal(409, 'SecurityGroupInUse');
      state.groups.delete(group);
      // As the database does.
      for (const other of state.groups.values())
        other.security_group_rules = other.security_group_rules.filter(
          (rule) => rule.remote_group_id !== group,
        );
      wrote('DELETE group');
    },
    createRules: async (news) => {
      if (new Set(news.map((rule) => rule.security_group_id)).size > 1)
        throw refusal(400, 'SecurityGroupNotSingleGroupRules');
      if (rules().length + news.length > neutron.limits.rules) throw refusal(409, 'OverQuota');
      const made = news.map(({ security_group_id: group, ...rule }) => ({
        group,
        rule: { ...blank, ...rule, id: id() },
      }));
      const texts = made.map(({ group, rule }) => JSON.stringify([group, { ...rule, id: '' }]));
      const present = [...state.groups.values()].flatMap((group) =>
        group.security_group_rules.map((rule) => JSON.stringify([group.id, { ...rule, id: '' }])),
      );
      if (new Set([...texts, ...present]).size < texts.length + present.length)
        throw refusal(409, 'SecurityGroupRuleExists');
      for (const { group, rule } of made) groupOf(group).security_group_rules.push(rule);
      wrote('POST rules');
      return structuredClone(made.map(({ rule }) => rule));
    },
    deleteRule: async (rule) => {
      for (const group of state.groups.values())
        group.security_group_rules = group.security_group_rules.filter(({ id: of }) => of !== rule);
      wrote('DELETE rule');
    },
    createAddressGroup: async (name) => {
      const made = { id: id(), name, addresses: [] };
      state.addressGroups.set(made.id, made);
      wrote('POST address group');
      return structuredClone(made);
    },
    changeAddresses: async (group, change, addresses) => {
      const found = addressGroupOf(group);
      const has = addresses.filter((one) => found.addresses.includes(one));
      if (change === 'add' && has.length > 0) throw refusal(400, 'AddressesAlreadyExist');
      if (change === 'remove' && has.length < addresses.length)
        throw refusal(404, 'AddressesNotFound');
      found.addresses =
        change === 'add'
          ? [...found.addresses, ...addresses]
          : found.addresses.filter((one) => !addresses.includes(one));
      wrote(`PUT ${change} addresses`);
    },
    deleteAddressGroup: async (group) => {
      if (rules().some((rule) => rule.remote_address_group_id === group))
        throw refusal(409, 'AddressGroupInUse');
      state.addressGroups.delete(group);
      wrote('DELETE address group');
    },
  };
  return neutron;
};

const isWithin = (text: string, address: string): boolean => {
  const [block, parsed] = [parseBlock(text), parseAddress(address)];
  if (!block || block.family !== parsed?.family) return false;
  const behind = BigInt(WIDTH[block.family] - block.length);
  return block.bits >> behind === parsed.bits >> behind;
};
