/**
 * Information about the running OpenWRT from ICN's REST, in the form of the CNFStatus. Each module
 * is asked for itself, since all at once bring the whole conntrack table; one that fails is
 * reported as empty. Nothing is decided by any of it.
 */
import * as z from 'zod';
import { bounded, type Information } from '#shared/protocol/information.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';
import { wansOf } from '../ubus/information.ts';
import type { RestClient } from './client.ts';

/**
 * `remotes`: the objects of ipsec/remotes, so that tunnels which are down are reported, too.
 * @throws OpenwrtError when it is not reached
 */
export const readIcnInformation = async (
  client: Pick<RestClient, 'look'>,
  remotes: readonly UciSection[],
  signal: AbortSignal,
): Promise<Information> => {
  const module = async (name: string): Promise<unknown> =>
    statusOf(await client.look(`v1/status/${name}`, signal));
  // One after the other, as all calls: each is a process of its own on the CNF.
  const interfaces = interfacesOf(await module('interface'));
  const routes = routesOf(await module('route'));
  const wans = wansOf(await module('wan'));
  const tunnels = tunnelsOf(remotes, await module('ipsec'));
  return bounded({ firewall: 'fw3', interfaces, routes, wans, tunnels });
};

const moduleSchema = z.object({ status: z.unknown() });

/** What a module of v1/status answered, without its wrapping; undefined for anything else. */
export const statusOf = (answer: unknown): unknown =>
  parseUntrusted(moduleSchema, answer).data?.status;

const interfacesSchema = z.array(
  z.object({
    name: z.string(),
    status: z.string().default(''),
    ip_address: z.array(z.string()).default([]),
    ip6_address: z.array(z.string()).default([]),
  }),
);

const MAX_ADDRESSES = 16;

/** Devices, since netifd's names are not shown. IPv4 addresses come without prefix length. */
export const interfacesOf = (status: unknown): Information['interfaces'] =>
  (parseUntrusted(interfacesSchema, status).data ?? []).map(
    ({ name, status: word, ip_address, ip6_address }) => ({
      name: name.slice(0, 64),
      device: name.slice(0, 64),
      up: word === 'UP',
      addresses: [...ip_address, ...ip6_address]
        .slice(0, MAX_ADDRESSES)
        .map((address) => address.slice(0, 64)),
    }),
  );

const routesSchema = z.object({
  main: z.object({
    item: z.array(
      z.object({
        destination: z.string(),
        device: z.string().optional(),
        gateway: z.string().optional(),
        metric: z.string().optional(),
      }),
    ),
  }),
});

/** Lines of `ip route` for a network; the API splits multipath routes into lines that are none. */
const NETWORK = /^(default|\d+(\.\d+){3}(\/\d+)?)$/;

/** Routes of table main only: table 40 was answered empty in 88 of 100 reads (measured). */
export const routesOf = (status: unknown): Information['routes'] =>
  (parseUntrusted(routesSchema, status).data?.main.item ?? []).flatMap(
    ({ destination, device, gateway, metric }) => {
      if (device === undefined || !NETWORK.test(destination)) return [];
      return [
        {
          target: targetOf(destination),
          ...(gateway === undefined ? {} : { gateway: gateway.slice(0, 64) }),
          interface: device.slice(0, 64),
          ...(metric !== undefined && /^\d{1,10}$/.test(metric) ? { metric: Number(metric) } : {}),
        },
      ];
    },
  );

const targetOf = (destination: string): string => {
  if (destination === 'default') return '0.0.0.0/0';
  return (destination.includes('/') ? destination : `${destination}/32`).slice(0, 64);
};

const ipsecSchema = z.object({
  details: z.array(z.object({ up: z.string().optional(), connection: z.string().optional() })),
});

/**
 * The API counts the IKE connections that are up and lists the networks of those that carry
 * packets, and names none. A tunnel is up when its networks are listed, or as many are up as there
 * are tunnels; down when none is; else it is not known.
 */
export const tunnelsOf = (
  remotes: readonly UciSection[],
  status: unknown,
): Information['tunnels'] => {
  const { details } = parseUntrusted(ipsecSchema, status).data ?? {};
  const tunnels = remotes.flatMap(tunnelsIn);
  const up = Number(details?.find((one) => one.up !== undefined)?.up ?? 0);
  const listed = new Set(details?.flatMap(({ connection }) => connection ?? []));
  const stateOf = (networks: string): string => {
    if (details === undefined) return 'UNKNOWN';
    if (listed.has(networks) || up >= tunnels.length) return 'ESTABLISHED';
    return up === 0 ? 'DOWN' : 'UNKNOWN';
  };
  return tunnels
    .map(({ name, networks }) => ({ name: name.slice(0, 128), state: stateOf(networks) }))
    .map(({ name, state }) => ({ name, up: state === 'ESTABLISHED', state }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
};

const connectionSchema = z.object({
  name: z.string(),
  local_subnet: z.string().default(''),
  remote_subnet: z.string().default(''),
});

const tunnelsIn = ({ name: remote, options }: UciSection) => {
  if (options['enabled'] === '0') return [];
  return [options['connections'] ?? []].flat().flatMap((text) => {
    const parsed = parseUntrusted(connectionSchema, JSON.parse(text));
    if (!parsed.success) return [];
    const { name, local_subnet, remote_subnet } = parsed.data;
    return [{ name: `${remote}-${name}`, networks: `${local_subnet} === ${remote_subnet}` }];
  });
};
