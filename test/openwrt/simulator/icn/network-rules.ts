/** networkfirewall/v1: rules between devices, kept in `firewall-rule` and set by iptables. */
import type { Json } from '../json.ts';
import type { UciSection } from '../uci/package.ts';
import { icmpTypes, mac, network, oneOf, plain, positive, protocol } from './checks.ts';
import { createSection, type Collection } from './collection.ts';
import { luaError, Refusal } from './errors.ts';
import { shown, type Context, type Data, type Field } from './fields.ts';
import { needsMark } from './firewall.ts';

const FIELDS: readonly Field[] = [
  plain('name'),
  plain('src'),
  { name: 'src_val', internal: true },
  plain('src_ip', network),
  plain('src_mac', mac),
  plain('src_port', positive),
  plain('proto', protocol),
  { ...plain('icmp_type', icmpTypes('address-mask-request')), list: true },
  plain('dest'),
  { name: 'dest_val', internal: true },
  plain('dest_ip', network),
  plain('dest_port', positive),
  plain('mark'),
  plain('target', oneOf('ACCEPT', 'REJECT', 'DROP', 'MARK', 'NOTRACK')),
  plain('set_mark'),
  plain('set_xmark'),
  plain('family', oneOf('ipv4', 'ipv6', 'any')),
  plain('extra'),
];

/** The device that a field means. @throws Refusal 428, LuaError for none given */
export const resolved = (data: Data, field: string, { kernel }: Context): string => {
  const value = data[field];
  if (typeof value !== 'string')
    throw luaError('utils.lua:28', "bad argument #1 to 'find' (string expected, got nil)");
  const device = kernel.resolve(value);
  if (device === undefined)
    throw new Refusal(428, `Field[${field}] checked failed: Invalid interface`);
  return device;
};

const check = (data: Data, context: Context): Data => {
  const source = { src_val: resolved(data, 'src', context) };
  const destination = 'dest' in data ? { dest_val: resolved(data, 'dest', context) } : {};
  return needsMark({ ...data, ...source, ...destination });
};

const word = (data: Data, option: string, field: string): string =>
  data[field] === undefined ? '' : ` ${option} ${text(data[field])}`;

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** @throws LuaError without what the line is made of */
const commandsOf = (operation: '-A' | '-D', data: Data): string[] => {
  const target = text(data['target']);
  if (target === '')
    throw luaError('fw_rest.lua:187', "attempt to concatenate local 'target' (a nil value)");
  const isMark = target === 'MARK';
  const isForwarded = !isMark && data['dest_val'] !== undefined;
  const chain = isMark ? 'PREROUTING' : isForwarded ? 'FORWARD' : 'INPUT';
  const start = `iptables${isMark ? ' -t mangle' : ''} ${operation} ${chain}${word(data, '-i', 'src_val')}${isForwarded ? word(data, '-o', 'dest_val') : ''}${word(data, '-s', 'src_ip')}${word(data, '-d', 'dest_ip')}`;
  const marks = isMark
    ? word(data, '--set-xmark', 'set_xmark') || word(data, '--set-mark', 'set_mark')
    : '';
  const end = `${prefixed(' -m mac', word(data, '--mac-source', 'src_mac'))}${prefixed(' -m mark', word(data, '--mark', 'mark'))} -j ${target}${marks}`;
  return protocolsOf(data).map((middle) => `${start}${middle}${end}`);
};

const prefixed = (prefix: string, words: string): string => (words === '' ? '' : prefix + words);

const protocolsOf = (data: Data): string[] => {
  const proto = text(data['proto']);
  const ports = `${word(data, '--sport', 'src_port')}${word(data, '--dport', 'dest_port')}`;
  if (proto === '' || proto === 'all') return [''];
  if (proto === 'tcpudp') return ['tcp', 'udp'].map((one) => ` -p ${one} -m ${one}${ports}`);
  if (proto === 'tcp' || proto === 'udp') return [` -p ${proto} -m ${proto}${ports}`];
  if (proto !== 'icmp') return [` -p ${proto}`];
  const types = data['icmp_type'];
  if (!Array.isArray(types))
    throw luaError('fw_rest.lua:220', "attempt to get length of local 'icmp_type' (a nil value)");
  return types.map((type) => ` -p icmp -m icmp --icmp-type ${type}`);
};

/** What a section stands for, as the data that it was made from. */
const dataOf = (section: UciSection): Data => shown(FIELDS, section);

export const NETWORK_RULES: Collection = {
  key: 'rules',
  noun: 'rule',
  package: 'firewall-rule',
  type: 'rule',
  named: false,
  fields: FIELDS,
  check,
  create: (data, name, context) => {
    createSection(NETWORK_RULES, data, name, context);
    for (const command of commandsOf('-A', data)) context.kernel.run(command);
  },
  beforeRemove: ([first], _draft, { kernel }) => {
    if (first) for (const command of commandsOf('-D', dataOf(first))) kernel.run(command);
  },
};
