/** mwan3/v1: policies with their members, and rules; all named sections of `mwan3`. */
import { isArray, isObject, type Json } from '../json.ts';
import type { UciSection } from '../uci/package.ts';
import { definedBy, flag, network, oneOf, positive } from './checks.ts';
import type { Collection } from './collection.ts';
import { luaError, Refusal } from './errors.ts';
import { asText, type Context, type Data, type Field } from './fields.ts';
import { listOf, textOf } from './uci.ts';

/** Any section of the package passes for an interface or a policy. */
const defined = (what: string) =>
  definedBy(what, (name, { uci }) => uci.load('mwan3').find(name) !== undefined);

const MEMBER_FIELDS: readonly Field[] = [
  { name: 'interface', check: defined('Interface'), message: 'invalid interface' },
  { name: 'metric', check: positive, message: 'metric should be greater than 0' },
  { name: 'weight', check: positive, message: 'weight should be greater than 0' },
];

const create = (data: Data, name: string, { uci }: Context): void => {
  const members = membersOf(data['members']);
  if (members === undefined)
    throw luaError('mwan3_rest.lua:145', "attempt to get length of local 'members' (a nil value)");
  const interfaces = members.map((member) => member['interface']);
  if (new Set(interfaces).size < interfaces.length)
    throw new Refusal(400, 'Same interface is used in different members');
  const draft = uci.open('mwan3');
  const ids = members.map((member) => {
    const id = `${name}_${asText(member['interface'] ?? '')}`;
    const section = draft.add('member', id);
    for (const { name: option } of MEMBER_FIELDS) {
      const value = member[option];
      if (typeof value === 'string') draft.set(section, option, value);
    }
    return id;
  });
  draft.set(draft.add('policy', name), 'use_member', ids);
  draft.stage();
};

const membersOf = (value: Json | undefined): Data[] | undefined =>
  isArray(value) ? value.filter(isObject) : undefined;

const memberSections = (policy: UciSection, { uci }: Context): UciSection[] => {
  const uciPackage = uci.load('mwan3');
  return listOf(policy, 'use_member').flatMap((id) => {
    const section = uciPackage.find(id);
    return section?.type === 'member' ? [section] : [];
  });
};

export const POLICIES: Collection = {
  key: 'policies',
  noun: 'policy',
  package: 'mwan3',
  type: 'policy',
  named: true,
  fields: [
    { name: 'name' },
    { name: 'members', items: MEMBER_FIELDS, message: 'Incorrect policy member' },
  ],
  inUse: (name, { uci }) =>
    uci.sections('mwan3', 'rule').some((rule) => textOf(rule, 'use_policy') === name),
  create,
  show: (section, context) => ({
    name: section.name,
    members: memberSections(section, context).map((member) => ({
      name: member.name,
      ...Object.fromEntries(
        MEMBER_FIELDS.flatMap(({ name }) => {
          const value = textOf(member, name);
          return value === '' ? [] : [[name, value]];
        }),
      ),
    })),
  }),
  beforeRemove: (policies, draft, context) => {
    for (const policy of policies)
      for (const member of memberSections(policy, context)) draft.remove(member.name);
  },
};

export const MWAN3_RULES: Collection = {
  key: 'rules',
  noun: 'rule',
  package: 'mwan3',
  type: 'rule',
  named: true,
  fields: [
    { name: 'name' },
    { name: 'policy', option: 'use_policy', check: defined('Policy'), message: 'invalid policy' },
    { name: 'src_ip', check: network, message: 'invalid ip address' },
    { name: 'src_port', check: positive, message: 'invalid port' },
    { name: 'dest_ip', check: network, message: 'invalid ip address' },
    { name: 'dest_port', check: positive, message: 'invalid port' },
    { name: 'proto', check: oneOf('tcp', 'udp', 'icmp', 'all'), message: 'wrong proto' },
    { name: 'family', check: oneOf('ipv4', 'ipv6', 'all'), message: 'wrong family' },
    { name: 'sticky', check: flag, message: 'wrong sticky' },
    { name: 'timeout', check: positive, message: 'timeout should be greater than 0' },
  ],
};
