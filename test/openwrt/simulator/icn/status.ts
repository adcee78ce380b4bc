/**
 * v1/status: what modules report about the running device. Shaped as recorded; the device's links
 * are all up, nothing is tracked, and every configured IPsec connection is established. ICN's own
 * faults in reading `ip route` are not simulated.
 */
import { isArray, isObject, type Json, type JsonObject } from '../json.ts';
import type { Bus } from '../rpcd/bus.ts';
import { NO_SESSION } from '../rpcd/sessions.ts';
import { Refusal } from './errors.ts';
import type { Context } from './fields.ts';
import { formatAddress } from './kernel/addresses.ts';
import type { Address, IpRoute } from './kernel/ip-routes.ts';
import { listOf, textOf } from './uci.ts';

type Module = (context: Context, bus: Bus) => Json | Promise<Json>;

const interfaces: Module = ({ kernel }) => {
  const devices = [...new Set(kernel.addresses().map(({ device }) => device))];
  return devices.map((device) => ({
    name: device,
    // Secondary addresses are missing, as recorded.
    ip_address: ipsOf(kernel.addresses().filter((one) => one.device === device)).slice(0, 1),
    ip6_address: [],
    mac_address: macOf(device),
    received_packets: '0',
    send_packets: '0',
    status: 'UP',
  }));
};

const ipsOf = (addresses: readonly Address[]): string[] =>
  addresses.map(({ prefix }) => formatAddress(prefix.address));

/** Made up, the same for the same name. */
const macOf = (device: string): string =>
  ['02', ...(Buffer.from(device.padEnd(5, '-')).subarray(0, 5).toString('hex').match(/../g) ?? [])]
    .join(':')
    .toUpperCase();

const ipsec: Module = ({ uci }) => {
  const { sections } = uci.load('ipsec');
  const names = sections
    .filter(({ type }) => type === 'remote')
    .flatMap((remote) => [...listOf(remote, 'tunnel'), ...listOf(remote, 'transport')]);
  const connections = names.flatMap((name) => sections.find((one) => one.name === name) ?? []);
  const counts = { up: String(names.length), connecting: '0' };
  const details = connections.map((one) => ({
    connection: `${textOf(one, 'local_subnet')} === ${textOf(one, 'remote_subnet')}`,
  }));
  return { InitConnection: 'success', details: names.length === 0 ? [] : [counts, ...details] };
};

const routes: Module = ({ kernel }) => ({
  main: { item: kernel.routes.list('main').map(shownRoute) },
  40: { item: kernel.routes.list('40').map(shownRoute) },
  default: { item: [] },
  local: { item: localRoutes(kernel.addresses()) },
});

const shownRoute = ({ destination, via, device, src, proto }: IpRoute): JsonObject => ({
  destination,
  device,
  ...(via === undefined ? { scope: 'link' } : { gateway: via }),
  ...(proto === undefined ? {} : { proto }),
  ...(src === undefined ? {} : { src }),
});

const localRoutes = (addresses: readonly Address[]): JsonObject[] => {
  const loopback = { device: 'lo', src: '127.0.0.1' };
  const own = addresses.map(({ device, prefix }) => ({
    device,
    src: formatAddress(prefix.address),
    order: prefix.address,
  }));
  return [{ ...loopback, order: LOOPBACK_NET }, { ...loopback, order: LOOPBACK_NET }, ...own]
    .sort((a, b) => a.order - b.order)
    .flatMap(({ device, src }, index, all) => [
      { proto: 'kernel', scope: 'host', destination: 'local', src, device },
      // 127.0.0.0/8 is local as a whole, and only 127.0.0.1/8 has a broadcast address.
      ...(all[index + 1]?.src === src
        ? []
        : [{ proto: 'kernel', scope: 'link', destination: 'broadcast', src, device }]),
    ]);
};

const LOOPBACK_NET = 127 * 2 ** 24;

/** Without the table, which newer versions of `ip` print elsewhere. */
const rules: Module = ({ kernel }) =>
  kernel.ipRules.list().map(({ priority, not, from = 'all', to, fwmark }) => ({
    prio: String(priority),
    src: from,
    not: String(not),
    ...(to === undefined ? {} : { dst: to }),
    ...(fwmark === undefined ? {} : { fwmark }),
  }));

const wan: Module = async (_context, bus) => {
  const reply = await bus.call({ object: 'mwan3', method: 'status' }, {}, { session: NO_SESSION });
  return emptyAsList(reply.data ?? {});
};

/** Lua's empty table is written as an empty list. */
const emptyAsList = (value: Json): Json => {
  if (isArray(value)) return value.map(emptyAsList);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, emptyAsList(item)] as const);
  return entries.length === 0 ? [] : Object.fromEntries(entries);
};

const MODULES: Readonly<Record<string, Module>> = {
  conntrack: () => [],
  interface: interfaces,
  ipsec,
  route: routes,
  rule: rules,
  wan,
};

/** All modules, or the one named. @throws Refusal */
export const statusOf = async (
  name: string | undefined,
  context: Context,
  bus: Bus,
): Promise<Json> => {
  const one = async (module: string): Promise<JsonObject> => {
    const read = MODULES[module];
    if (!read) throw new Refusal(400, `Bad request URI: ${module} is not supported`);
    return { name: module, status: await read(context, bus) };
  };
  return name === undefined ? Promise.all(Object.keys(MODULES).map(one)) : one(name);
};
