/**
 * The network API of an OpenStack, as much of it as is used: each function is one call, and knows nothing of policies. Everything is within
 * the project of the credentials. A call that got no answer may have been done: look before it is made again.
 */
import * as z from 'zod';
import { readFile } from 'node:fs/promises';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { readCloud, type Cloud, type CloudFile } from './cloud.ts';
import { isUnauthenticated, NeutronError } from './errors.ts';
import { createTokens } from './keystone.ts';
import { send as sendCall, type Call, type Send, type Sent } from './send.ts';

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
  /** Of the project; `ids`: only those that there are of these. */
  ports: (options?: { ids?: readonly string[] }, signal?: AbortSignal) => Promise<NeutronPort[]>;
  /** Its groups as a whole. @throws NeutronError; 412: it is another than was looked at */
  setPortGroups: (
    port: Pick<NeutronPort, 'id' | 'revision_number'>,
    groups: readonly string[],
    signal?: AbortSignal,
  ) => Promise<NeutronPort>;
  /** Of the project, with their rules. */
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

export type NeutronOptions = {
  cloud: CloudFile;
  clock: Clock;
  /** Of each call that was answered, or failed: its method and its outcome, an HTTP status or a type of ours. */
  count: (method: string, result: string) => void;
  send?: Send;
};

/** Neutron's own limit is often 1,000 or none. */
const PAGE = 500;
/** Ids in the URL of one call: under the 8 KiB that servers take. */
const IDS = 100;
type Listed<T> = z.ZodType<T> & { shape: object };
const PORTS = { path: 'ports', name: 'ports', item: portSchema };
const GROUPS = { path: 'security-groups', name: 'security_groups', item: groupSchema };
const ADDRESS_GROUPS = { path: 'address-groups', name: 'address_groups', item: addressGroupSchema };

/** @throws NeutronError of type `InvalidCloud`, that repeats no value of the file */
const cloudOf = async (file: CloudFile): Promise<{ cloud: Cloud; ca: string | undefined }> => {
  try {
    const cloud = await readCloud(file);
    const ca = cloud.cacert === undefined ? undefined : await readFile(cloud.cacert, 'utf8');
    return { cloud, ca };
  } catch (error) {
    const of = { status: 0, type: 'InvalidCloud', cause: error };
    throw new NeutronError('reading clouds.yaml', messageOf(error), of);
  }
};

type Query = readonly (readonly [string, string])[];
type Request = {
  method: Call['method'];
  path: string;
  query?: Query;
  body?: object;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
};

export const createNeutron = (options: NeutronOptions): Neutron => {
  const { clock, count, send = sendCall } = options;
  const counted: Send = async (call) => {
    try {
      const sent = await send(call);
      count(call.method, String(sent.status));
      return sent;
    } catch (error) {
      if (error instanceof NeutronError)
        count(call.method, error.status === 0 ? error.type : String(error.status));
      throw error;
    }
  };
  const tokens = createTokens({
    cloud: () => cloudOf(options.cloud),
    send: counted,
    clock,
  });

  /** A token that has just ended, or was taken back, is replaced once. */
  const ask = async (request: Request): Promise<Sent> => {
    const token = await tokens.current();
    try {
      return await askWith(token, request);
    } catch (error) {
      if (!isUnauthenticated(error)) throw error;
      tokens.refused(token);
      return await askWith(await tokens.current(), request);
    }
  };

  const askWith = (
    { token, networkUrl, ca }: Awaited<ReturnType<typeof tokens.current>>,
    { method, path, query = [], headers, body, signal }: Request,
  ): Promise<Sent> => {
    const url = new URL(`${networkUrl}/v2.0/${path}`);
    for (const [name, value] of query) url.searchParams.append(name, value);
    return counted({
      method,
      url,
      headers: { ...headers, 'x-auth-token': token },
      ...(body && { body }),
      ca,
      signal,
    });
  };

  const read = <T>(schema: z.ZodType<T>, { body }: Sent, what: string): T => {
    const parsed = schema.safeParse(body);
    if (parsed.success) return parsed.data;
    throw new NeutronError(what, `the answer is not as expected: ${parsed.error.message}`, {
      status: 0,
      type: 'Malformed',
    });
  };

  /** All pages, those of this project alone: an administrator sees all. */
  const list = async <T extends { id: string }>(
    { path, name, item }: { path: string; name: string; item: Listed<T> },
    query: Query,
    signal: AbortSignal | undefined,
  ): Promise<T[]> => {
    const { projectId } = await tokens.current();
    const fields = Object.keys(item.shape);
    const schema = z.object({ [name]: z.array(item) });
    const all: T[] = [];
    for (let marker: string | undefined; ;) {
      const page = read(
        schema,
        await ask({
          method: 'GET',
          path,
          query: [
            ...query,
            ['project_id', projectId],
            ['limit', String(PAGE)],
            ['sort_key', 'id'],
            ['sort_dir', 'asc'],
            ...(marker === undefined ? [] : [['marker', marker] as const]),
            ...fields.map((field) => ['fields', field] as const),
          ],
          signal,
        }),
        `GET ${path}`,
      );
      const items = page[name] ?? [];
      all.push(...items);
      if (items.length < PAGE) return all;
      marker = items.at(-1)?.id;
    }
  };

  const make = async <T>(
    path: string,
    body: object,
    schema: z.ZodType<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> => read(schema, await ask({ method: 'POST', path, body, signal }), `POST ${path}`);

  /** One that is gone already is gone. */
  const remove = async (path: string, signal: AbortSignal | undefined): Promise<void> => {
    try {
      await ask({ method: 'DELETE', path, signal });
    } catch (error) {
      if (!(error instanceof NeutronError && error.status === 404)) throw error;
    }
  };

  return {
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
      const { projectId } = await tokens.current();
      const schema = z.object({
        quota: z.object({ security_group: quotaSchema, security_group_rule: quotaSchema }),
      });
      const sent = await ask({ method: 'GET', path: `quotas/${projectId}/details`, signal });
      return read(schema, sent, 'GET quotas').quota;
    },
  };
};
