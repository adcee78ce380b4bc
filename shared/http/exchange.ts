/**
 * One HTTP exchange: with OpenWRT and OpenStack on a connection of its own, for reports on one that
 * is kept. node:http instead of undici, whose parser for HTTP/1 costs 8 MB of memory per agent
 * (measured, Node 26); the watches on the API server use undici's HTTP/2.
 */
import {
  request as requestHttp,
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { withDeadline, type Limits } from '../runtime/deadline.ts';
import { toError } from '../runtime/errors.ts';
import type { KeptConnection } from './kept-connection.ts';

/** `timeoutMs` is for the whole exchange; the signal cuts the connection. */
export type Exchange = Limits & {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  url: URL;
  headers: Readonly<Record<string, string>>;
  /** Absent: none. */
  body?: string | undefined;
  /** PEM; only with https. Absent: the roots that Node ships. */
  ca?: string | undefined;
  /** Name in the certificate, where it differs from the URL's host. */
  serverName?: string | undefined;
  /** Finds the host's addresses; not asked where the host is an address. Default: the system's. */
  lookup?: LookupFunction | undefined;
  /** Longest body of an answer; more than that is an error. */
  maxBytes: number;
  /**
   * Only for what the server may get twice: it is sent again where the server has closed the
   * connection instead of answering. Absent: a connection of its own.
   */
  kept?: KeptConnection | undefined;
};

export type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer };

/** @throws Error when there is no complete answer in time, or the signal aborts */
export const exchange = (options: Exchange): Promise<Answer> =>
  withDeadline(options, (signal) => send(options, signal));

/** A server may close a connection that it has kept at any time, also during a request. */
class ClosedMeanwhile extends Error {
  override name = 'ClosedMeanwhile';

  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

const send = async (options: Exchange, signal: AbortSignal): Promise<Answer> => {
  const { ca, kept, url } = options;
  if (kept === undefined) return sendBy(false, options, signal);
  try {
    return await sendBy(kept.agentFor({ url, ca }), options, signal);
  } catch (error) {
    kept.drop();
    if (!(error instanceof ClosedMeanwhile)) throw error;
    return sendBy(kept.agentFor({ url, ca }), options, signal);
  }
};

const sendBy = (agent: Agent | false, options: Exchange, signal: AbortSignal): Promise<Answer> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const { method, url, body, ca, lookup, serverName } = options;
    const tls = {
      ...(ca !== undefined && { ca }),
      ...(serverName !== undefined && { servername: serverName }),
    };
    const settings: RequestOptions = {
      method,
      headers: {
        ...options.headers,
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      },
      // OpenWRT's gets none: uhttpd takes 23 to 44 ms for a call on a kept connection, and 0.8 ms
      // on a new one (measured).
      agent,
      ...(lookup && { lookup }),
    };
    const request =
      url.protocol === 'https:'
        ? requestHttps(url, { ...settings, ...tls })
        : requestHttp(url, settings);
    // Given to the request, the signal would cut a kept connection also after the answer, as long
    // as the request has not told that it is sent.
    const cut = (): void => void request.destroy(toError(signal.reason));
    signal.addEventListener('abort', cut, { once: true });
    const fail = (error: Error): void => {
      signal.removeEventListener('abort', cut);
      request.destroy();
      reject(error);
    };
    request.on('error', (cause: NodeJS.ErrnoException) => {
      const isClosed = request.reusedSocket && CLOSED.has(cause.code ?? '');
      fail(isClosed ? new ClosedMeanwhile(cause) : cause);
    });
    request.on('response', (response) => {
      const { statusCode: status = 0, headers } = response;
      const answered = (bytes: Buffer): void => {
        signal.removeEventListener('abort', cut);
        resolve({ status, headers, body: bytes });
      };
      read(response, options.maxBytes).then(answered, fail);
    });
    request.end(body);
  });

const CLOSED = new Set(['ECONNRESET', 'EPIPE']);

const read = async (response: IncomingMessage, maxBytes: number): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    const bytes: Buffer = chunk;
    size += bytes.length;
    if (size > maxBytes) {
      response.destroy();
      throw new Error(`the answer is over ${maxBytes} bytes`);
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
};
