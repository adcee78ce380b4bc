/**
 * Which routes and policy rules of package network the kernel does not have, by their own fields. netifd accepts a route that the kernel
 * refuses, such as one through a gateway that no interface reaches, and says nothing. Pure.
 */
import type { UciSection } from '#shared/uci/model.ts';
import { networkOf } from './networks.ts';
import { own } from '#shared/runtime/own.ts';

/** Section -> what it asks for that the kernel lacks. `text`: what verb `state` of the helper has left. */
export const lackingRouting = (
  network: readonly UciSection[],
  text: string,
): ReadonlyMap<string, string> => {
  const { routes, rules } = parse(text);
  const devices = new Map(network.map(({ name, options }) => [name, options['device']]));
  return new Map(
    network.flatMap(({ name, type, options }): [string, string][] => {
      const option = (key: string): string | undefined =>
        typeof options[key] === 'string' ? options[key] : undefined;
      const v6 = type.endsWith('6');
      if (type === 'route' || type === 'route6') {
        const wanted = wantedRoute(option, devices.get(option('interface') ?? ''));
        return routes.some((route) => isThere(wanted, route)) ? [] : [[name, routeText(option)]];
      }
      if (type !== 'rule' && type !== 'rule6') return [];
      const wanted = wantedRule(option, v6);
      return rules.has(wanted) ? [] : [[name, `the ip rule ${ruleText(option)}`]];
    }),
  );
};

type Option = (key: string) => string | undefined;
type Route = { target: string; table: string; gateway?: string | undefined; device?: unknown };

const MAIN = '254';
const TABLES: Readonly<Record<string, string>> = { main: MAIN, default: '253', local: '255' };
const tableOf = (name: string = MAIN): string => own(TABLES, name) ?? name;
const EVERYTHING = { inet: '0.0.0.0/0', inet6: '::/0' } as const;
/** `ip` begins the line of a route that is not an ordinary one with its type. */
const TYPED = /^(?:local|broadcast|multicast|anycast|unreachable|blackhole|prohibit|throw|nat) /;

const wantedRoute = (option: Option, device: unknown): Route => ({
  target: networkOf(option('target') ?? '') ?? '',
  table: tableOf(option('table')),
  gateway: canonical(option('gateway')),
  device,
});

/** A next hop says by which device; netifd's device of an interface need not be the one of its name. */
const isThere = (wanted: Route, { target, table, gateway, device }: Route): boolean =>
  wanted.target === target &&
  wanted.table === table &&
  wanted.gateway === gateway &&
  (gateway !== undefined || wanted.device === undefined || wanted.device === device);

const canonical = (address: string | undefined): string | undefined =>
  address === undefined ? undefined : networkOf(address);

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
    target: networkOf(target) ?? '',
    table: tableOf(after(words, 'table')),
    gateway: canonical(via),
    device: after(words, 'dev'),
  };
};

/** One form for both sides. */
const ruleIn = (line: string, family: keyof typeof EVERYTHING): string => {
  const [place = '', ...words] = line.trim().split(/\s+/);
  return ruleKey({
    v6: family === 'inet6',
    priority: place.replace(':', ''),
    not: words.includes('not'),
    from: after(words, 'from'),
    to: after(words, 'to'),
    mark: after(words, 'fwmark'),
    table: after(words, 'lookup'),
  });
};

const wantedRule = (option: Option, v6: boolean): string =>
  ruleKey({
    v6,
    priority: option('priority'),
    not: option('invert') === '1',
    from: option('src'),
    to: option('dest'),
    mark: option('mark'),
    table: option('lookup'),
  });

type Rule = {
  v6: boolean;
  priority: string | undefined;
  not: boolean;
  from: string | undefined;
  to: string | undefined;
  mark: string | undefined;
  table: string | undefined;
};

const ruleKey = ({ v6, priority, not, from, to, mark, table }: Rule): string => {
  const everything = EVERYTHING[v6 ? 'inet6' : 'inet'];
  const [from_, to_] = [from, to].map((network = 'all') =>
    networkOf(network === 'all' ? everything : network),
  );
  return JSON.stringify([v6, Number(priority), not, from_, to_, markOf(mark), tableOf(table)]);
};

const ALL_BITS = 0xff_ff_ff_ff;

const markOf = (mark: string | undefined): readonly number[] => {
  if (mark === undefined) return [];
  const [value = '', mask] = mark.split('/');
  return [Number(value), mask === undefined ? ALL_BITS : Number(mask)];
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
