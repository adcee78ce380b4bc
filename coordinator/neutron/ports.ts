/**
 * Ports that are made and removed, and the networks that they are in: each function is one call. A
 * call that got no answer may have been done, or be at work still: look by MAC, which no two ports
 * of a network have, before it is made again.
 */
import * as z from 'zod';
import { read, type Calls } from './calls.ts';

const networkSchema = z.object({
  id: z.string(),
  project_id: z.string(),
  mtu: z.int().optional(),
  port_security_enabled: z.boolean().default(true),
});
export type NeutronNetwork = z.infer<typeof networkSchema>;

const subnetSchema = z.object({
  id: z.string(),
  cidr: z.string(),
  ip_version: z.union([z.literal(4), z.literal(6)]),
  gateway_ip: z.string().nullish(),
  allocation_pools: z.array(z.object({ start: z.string(), end: z.string() })).default([]),
  /** Where it is not stateful, addresses follow from MACs. */
  ipv6_address_mode: z.string().nullish(),
});
export type NeutronSubnet = z.infer<typeof subnetSchema>;

const portSchema = z.object({
  id: z.string(),
  name: z.string(),
  mac_address: z.string(),
  status: z.string(),
  fixed_ips: z.array(z.object({ subnet_id: z.string(), ip_address: z.string() })).default([]),
});
/** As it is made and found again; what security groups need of one is another. */
export type MadePort = z.infer<typeof portSchema>;

export type NewPort = {
  network_id: string;
  name: string;
  mac_address: string;
  fixed_ips: readonly { subnet_id: string; ip_address?: string }[];
};

export type NeutronPorts = {
  project: () => Promise<string>;
  /** @throws NeutronError; 404: there is none, or it is not for us */
  network: (id: string, signal?: AbortSignal) => Promise<NeutronNetwork>;
  /** Those of the network that are the project's own. */
  subnets: (network: string, signal?: AbortSignal) => Promise<NeutronSubnet[]>;
  /**
   * The project's ports, of all networks where none is named. One that is made or removed meanwhile
   * may be missing, so that one is absent is known by its MAC alone.
   */
  portsWhere: (of: { network?: string; mac?: string }, signal?: AbortSignal) => Promise<MadePort[]>;
  /** Without security groups, so that nothing passes. @throws NeutronError */
  createPort: (port: NewPort, signal?: AbortSignal) => Promise<MadePort>;
  /** All or none. Never to be repeated: two with one MAC in common block each other for minutes. */
  createPorts: (ports: readonly NewPort[], signal?: AbortSignal) => Promise<MadePort[]>;
  renamePort: (id: string, name: string, signal?: AbortSignal) => Promise<void>;
  /** One that is gone already is gone. */
  deletePort: (id: string, signal?: AbortSignal) => Promise<void>;
};

/** Neutron has answered a bulk after 206 s (measured). */
export const BULK_MS = 240_000;

const PORTS = { path: 'ports', name: 'ports', item: portSchema };
const SUBNETS = { path: 'subnets', name: 'subnets', item: subnetSchema };

export const portCalls = ({ ask, list, make, project, remove }: Calls): NeutronPorts => ({
  project,
  network: async (id, signal) => {
    const sent = await ask({ method: 'GET', path: `networks/${id}`, signal });
    return read(z.object({ network: networkSchema }), sent, 'GET network').network;
  },
  subnets: (network, signal) => list(SUBNETS, [['network_id', network]], signal),
  portsWhere: ({ network, mac }, signal) =>
    list(
      PORTS,
      [
        ...(network === undefined ? [] : [['network_id', network] as const]),
        ...(mac === undefined ? [] : [['mac_address', mac] as const]),
      ],
      signal,
    ),
  createPort: async (port, signal) => {
    const schema = z.object({ port: portSchema });
    // One that names no groups gets the project's own, which lets more pass than policies do.
    return (await make('ports', { port: { ...port, security_groups: [] } }, schema, signal)).port;
  },
  createPorts: async (ports, signal) => {
    const body = { ports: ports.map((port) => ({ ...port, security_groups: [] })) };
    const sent = await ask({ method: 'POST', path: 'ports', body, timeoutMs: BULK_MS, signal });
    return read(z.object({ ports: z.array(portSchema) }), sent, 'POST ports').ports;
  },
  renamePort: async (id, name, signal) => {
    await ask({ method: 'PUT', path: `ports/${id}`, body: { port: { name } }, signal });
  },
  deletePort: (id, signal) => remove(`ports/${id}`, signal),
});
