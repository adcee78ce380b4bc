/** One HTTP exchange with the API server, and what its failures mean. */
import type { Dispatcher } from 'undici';
import * as z from 'zod';
import { messageOf } from '../runtime/errors.ts';
import { withDeadline } from '../runtime/deadline.ts';
import type { KubeConfig } from './config.ts';
import { isUnauthorized, KubeError } from './errors.ts';
import { readStatus } from './status.ts';
import type { Transport } from './transport.ts';
import { jsonIn } from '../util/json.ts';

export type Exchange = {
  /** What is tried, for errors. */
  attempted: string;
  method: Dispatcher.HttpMethod;
  path: string;
  body?: unknown;
  contentType?: string;
  /** Default: JSON of the whole object. */
  accept?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Until the headers of the answer, and for `requestJson` until its end. */
  timeoutMs: number;
  /** Told how long the answer of `requestJson` is, in UTF-16 units. */
  onLength?: (length: number) => void;
  /** Bytes of the answer of `requestJson`, beyond which it is not read on. */
  maxBytes?: number | undefined;
};

/** The answer is longer than `maxBytes`. */
export class TooLongError extends Error {}

export type RequesterDeps = { config: KubeConfig; transport: Transport; userAgent: string };

/**
 * What `schema` makes of the answer.
 * @throws KubeError, TooLongError, or the reason of `signal` when that aborted
 */
export const requestJson = async <T>(
  deps: RequesterDeps,
  exchange: Exchange,
  schema: z.ZodType<T>,
): Promise<T> => {
  const whole = async (cut: AbortSignal): Promise<T> => {
    const { body } = await send(deps, exchange, cut);
    const text = await textOf(body, exchange.maxBytes);
    exchange.onLength?.(text.length);
    return parseAnswer(exchange.attempted, text, schema);
  };
  try {
    return await withDeadline(exchange, whole);
  } catch (error) {
    const isTold = error instanceof KubeError || error instanceof TooLongError;
    throw isTold ? error : failure(exchange, error);
  }
};

/** @throws TooLongError */
const textOf = async (
  body: Dispatcher.ResponseData['body'],
  maxBytes: number | undefined,
): Promise<string> => {
  if (maxBytes === undefined) return body.text();
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw new TooLongError(`longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};

/**
 * Resolves with the headers; the body then flows without a limit in time.
 * @throws as `requestJson`, also while it flows
 */
export const requestStream = async (
  deps: RequesterDeps,
  exchange: Exchange & { signal: AbortSignal },
): Promise<AsyncIterable<Uint8Array>> => {
  const opening = new AbortController();
  const timer = setTimeout(
    () => opening.abort(new DOMException('', 'TimeoutError')),
    exchange.timeoutMs,
  );
  const abort = (): void => opening.abort(exchange.signal.reason);
  exchange.signal.throwIfAborted();
  exchange.signal.addEventListener('abort', abort, { once: true });
  const done = (): void => exchange.signal.removeEventListener('abort', abort);
  try {
    const { body } = await send(deps, exchange, opening.signal);
    return chunks(body, exchange, done);
  } catch (error) {
    done();
    throw error;
  } finally {
    clearTimeout(timer);
  }
};

async function* chunks(
  body: AsyncIterable<Uint8Array>,
  exchange: Exchange,
  done: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw failure(exchange, error);
  } finally {
    done();
  }
}

const send = async (
  deps: RequesterDeps,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> => {
  try {
    return await sendOnce(deps, exchange, signal);
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    // The token may have been rotated since we read it.
    deps.config.expire();
    return sendOnce(deps, exchange, signal);
  }
};

const sendOnce = async (
  { config, transport, userAgent }: RequesterDeps,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> => {
  const { attempted, method, path, body, contentType = 'application/json' } = exchange;
  const { accept = 'application/json' } = exchange;
  let response: Dispatcher.ResponseData;
  let text: string;
  try {
    response = await transport.request({
      method,
      path: transport.basePath + path,
      headers: {
        ...(await config.headers()),
        accept,
        'user-agent': userAgent,
        ...(body !== undefined && { 'content-type': contentType }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
      // The signal bounds the whole; undici's own limits would only cut quiet watches.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    if (response.statusCode < 300) return response;
    text = await response.body.text();
  } catch (error) {
    throw failure(exchange, error);
  }
  throw refusal(attempted, response, text);
};

/** The caller's own abort comes back as it is; all else is a KubeError without a status. */
const failure = (exchange: Exchange, error: unknown): unknown => {
  if (exchange.signal?.aborted) return exchange.signal.reason;
  const timedOut = error instanceof Error && error.name === 'TimeoutError';
  const message = timedOut ? `no answer within ${exchange.timeoutMs} ms` : messageOf(error);
  return new KubeError(exchange.attempted, message, {
    status: 0,
    reason: timedOut ? 'Timeout' : 'Unreachable',
    cause: error,
  });
};

const refusal = (
  attempted: string,
  { statusCode, headers }: Dispatcher.ResponseData,
  text: string,
): KubeError => {
  const status = readStatus(jsonIn(text));
  const after = Number(headers['retry-after'] ?? status.details?.retryAfterSeconds);
  return new KubeError(
    attempted,
    status.message ?? `HTTP ${statusCode} ${text.slice(0, 200)}`.trim(),
    {
      status: statusCode,
      reason: status.reason ?? 'Unknown',
      retryAfterMs: Number.isFinite(after) ? after * 1_000 : undefined,
    },
  );
};

/**
 * JSON text, read by `schema`.
 * @throws KubeError `Malformed`, which says what was found where, never the value
 */
export const parseAnswer = <T>(attempted: string, text: string, schema: z.ZodType<T>): T => {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    const details = { status: 0, reason: 'Malformed', cause };
    throw new KubeError(attempted, `unexpected answer: ${whatIsWrong(cause)}`, details);
  }
};

const whatIsWrong = (cause: unknown): string => {
  if (!(cause instanceof z.ZodError)) return 'not JSON';
  const [issue] = cause.issues;
  return `${issue?.path.join('.')}: ${issue?.message}`;
};
