/**
 * The status of netifd and mwan3, made up from their packages: every configured interface is up.
 * Shaped like the recorded answers, which came from stand-ins too.
 */
import type { Json, JsonObject } from '../json.ts';
import { ok, type BusObject } from '../rpcd/bus.ts';
import { UciError } from '../uci/errors.ts';
import type { UciSection } from '../uci/package.ts';
import type { UciStore } from '../uci/store.ts';

export const createInterfaceObject = (store: UciStore): BusObject => ({
  dump: {
    arguments: {},
    call: () => {
      const routes = ['route', 'route6'].flatMap((type) => sectionsOf(store, 'network', type));
      return ok({
        interface: sectionsOf(store, 'network', 'interface').map((one) =>
          interfaceStatus(
            one,
            routes.filter((route) => textOf(route, 'interface') === one.name),
          ),
        ),
      });
    },
  },
});

export const createMwan3Object = (store: UciStore): BusObject => ({
  status: {
    arguments: { section: 'string' },
    call: () =>
      ok({
        interfaces: Object.fromEntries(
          sectionsOf(store, 'mwan3', 'interface').map((section) => [
            section.name,
            tracked(section),
          ]),
        ),
        connected: {},
        policies: { ipv4: policies(store), ipv6: {} },
      }),
  },
});

const interfaceStatus = (section: UciSection, routes: readonly UciSection[]): JsonObject => {
  const device = textOf(section, 'device');
  const metric = Number(textOf(section, 'metric') || 0);
  const nothing = { 'ipv4-address': [], 'ipv6-address': [], route: [], ...NO_NEIGHBOURS };
  return {
    interface: section.name,
    up: true,
    pending: false,
    available: true,
    autostart: true,
    dynamic: false,
    uptime: 5,
    l3_device: device,
    proto: textOf(section, 'proto'),
    device,
    updated: ['addresses'],
    metric,
    dns_metric: 0,
    delegation: true,
    'ipv4-address': addressesOf(section),
    'ipv6-address': [],
    'ipv6-prefix': [],
    'ipv6-prefix-assignment': [],
    route: [...gatewayOf(section), ...routes.map(staticRoute)],
    ...NO_NEIGHBOURS,
    inactive: nothing,
    data: {},
  };
};

const gatewayOf = (section: UciSection): JsonObject[] => {
  const nexthop = textOf(section, 'gateway');
  const metric = Number(textOf(section, 'metric') || 0);
  return nexthop === ''
    ? []
    : [{ target: '0.0.0.0', mask: 0, nexthop, metric, source: '0.0.0.0/0' }];
};

/** As netifd tells of a section of its configuration; a route of another table names that. */
const staticRoute = (section: UciSection): JsonObject => {
  const isV6 = section.type === 'route6';
  const [target = '', mask] = textOf(section, 'target').split('/');
  const table = textOf(section, 'table');
  return {
    target,
    mask: Number(mask ?? (isV6 ? 128 : 32)),
    nexthop: textOf(section, 'gateway') || (isV6 ? '::' : '0.0.0.0'),
    ...(table === '' ? {} : { table: Number(table) }),
    source: isV6 ? '::/0' : '0.0.0.0/0',
  };
};

const NO_NEIGHBOURS = { 'dns-server': [], 'dns-search': [], neighbors: [] };

const addressesOf = (section: UciSection): Json => {
  const address = textOf(section, 'ipaddr');
  return address === '' ? [] : [{ address, mask: prefixLength(textOf(section, 'netmask')) }];
};

const prefixLength = (netmask: string): number =>
  netmask
    .split('.')
    .map((part) => Number(part).toString(2).replaceAll('0', '').length)
    .reduce((sum, bits) => sum + bits, 0);

const tracked = (section: UciSection): JsonObject => ({
  age: 5,
  online: 5,
  offline: 0,
  uptime: 5,
  score: 10,
  lost: 0,
  turn: 0,
  status: 'online',
  enabled: true,
  running: true,
  tracking: 'active',
  up: true,
  track_ip: listOf(section, 'track_ip').map((ip) => ({
    ip,
    status: 'up',
    latency: 0,
    packetloss: 0,
  })),
});

/**
 * Each member's share of the weights of its metric. A name over 15 characters is left out, as mwan3
 * does.
 */
const policies = (store: UciStore): JsonObject => {
  const members = new Map(
    sectionsOf(store, 'mwan3', 'member').map((member) => [
      member.name,
      {
        interface: textOf(member, 'interface'),
        metric: Number(textOf(member, 'metric') || 1),
        weight: Number(textOf(member, 'weight') || 1),
      },
    ]),
  );
  return Object.fromEntries(
    sectionsOf(store, 'mwan3', 'policy')
      .filter(({ name }) => name.length <= 15)
      .map((policy) => {
        const used = listOf(policy, 'use_member')
          .map((name) => members.get(name))
          .filter((member) => member !== undefined);
        const shares = used.map(({ interface: name, metric, weight }) => {
          const same = used.filter((other) => other.metric === metric);
          const total = same.reduce((sum, other) => sum + other.weight, 0);
          return { interface: name, percent: Math.floor((weight * 100) / total) };
        });
        return [policy.name, shares];
      }),
  );
};

const sectionsOf = (store: UciStore, name: string, type: string): UciSection[] => {
  try {
    return store.load(name).package.sections.filter((section) => section.type === type);
  } catch (error) {
    if (error instanceof UciError) return [];
    throw error;
  }
};

const textOf = (section: UciSection, option: string): string => {
  const value = section.options.get(option);
  return typeof value === 'string' ? value : '';
};

const listOf = (section: UciSection, option: string): readonly string[] => {
  const value = section.options.get(option) ?? [];
  return typeof value === 'string' ? [value] : value;
};
