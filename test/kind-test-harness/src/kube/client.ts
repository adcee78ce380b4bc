/**
 * A small client of the Kubernetes API: plain paths and JSON, a timeout on every call, typed
 * errors.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';

import type { Connection } from './kubeconfig.ts';

const REQUEST_TIMEOUT_MS = 15_000;
/**
 * How long a read is repeated while the API server answers 429, as while the storage of a new kind
 * is being initialized.
 */
const PATIENCE_MS = 10_000;
const REPEAT_AFTER_MS = 200;

/** The API server's answer was not a success. */
export class KubeError extends Error {
  override name = 'KubeError';
  readonly status: number;
  /** The machine-readable reason of the Status object, as `NotFound`; empty where there is none. */
  readonly reason: string;

  constructor(message: string, status: number, reason: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

export type PatchKind = 'merge' | 'strategic-merge' | 'json';

export type KubeClient = {
  get: <T>(path: string) => Promise<T>;
  /** `undefined` when there is no such object. */
  find: <T>(path: string) => Promise<T | undefined>;
  create: <T>(path: string, body: unknown) => Promise<T>;
  replace: <T>(path: string, body: unknown) => Promise<T>;
  patch: <T>(path: string, body: unknown, kind?: PatchKind) => Promise<T>;
  delete: (path: string, body?: unknown) => Promise<void>;
  /** True when `/readyz` says ok; false when it doesn't or there is no answer. */
  isReady: () => Promise<boolean>;
  /**
   * Opens a watch; the lines are JSON events. No timeout of its own: it ends by `signal` or by the
   * server.
   */
  stream: (path: string, signal: AbortSignal) => Promise<AsyncIterable<string>>;
  close: () => Promise<void>;
};

export const createKubeClient = (connection: Connection): KubeClient => {
  const dispatcher = new Agent({
    connect: {
      ca: connection.ca,
      cert: connection.cert,
      key: connection.key,
      rejectUnauthorized: connection.insecure !== true,
    },
  });
  const headers = connection.token ? { authorization: `Bearer ${connection.token}` } : {};

  const call = async <T>(
    method: string,
    path: string,
    body?: unknown,
    type = 'application/json',
  ) => {
    const response = await request(connection.server + path, {
      dispatcher,
      method,
      headers: { ...headers, 'content-type': type },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.body.text();
    if (response.statusCode >= 400) throw toError(`${method} ${path}`, response.statusCode, text);
    const answer: T = JSON.parse(text);
    return answer;
  };

  const read = async <T>(path: string): Promise<T> => {
    const end = Date.now() + PATIENCE_MS;
    for (;;)
      try {
        return await call<T>('GET', path);
      } catch (error) {
        const asksForPatience = error instanceof KubeError && error.status === 429;
        if (!asksForPatience || Date.now() > end) throw error;
        await delay(REPEAT_AFTER_MS);
      }
  };

  return {
    get: read,
    find: async <T>(path: string) => {
      try {
        return await read<T>(path);
      } catch (error) {
        if (error instanceof KubeError && error.status === 404) return undefined;
        throw error;
      }
    },
    create: async (path, body) => await call('POST', path, body),
    replace: async (path, body) => await call('PUT', path, body),
    patch: async (path, body, kind = 'merge') =>
      await call('PATCH', path, body, `application/${kind}-patch+json`),
    delete: async (path, body) => {
      await call('DELETE', path, body);
    },
    isReady: async () => {
      try {
        const response = await request(`${connection.server}/readyz`, {
          dispatcher,
          headers,
          signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
        });
        return (await response.body.text()) === 'ok';
      } catch {
        return false;
      }
    },
    stream: async (path, signal) => {
      const response = await request(connection.server + path, {
        dispatcher,
        headers,
        signal,
        bodyTimeout: 0,
      });
      if (response.statusCode >= 400) {
        throw toError(`watch ${path}`, response.statusCode, await response.body.text());
      }
      return lines(response.body);
    },
    close: async () => {
      await dispatcher.destroy();
    },
  };
};

const toError = (what: string, status: number, text: string): KubeError => {
  let answer: { message?: string; reason?: string } = {};
  try {
    answer = JSON.parse(text);
  } catch {
    answer = { message: text.slice(0, 500) };
  }
  return new KubeError(`${what}: ${status} ${answer.message ?? ''}`, status, answer.reason ?? '');
};

async function* lines(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    yield* parts.filter(Boolean);
  }
}
