/** nat/v1: NAT rules between devices, kept in `firewall-nat` and set by iptables. */
import type { Json } from '../json.ts';
import { luaNumber, network, oneOf, plain, positive, protocol } from './checks.ts';
import { createSection, type Collection } from './collection.ts';
import { Refusal } from './errors.ts';
import { shown, type Check, type Context, type Data, type Field } from './fields.ts';

const device: Check = (value, { kernel }) =>
  (typeof value === 'string' &&
    (value === '#default' || value === '#source' || kernel.hasDevice(value))) ||
  '';

const index: Check = (value) =>
  (typeof value === 'string' && Number.isInteger(luaNumber(value)) && luaNumber(value) >= 0) || '';

const FIELDS: readonly Field[] = [
  plain('name'),
  { ...plain('src', device), status: 428 },
  plain('src_ip', network),
  plain('src_dip', network),
  plain('src_port', positive),
  { name: 'src_dport', check: positive, message: 'invalid src_port' },
  plain('proto', protocol),
  { ...plain('dest', device), status: 428 },
  plain('dest_ip', network),
  plain('dest_port', positive),
  plain('target', oneOf('SNAT', 'DNAT', 'MASQUERADE')),
  plain('index', index),
];

const check = (data: Data, { kernel }: Context): Data => {
  const { target } = data;
  const lacks = (field: string): boolean => data[field] === undefined;
  if (target === 'SNAT') {
    if (lacks('src_dip')) throw new Refusal(400, 'src_dip is required for SNAT');
    if (lacks('dest')) throw new Refusal(400, 'dest is required for SNAT');
    if (data['dest'] === '#source' && kernel.deviceOf(text(data['src_dip'])) === undefined)
      throw new Refusal(428, 'ip not found on all interfaces');
  }
  if (target === 'MASQUERADE' && lacks('dest'))
    throw new Refusal(400, 'dest is required for SNAT MASQUERADE');
  if (target === 'DNAT' && lacks('dest_ip') && lacks('dest_port'))
    throw new Refusal(400, 'dest_ip or dest_port are required for DNAT');
  return data;
};

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const word = (option: string, value: Json | undefined): string =>
  value === undefined ? '' : ` ${option} ${text(value)}`;

/** Without a default route `#default` stands for all devices. */
const deviceWord = (option: string, value: string | undefined): string =>
  value === undefined || value === '' ? '' : ` ${option} ${value}`;

const commandOf = (operation: 'add' | 'delete', data: Data, { kernel }: Context): string => {
  const target = text(data['target']);
  const isSource = target === 'SNAT' || target === 'MASQUERADE';
  const chain = isSource ? 'POSTROUTING' : 'PREROUTING';
  const resolve = (value: string): string | undefined => {
    if (value === '#default') return kernel.routes.defaultDevice();
    if (value === '#source' && target === 'SNAT') return kernel.deviceOf(text(data['src_dip']));
    return value;
  };
  const end = isSource ? 'dest' : 'src';
  const [to, port] = isSource ? ['dest_ip', 'dest_port'] : ['src_dip', 'src_dport'];
  return [
    `iptables -t nat ${placeOf(operation, chain, data)}`,
    deviceWord(isSource ? '-o' : '-i', resolve(text(data[end]))),
    word('-p', data['proto']),
    word('-s', data['src_ip']),
    word('--sport', data['src_port']),
    word('-d', data[to]),
    word('--dport', data[port]),
    ` -j ${targetOf(target, data)}`,
  ].join('');
};

const placeOf = (operation: 'add' | 'delete', chain: string, data: Data): string => {
  if (operation === 'delete') return `-D ${chain}`;
  const place = luaNumber(text(data['index']));
  return place > 0 ? `-I ${chain} ${place}` : `-A ${chain}`;
};

const targetOf = (target: string, data: Data): string => {
  const [ip, port] = [text(data['dest_ip']), text(data['dest_port'])];
  const withPort = (host: string, to: string): string => (to === '' ? host : `${host}:${to}`);
  if (target === 'SNAT')
    return `SNAT --to-source ${withPort(text(data['src_dip']), text(data['src_dport']))}`;
  if (target !== 'DNAT') return 'MASQUERADE';
  return ip === '' ? `REDIRECT --to-port ${port}` : `DNAT --to-destination ${withPort(ip, port)}`;
};

export const NATS: Collection = {
  key: 'nats',
  noun: 'nat',
  package: 'firewall-nat',
  type: 'nat',
  named: false,
  fields: FIELDS,
  check,
  create: (data, name, context) => {
    createSection(NATS, data, name, context);
    context.kernel.run(commandOf('add', data, context));
  },
  beforeRemove: ([first], _draft, context) => {
    if (first) context.kernel.run(commandOf('delete', shown(FIELDS, first), context));
  },
};
