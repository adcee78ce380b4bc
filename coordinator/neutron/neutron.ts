/**
 * The network API of an OpenStack, as much of it as is used: each function is one call, and knows
 * nothing of policies. Everything is within the project of the credentials. A call that got no
 * answer may have been done: look before it is made again.
 */
import * as z from 'zod';
import { createCalls, read, type NeutronOptions } from './calls.ts';
import { portCalls, type NeutronPorts } from './ports.ts';

const portSchema = z.object({
  id: z.string(),
  name: z.string(),
  revision_number: z.int(),
  security_groups: z.array(z.string()),
  port_security_enabled: z.boolean().default(true),
  'binding:vnic_type': z.string().default('normal'),
  fixed_ips: z.array(z.object({ ip_address: z.string() })).default([]),
});
export type NeutronPort = z.infer<typeof portSchema>;

const ruleSchema = z.object({
  id: z.string(),
  direction: z.enum(['ingress', 'egress']),
  ethertype: z.string(),
  protocol: z.string().nullable(),
  port_range_min: z.int().nullable(),
  port_range_max: z.int().nullable(),
  remote_ip_prefix: z.string().nullable(),
  remote_group_id: z.string().nullable(),
  remote_address_group_id: z.string().nullish(),
});
export type NeutronRule = z.infer<typeof ruleSchema>;

const groupSchema = z.object({
  id: z.string(),
  name: z.string(),
  tags: z.array(z.string()).default([]),
  security_group_rules: z.array(ruleSchema).default([]),
});
export type NeutronGroup = z.infer<typeof groupSchema>;

const addressGroupSchema = z.object({
  id: z.string(),
  name: z.string(),
  addresses: z.array(z.string()),
});
export type NeutronAddressGroup = z.infer<typeof addressGroupSchema>;

/** `limit` -1: there is none. */
const quotaSchema = z.object({ limit: z.int(), used: z.int(), reserved: z.int() });
export type NeutronQuota = z.infer<typeof quotaSchema>;

/** A rule to be made. */
export type NewRule = {
  security_group_id: string;
  direction: 'ingress' | 'egress';
  ethertype: 'IPv4' | 'IPv6';
  protocol?: string;
  port_range_min?: number;
  port_range_max?: number;
  remote_ip_prefix?: string;
  remote_group_id?: string;
  remote_address_group_id?: string;
};

export type Neutron = {
  /** Ports of the project; `ids`: only those of these that exist. */
  ports: (options?: { ids?: readonly string[] }, signal?: AbortSignal) => Promise<NeutronPort[]>;
  /** Its groups as a whole. @throws NeutronError; 412: it is another than was looked at */
  setPortGroups: (
    port: Pick<NeutronPort, 'id' | 'revision_number'>,
    groups: readonly string[],
    signal?: AbortSignal,
  ) => Promise<NeutronPort>;
  /** Groups of the project, with their rules. */
  groups: (signal?: AbortSignal) => Promise<NeutronGroup[]>;
  /** With the rules that Neutron gives to each new one. */
  createGroup: (
    group: { name: string; description: string },
    signal?: AbortSignal,
  ) => Promise<NeutronGroup>;
  setGroupTags: (id: string, tags: readonly string[], signal?: AbortSignal) => Promise<void>;
  deleteGroup: (id: string, signal?: AbortSignal) => Promise<void>;
  /** All of them, or none. */
  createRules: (rules: readonly NewRule[], signal?: AbortSignal) => Promise<NeutronRule[]>;
  deleteRule: (id: string, signal?: AbortSignal) => Promise<void>;
  addressGroups: (signal?: AbortSignal) => Promise<NeutronAddressGroup[]>;
  createAddressGroup: (name: string, signal?: AbortSignal) => Promise<NeutronAddressGroup>;
  /** Blocks such as `10.0.0.1/32`. */
  changeAddresses: (
    id: string,
    change: 'add' | 'remove',
    addresses: readonly string[],
    signal?: AbortSignal,
  ) => Promise<void>;
  deleteAddressGroup: (id: string, signal?: AbortSignal) => Promise<void>;
  /** Limit and use of the project, of what is asked for. */
  quotas: (
    signal?: AbortSignal,
  ) => Promise<{ security_group: NeutronQuota; security_group_rule: NeutronQuota }>;
};
/** Ids in the URL of one call: under the 8 KiB that servers take. */
const IDS = 100;
const PORTS = { path: 'ports', name: 'ports', item: portSchema };
const GROUPS = { path: 'security-groups', name: 'security_groups', item: groupSchema };
const ADDRESS_GROUPS = { path: 'address-groups', name: 'address_groups', item: addressGroupSchema };
export const createNeutron = (options: NeutronOptions): Neutron & NeutronPorts => {
  const calls = createCalls(options);
  const { ask, list, make, project, remove } = calls;
  return {
    ...portCalls(calls),
    ports: async ({ ids } = {}, signal) => {
      if (ids === undefined) return list(PORTS, [], signal);
      const found: NeutronPort[] = [];
      for (let from = 0; from < ids.length; from += IDS) {
        const query = ids.slice(from, from + IDS).map((id) => ['id', id] as const);
        found.push(...(await list(PORTS, query, signal)));
      }
      return found;
    },
    setPortGroups: async ({ id, revision_number: revision }, groups, signal) => {
      const sent = await ask({
        method: 'PUT',
        path: `ports/${id}`,
        headers: { 'if-match': `revision_number=${revision}` },
        body: { port: { security_groups: groups } },
        signal,
      });
      return read(z.object({ port: portSchema }), sent, 'PUT port').port;
    },
    groups: (signal) => list(GROUPS, [], signal),
    createGroup: async (group, signal) => {
      const schema = z.object({ security_group: groupSchema });
      return (await make('security-groups', { security_group: group }, schema, signal))
        .security_group;
    },
    setGroupTags: async (id, tags, signal) => {
      await ask({ method: 'PUT', path: `security-groups/${id}/tags`, body: { tags }, signal });
    },
    deleteGroup: (id, signal) => remove(`security-groups/${id}`, signal),
    createRules: async (rules, signal) => {
      const schema = z.object({ security_group_rules: z.array(ruleSchema) });
      const body = { security_group_rules: rules };
      return (await make('security-group-rules', body, schema, signal)).security_group_rules;
    },
    deleteRule: (id, signal) => remove(`security-group-rules/${id}`, signal),
    addressGroups: (signal) => list(ADDRESS_GROUPS, [], signal),
    createAddressGroup: async (name, signal) => {
      const schema = z.object({ address_group: addressGroupSchema });
      return (await make('address-groups', { address_group: { name } }, schema, signal))
        .address_group;
    },
    changeAddresses: async (id, change, addresses, signal) => {
      await ask({
        method: 'PUT',
        path: `address-groups/${id}/${change}_addresses`,
        body: { addresses },
        signal,
      });
    },
    deleteAddressGroup: (id, signal) => remove(`address-groups/${id}`, signal),
    quotas: async (signal) => {
      const projectId = await project();
      const schema = z.object({
        quota: z.object({ security_group: quotaSchema, security_group_rule: quotaSchema }),
      });
      const sent = await ask({ method: 'GET', path: `quotas/${projectId}/details`, signal });
      return read(schema, sent, 'GET quotas').quota;
    },
  };
};
