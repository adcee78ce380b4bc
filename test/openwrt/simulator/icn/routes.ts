/** route/v1, rule/v1 and application/v1: routes and policy rules, set by `ip`. */
import type { Json, JsonObject } from '../json.ts';
import type { UciSection } from '../uci/package.ts';
import { address, isAddress, network, oneOf, positive } from './checks.ts';
import { createSection, type Collection } from './collection.ts';
import { luaError } from './errors.ts';
import { asText, shown, type Check, type Data, type Field } from './fields.ts';
import { resolved } from './network-rules.ts';
import { textOf } from './uci.ts';

/** ICN's own table. */
const CNF_TABLE = '40';

const text = (value: Json | undefined): string => (value === undefined ? '' : asText(value));
const word = (name: string, value: Json | undefined): string =>
  text(value) === '' ? '' : ` ${name} ${text(value)}`;

const destination: Check = (value, context) => value === 'default' || network(value, context);

const ROUTE_FIELDS: readonly Field[] = [
  { name: 'name' },
  { name: 'dst', check: destination, message: 'Invalid Destination IP Address' },
  { name: 'src', check: address, message: 'Invalid Source IP Address' },
  { name: 'gw', check: address, message: 'Invalid Gateway IP Address' },
  { name: 'dev' },
  { name: 'dev_val', internal: true },
  { name: 'table', check: oneOf('default', 'cnf'), message: 'Bad route table' },
];

const routeCommand = (operation: 'add' | 'del', data: Data): string => {
  if (data['dst'] === undefined)
    throw luaError('route_rest.lua:93', "attempt to concatenate local 'dst' (a nil value)");
  const table = data['table'] === 'cnf' ? ` table ${CNF_TABLE}` : '';
  return `ip route ${operation}${table} ${text(data['dst'])}${word('via', data['gw'])}${word('dev', data['dev_val'])}${word('src', data['src'])}`;
};

export const ROUTES: Collection = {
  key: 'routes',
  noun: 'route',
  package: 'route-cnf',
  type: 'route',
  named: false,
  fields: ROUTE_FIELDS,
  check: (data, context) => ({ ...data, dev_val: resolved(data, 'dev', context) }),
  create: (data, name, context) => {
    createSection(ROUTES, data, name, context);
    context.kernel.run(routeCommand('add', data));
  },
  beforeRemove: ([first], _draft, { kernel }) => {
    if (first) kernel.run(routeCommand('del', shown(ROUTE_FIELDS, first)));
  },
};

const LONGEST_MARK = '0x12345678'.length;

/** Hex with or without `0x`; `ip` reads what has none as decimal. */
const mark: Check = (value) => {
  const given = text(value);
  if (!/^(?:0x)?[0-9a-f]+$/i.test(given)) return 'not a number';
  return given.length <= LONGEST_MARK || 'too large';
};

const table: Check = (value, context) =>
  oneOf('main', 'local', 'default')(value, context) === true || positive(value, context);

const RULE_FIELDS: readonly Field[] = [
  { name: 'name' },
  { name: 'src', check: network, message: 'Invalid Source IP Address' },
  { name: 'dst', check: network, message: 'Invalid Destination IP Address' },
  { name: 'flag' },
  { name: 'prio', check: positive, message: 'Invalid Prioroty' },
  { name: 'fwmark', check: mark, message: 'Invalid fwmark' },
  { name: 'table', check: table, message: 'Invalid Table' },
];

/** A flag that was given as text is in force and yet reads back as false. */
const showRule = (section: UciSection): JsonObject => ({
  ...shown(RULE_FIELDS, section),
  flag: textOf(section, 'flag') === '1',
});

const ruleCommand = (operation: 'add' | 'del', data: Data): string => {
  const not = data['flag'] === true || data['flag'] === 'true' ? ' not' : '';
  const lookup = text(data['table']) || 'main';
  return `ip rule ${operation}${not}${word('prio', data['prio'])}${word('from', data['src'])}${word('to', data['dst'])} lookup ${lookup}${word('fwmark', data['fwmark'])}`;
};

export const ROUTE_RULES: Collection = {
  key: 'rules',
  noun: 'rule',
  package: 'rule-cnf',
  type: 'rule',
  named: false,
  fields: RULE_FIELDS,
  show: showRule,
  create: (data, name, context) => {
    createSection(ROUTE_RULES, data, name, context);
    context.kernel.run(ruleCommand('add', data));
  },
  beforeRemove: ([first], _draft, { kernel }) => {
    if (first) kernel.run(ruleCommand('del', showRule(first)));
  },
};

const addresses: Check = (value) => {
  if (typeof value === 'object')
    throw luaError('utils.lua:114', "bad argument #1 to 'gmatch' (string expected, got table)");
  return itemsOf(text(value)).every((item) => isAddress(item.trim())) || '';
};

const itemsOf = (list: string): string[] => list.split(',').filter((item) => item.trim() !== '');

const APPLICATION_FIELDS: readonly Field[] = [
  { name: 'name' },
  { name: 'iplist', option: 'src', check: addresses, message: 'Invalid Source IP Address' },
];

const applicationCommand = (operation: 'add' | 'del', ip: string): string =>
  `ip rule ${operation} from ${ip} lookup ${CNF_TABLE}`;

export const APPLICATIONS: Collection = {
  key: 'applications',
  noun: 'application',
  package: 'app-cnf',
  type: 'rule',
  named: true,
  fields: APPLICATION_FIELDS,
  create: (data, name, context) => {
    createSection(APPLICATIONS, data, name, context);
    for (const ip of itemsOf(text(data['iplist'])))
      context.kernel.run(applicationCommand('add', ip));
  },
  beforeRemove: ([first], _draft, { kernel }) => {
    if (!first) return;
    for (const ip of itemsOf(textOf(first, 'src'))) kernel.run(applicationCommand('del', ip));
  },
};
