/**
 * Calls of the network API, each with a token: a list with all its pages, one object made, one
 * removed. Knows no object of it.
 */
import * as z from 'zod';
import { readFile } from 'node:fs/promises';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';
import { readCloud, type Cloud, type CloudFile } from './cloud.ts';
import { isUnauthenticated, NeutronError } from './errors.ts';
import { createTokens } from './keystone.ts';
import { send as sendCall, type Call, type Send, type Sent } from './send.ts';

export type NeutronOptions = {
  cloud: CloudFile;
  clock: Clock;
  /** Counts each call that was answered, or failed: its method, and a status or a type of ours. */
  count: (method: string, result: string) => void;
  send?: Send;
};

/** Neutron's own limit is often 1,000 or none. */
const PAGE = 500;
type Listed<T> = z.ZodType<T> & { shape: object };

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
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
};

export const createCalls = (options: NeutronOptions) => {
  const { clock, count, send = sendCall } = options;
  const counted = counting(send, count);
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
    { method, path, query = [], headers, body, timeoutMs, signal }: Request,
  ): Promise<Sent> => {
    const url = new URL(`${networkUrl}/v2.0/${path}`);
    for (const [name, value] of query) url.searchParams.append(name, value);
    return counted({
      method,
      url,
      headers: { ...headers, 'x-auth-token': token },
      ...(body && { body }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ca,
      signal,
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
    ask,
    list,
    make,
    remove,
    project: async () => (await tokens.current()).projectId,
  };
};

export type Calls = ReturnType<typeof createCalls>;

export const read = <T>(schema: z.ZodType<T>, { body }: Sent, what: string): T => {
  const parsed = parseUntrusted(schema, body);
  if (parsed.success) return parsed.data;
  throw new NeutronError(what, `the answer is not as expected: ${parsed.error.message}`, {
    status: 0,
    type: 'Malformed',
  });
};

const counting =
  (send: Send, count: NeutronOptions['count']): Send =>
  async (call) => {
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
