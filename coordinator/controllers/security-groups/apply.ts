/**
 * Writes the steps of a plan to Neutron, and notes in what is known of it what has been done. What
 * throws has done some of them: then nothing is known, and everything is read again.
 */
import { atOnce } from '#shared/util/at-once.ts';
import type { Neutron, NewRule } from '../../neutron/neutron.ts';
import type { NeutronStep } from './plan.ts';
import { addressGroupsByName, groupsByName, type PresentInNeutron } from './present.ts';
import type { GroupRule, Remote } from './types.ts';

/**
 * Rules of one call, which has to end within the time limit of `send`. Neutron with OVN reads all
 * rules of the group at each rule that it makes or deletes, by a query each: among 160 it took 0.3
 * to 0.8 s for a rule (two cores at a load of 13), and a hundred in one call got no answer in time.
 * An address takes 10 ms of CPU.
 */
const RULES_A_CALL = 20;
const ADDRESSES_A_CALL = 100;
const PORTS_AT_ONCE = 4;

export type Applying = { neutron: Neutron; present: PresentInNeutron; signal: AbortSignal };

/** @throws NeutronError */
export const applySteps = async (
  steps: readonly NeutronStep[],
  applying: Applying,
): Promise<void> => {
  for (const step of steps) await carryOut(step.do, step, applying);
};

type NeutronStepOf<Do extends NeutronStep['do']> = Extract<NeutronStep, { do: Do }>;

type Steps = {
  [Do in NeutronStep['do']]: (step: NeutronStepOf<Do>, applying: Applying) => Promise<void>;
};

const carryOut = <Do extends NeutronStep['do']>(
  kind: Do,
  step: NeutronStepOf<Do>,
  applying: Applying,
): Promise<void> => STEPS[kind](step, applying);

const STEPS: Steps = {
  'create-address-group': async ({ name }, { neutron, present, signal }) => {
    const made = await neutron.createAddressGroup(name, signal);
    present.addressGroups.set(made.id, made);
  },
  'change-addresses': async ({ name, change, addresses }, { neutron, present, signal }) => {
    const group = addressGroupsByName(present).get(name)?.[0];
    if (group === undefined) throw new Error(`no address group ${name}`);
    for (let from = 0; from < addresses.length; from += ADDRESSES_A_CALL) {
      const part = addresses.slice(from, from + ADDRESSES_A_CALL);
      await neutron.changeAddresses(group.id, change, part, signal);
      group.addresses =
        change === 'add'
          ? [...group.addresses, ...part]
          : group.addresses.filter((one) => !part.includes(one));
    }
  },
  'create-group': async ({ group }, { neutron, present, signal }) => {
    const { name, description, tags } = group;
    const made = await neutron.createGroup({ name, description }, signal);
    for (const { id } of made.security_group_rules) await neutron.deleteRule(id, signal);
    await neutron.setGroupTags(made.id, tags, signal);
    present.groups.set(made.id, { ...made, tags: [...tags], security_group_rules: [] });
  },
  'tag-group': async ({ id, tags }, { neutron, present, signal }) => {
    await neutron.setGroupTags(id, tags, signal);
    const group = present.groups.get(id);
    if (group) group.tags = [...tags];
  },
  'add-rules': async ({ rules }, { neutron, present, signal }) => {
    const ids = idsByName(present);
    // Neutron takes the rules of one group in a call: of several it says
    // SecurityGroupNotSingleGroupRules.
    for (const [name, own] of Map.groupBy(rules, ({ group }) => group)) {
      const id = idIn(ids, name);
      const news = own.map(({ rule }) => newRule(id, rule, ids));
      for (let from = 0; from < news.length; from += RULES_A_CALL) {
        const made = await neutron.createRules(news.slice(from, from + RULES_A_CALL), signal);
        present.groups.get(id)?.security_group_rules.push(...made);
      }
    }
  },
  'remove-rules': async ({ rules }, { neutron, present, signal }) => {
    for (const { group, id } of rules) {
      await neutron.deleteRule(id, signal);
      const there = groupsByName(present).get(group)?.[0];
      if (there)
        there.security_group_rules = there.security_group_rules.filter((rule) => rule.id !== id);
    }
  },
  'set-ports': ({ ports }, { neutron, present, signal }) =>
    atOnce(ports, PORTS_AT_ONCE, async (step) => {
      const port = present.ports.get(step.port);
      if (port === undefined) return;
      const others = port.security_groups.filter((id) => !present.groups.has(id));
      const ids = idsByName(present);
      const groups = [...others, ...step.groups.map((name) => idIn(ids, name))];
      present.ports.set(port.id, await neutron.setPortGroups(port, groups, signal));
    }),
  'delete-group': async ({ id }, { neutron, present, signal }) => {
    await neutron.deleteGroup(id, signal);
    present.groups.delete(id);
  },
  'delete-address-group': async ({ id }, { neutron, present, signal }) => {
    await neutron.deleteAddressGroup(id, signal);
    present.addressGroups.delete(id);
  },
};

const newRule = (
  group: string,
  { direction, ethertype, protocol, ports, remote }: GroupRule,
  ids: ReadonlyMap<string, string>,
): NewRule => ({
  security_group_id: group,
  direction,
  ethertype,
  ...(protocol && { protocol }),
  ...(ports && { port_range_min: ports[0], port_range_max: ports[1] }),
  ...(remote && remoteFields(remote, ids)),
});

const remoteFields = (remote: Remote, ids: ReadonlyMap<string, string>): Partial<NewRule> => {
  if ('prefix' in remote) return { remote_ip_prefix: remote.prefix };
  if ('group' in remote) return { remote_group_id: idIn(ids, remote.group) };
  return { remote_address_group_id: idIn(ids, addressKey(remote.addresses)) };
};

/** A group and an address group may have one name. */
const addressKey = (name: string): string => `addresses ${name}`;

const idsByName = (present: PresentInNeutron): ReadonlyMap<string, string> =>
  new Map([
    ...firstIds(groupsByName(present), (name) => name),
    ...firstIds(addressGroupsByName(present), addressKey),
  ]);

const firstIds = (
  named: ReadonlyMap<string, readonly { id: string }[]>,
  keyOf: (name: string) => string,
): [string, string][] =>
  [...named].flatMap(([name, [first]]): [string, string][] =>
    first ? [[keyOf(name), first.id]] : [],
  );

const idIn = (ids: ReadonlyMap<string, string>, name: string): string => {
  const id = ids.get(name);
  if (id === undefined) throw new Error(`no group ${name}`);
  return id;
};
