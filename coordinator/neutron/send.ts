/**
 * One call of an OpenStack API: JSON there and back, with a time limit and a largest answer. What
 * is no success is a NeutronError.
 */
import type { IncomingHttpHeaders } from 'node:http';
import * as z from 'zod';
import { exchange } from '#shared/http/exchange.ts';
import { jsonIn } from '#shared/util/json.ts';
import { NeutronError } from './errors.ts';

export type Call = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  url: URL;
  headers?: Readonly<Record<string, string>>;
  body?: object;
  ca: string | undefined;
  /** Default: a minute. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
};

/** `body` undefined: there was none. */
export type Sent = { status: number; headers: IncomingHttpHeaders; body: unknown };

export type Send = (call: Call) => Promise<Sent>;

/** Neutron takes 35 ms of CPU for each rule of a bulk, 10 ms for an address (measured). */
const TIMEOUT_MS = 60_000;
/** A list of all groups of a project with their rules. */
const MAX_BYTES = 64 * 2 ** 20;
/** Length of Neutron's words in an error. */
const MAX_TEXT = 500;

/** @throws NeutronError */
export const send: Send = async (call) => {
  const { method, url, headers, body, ca, timeoutMs = TIMEOUT_MS, signal } = call;
  const attempted = `${method} ${url.pathname}`;
  try {
    const answer = await exchange({
      method,
      url,
      headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      body: body && JSON.stringify(body),
      ca,
      maxBytes: MAX_BYTES,
      timeoutMs,
      signal,
    });
    const text = answer.body.toString('utf8');
    if (answer.status >= 300) throw refusalOf(attempted, answer.status, text);
    return {
      status: answer.status,
      headers: answer.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  } catch (error) {
    if (error instanceof NeutronError || signal?.aborted) throw error;
    const type = typeOf(error);
    throw new NeutronError(attempted, String(error), { status: 0, type, cause: error });
  }
};

const typeOf = (error: unknown): 'Timeout' | 'Malformed' | 'Unreachable' => {
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'Timeout';
  return error instanceof SyntaxError ? 'Malformed' : 'Unreachable';
};

const refusalSchema = z.object({
  NeutronError: z.object({ type: z.string(), message: z.string() }),
});

const refusalOf = (attempted: string, status: number, text: string): NeutronError => {
  const { data } = refusalSchema.safeParse(jsonIn(text));
  const type = data?.NeutronError.type ?? `HTTP ${status}`;
  const message = (data?.NeutronError.message ?? text).slice(0, MAX_TEXT);
  return new NeutronError(attempted, `${status} ${type}: ${message}`, { status, type });
};
