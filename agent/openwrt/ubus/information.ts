/**
 * Asks rpcd how interfaces, mwan3 and IPsec are. What a login may not ask, or an image does not
 * have, is reported as empty.
 */
import * as z from 'zod';
import type { Capabilities } from '#shared/resources/capabilities.ts';
import { bounded, type Information } from '#shared/protocol/information.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { parseUntrusted, recordOf } from '#shared/util/untrusted.ts';
import { MAIN_TABLE } from '../kernel/loaded-routes.ts';
import type { UbusAnswer, UbusCall } from './client/rpc.ts';
import type { UbusSession } from './login/session.ts';
import { TUNNEL_STATUS, tunnelsOf } from './tunnels.ts';

/** Programs run for it, and it may come in the middle of a reload. */
const TIMEOUT_MS = 5_000;

const callsFor = ({ ipsec, mwan3 }: Capabilities): UbusCall[] => [
  { object: 'network.interface', method: 'dump' },
  { object: 'file', method: 'exec', args: TUNNEL_STATUS[ipsec.dialect] },
  ...(mwan3 ? [{ object: 'mwan3', method: 'status' }] : []),
];

/**
 * `sections`: what package ipsec holds, so that tunnels which are down are reported, too. @throws
 * OpenwrtError when rpcd is not reached
 */
export const readInformation = async (
  session: UbusSession,
  { capabilities, sections }: { capabilities: Capabilities; sections: readonly UciSection[] },
  signal: AbortSignal,
): Promise<Information> => {
  const [interfaces, status, mwan3] = await session.attempt(callsFor(capabilities), {
    signal,
    timeoutMs: TIMEOUT_MS,
  });
  return bounded({
    firewall: capabilities.firewall,
    ...interfacesOf(interfaces),
    wans: wansOf(mwan3?.data),
    tunnels: tunnelsOf(capabilities.ipsec.dialect, sections, status),
  });
};

const addressSchema = z.object({ address: z.string().max(45, { abort: true }), mask: z.int() });
const dumpSchema = z.object({
  interface: z.array(
    z.object({
      interface: z.string(),
      up: z.boolean().default(false),
      l3_device: z.string().optional(),
      device: z.string().optional(),
      'ipv4-address': z.array(addressSchema).default([]),
      'ipv6-address': z.array(addressSchema).default([]),
      route: z
        .array(
          z.object({
            target: z.string(),
            mask: z.int(),
            nexthop: z.string().optional(),
            metric: z.int().optional(),
            table: z.int().default(MAIN_TABLE),
          }),
        )
        .default([]),
    }),
  ),
});

const MAX_ADDRESSES = 16;
/** netifd's next hop of a route on the link itself. */
const NO_GATEWAY = new Set(['', '0.0.0.0', '::']);

export const interfacesOf = (
  answer: UbusAnswer | undefined,
): Pick<Information, 'interfaces' | 'routes'> => {
  const dump = parseUntrusted(dumpSchema, answer?.data);
  const all = dump.data?.interface ?? [];
  return {
    interfaces: all.map(({ interface: name, up, l3_device, device = l3_device, ...rest }) => ({
      name: name.slice(0, 64),
      ...(device === undefined ? {} : { device: device.slice(0, 64) }),
      up,
      addresses: [...rest['ipv4-address'], ...rest['ipv6-address']]
        .slice(0, MAX_ADDRESSES)
        .map(({ address, mask }) => `${address}/${mask}`),
    })),
    routes: all.flatMap(({ interface: name, route }) =>
      route
        .filter(({ table }) => table === MAIN_TABLE)
        .map(({ target, mask, nexthop = '', metric }) => ({
          target: `${target.slice(0, 45)}/${mask}`,
          ...(NO_GATEWAY.has(nexthop) ? {} : { gateway: nexthop.slice(0, 64) }),
          interface: name.slice(0, 64),
          ...(metric === undefined ? {} : { metric }),
        })),
    ),
  };
};

const mwan3Schema = z.object({
  interfaces: recordOf(
    z.object({ status: z.string().default('unknown'), up: z.boolean().optional() }),
  ),
});

/** `status`: what `ubus call mwan3 status` answers. */
export const wansOf = (status: unknown): Information['wans'] =>
  Object.entries(parseUntrusted(mwan3Schema, status).data?.interfaces ?? {})
    .map(([name, { status, up }]) => ({
      interface: name.slice(0, 64),
      up: up ?? status === 'online',
      status: status.slice(0, 32),
    }))
    .sort((a, b) => (a.interface < b.interface ? -1 : 1));
