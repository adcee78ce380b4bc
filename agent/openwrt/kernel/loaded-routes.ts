/**
 * Which routes and policy rules of package network the kernel does not have, by their own fields.
 * netifd accepts a route that the kernel refuses, such as one through a gateway that no interface
 * reaches, and says nothing. Pure.
 */
import type { UciSection } from '#shared/uci/model.ts';
import { cNumber, networkOf } from './address-forms.ts';
import { compareSections, type Compared } from './sections.ts';
import { own } from '#shared/util/own.ts';

/** `text`: what verb `state` of the helper has left. */
export const lackingRouting = (network: readonly UciSection[], text: string): Compared =>
  compareSections(network, () => {
    const { routes, rules } = parse(text);
    const devices = new Map(network.map(({ name, options }) => [name, options['device']]));
    return ({ type, options }) => {
      const option = (key: string): string | undefined =>
        typeof options[key] === 'string' ? options[key] : undefined;
      const v6 = type.endsWith('6');
      if (type === 'route' || type === 'route6') {
        const wanted = wantedRoute(option, devices.get(option('interface') ?? ''));
        return routes.some((route) => isThere(wanted, route)) ? undefined : routeText(option);
      }
      if (type !== 'rule' && type !== 'rule6') return undefined;
      const wanted = wantedRule(option, v6);
      return rules.has(wanted) ? undefined : `the ip rule ${ruleText(option)}`;
    };
  });

type Option = (key: string) => string | undefined;
type Network = string | undefined;
type Route = { target: Network; table: number | string; gateway?: Network; device?: unknown };
type Rule = {
  v6: boolean;
  priority: number | undefined;
  not: boolean;
  from: Network;
  to: Network;
  mark: readonly number[];
  table: number | string;
};

/** The number of table main. */
export const MAIN_TABLE = 254;
const TABLES: Readonly<Record<string, number>> = { main: MAIN_TABLE, default: 253, local: 255 };
/** The name of any other is the same in the configuration as in what `ip` prints. */
const tableOf = (name = 'main'): number | string => cNumber(name) ?? own(TABLES, name) ?? name;
const EVERYTHING = { inet: '0.0.0.0/0', inet6: '::/0' } as const;
/** `ip` begins the line of a route that is not an ordinary one with its type. */
const TYPED = /^(?:local|broadcast|multicast|anycast|unreachable|blackhole|prohibit|throw|nat) /;

/** What netifd makes of the option. @throws Error where that is nothing */
const asNetifd = <Value>(
  option: Option,
  key: string,
  read: (text: string) => Value | undefined,
): Value | undefined => {
  const text = option(key);
  const value = text === undefined ? undefined : read(text);
  if (text !== undefined && value === undefined)
    throw new Error(`netifd does not understand option ${key} '${text}'`);
  return value;
};

const wantedRoute = (option: Option, device: unknown): Route => ({
  target: asNetifd(option, 'target', networkOf),
  table: tableOf(option('table')),
  gateway: asNetifd(option, 'gateway', networkOf),
  device,
});

/** A next hop says by which device; an interface's device need not have the interface's name. */
const isThere = (wanted: Route, { target, table, gateway, device }: Route): boolean =>
  wanted.target === target &&
  wanted.table === table &&
  wanted.gateway === gateway &&
  (gateway !== undefined || wanted.device === undefined || wanted.device === device);

/** What stands there in another form is none that a section asks for. */
const parse = (text: string): { routes: readonly Route[]; rules: ReadonlySet<string> } => {
  const routes: Route[] = [];
  const rules = new Set<string>();
  let family: keyof typeof EVERYTHING | undefined;
  for (const line of text.split('\n')) {
    if (line === 'inet' || line === 'inet6') family = line;
    else if (family !== undefined) rules.add(ruleIn(line, family));
    else if (line !== '' && !TYPED.test(line)) routes.push(routeIn(line));
  }
  return { routes, rules };
};

const routeIn = (line: string): Route => {
  const [destination = '', ...words] = line.trim().split(/\s+/);
  const via = after(words, 'via');
  const isV6 = line.includes(' pref ') || via?.includes(':') === true;
  const target = destination === 'default' ? EVERYTHING[isV6 ? 'inet6' : 'inet'] : destination;
  return {
    target: networkOf(target) ?? target,
    table: tableOf(after(words, 'table')),
    gateway: via === undefined ? undefined : (networkOf(via) ?? via),
    device: after(words, 'dev'),
  };
};

const ruleIn = (line: string, family: keyof typeof EVERYTHING): string => {
  const [place = '', ...words] = line.trim().split(/\s+/);
  const table = after(words, 'lookup');
  if (table === undefined) return line;
  return ruleKey({
    v6: family === 'inet6',
    priority: cNumber(place.replace(':', '')),
    not: words.includes('not'),
    from: networkOf(after(words, 'from') ?? ''),
    to: networkOf(after(words, 'to') ?? ''),
    mark: markOf(after(words, 'fwmark') ?? '') ?? [],
    table: tableOf(table),
  });
};

const wantedRule = (option: Option, v6: boolean): string =>
  ruleKey({
    v6,
    priority: asNetifd(option, 'priority', cNumber),
    not: ['1', 'true'].includes(option('invert') ?? ''),
    from: asNetifd(option, 'src', networkOf),
    to: asNetifd(option, 'dest', networkOf),
    mark: asNetifd(option, 'mark', markOf) ?? [],
    table: tableOf(option('lookup')),
  });

/** One form for both sides: `ip` prints `all`, or nothing, for every address. */
const ruleKey = ({ v6, priority, not, from, to, mark, table }: Rule): string => {
  const everything = networkOf(EVERYTHING[v6 ? 'inet6' : 'inet']);
  return JSON.stringify([v6, priority, not, from ?? everything, to ?? everything, mark, table]);
};

const ALL_BITS = 0xff_ff_ff_ff;

const markOf = (text: string): readonly number[] | undefined => {
  const [mark, mask = String(ALL_BITS), ...rest] = text.split('/');
  const both = [mark, mask].flatMap((half = '') => cNumber(half) ?? []);
  return rest.length === 0 && both.length === 2 ? both : undefined;
};

const after = (words: readonly string[], word: string): string | undefined => {
  const at = words.indexOf(word);
  return at === -1 ? undefined : words[at + 1];
};

const routeText = (option: Option): string =>
  `the route ${worded(option, [
    ['', 'target'],
    ['via ', 'gateway'],
    ['in table ', 'table'],
  ])}`;

const ruleText = (option: Option): string =>
  worded(option, [
    ['from ', 'src'],
    ['to ', 'dest'],
    ['with mark ', 'mark'],
    ['to table ', 'lookup'],
    ['at priority ', 'priority'],
  ]);

const worded = (option: Option, parts: readonly [string, string][]): string =>
  parts
    .flatMap(([word, key]) => (option(key) === undefined ? [] : [`${word}${option(key)}`]))
    .join(' ');
