/**
 * One HTTP exchange on a connection of its own: with OpenWRT, for reports, with OpenStack. node:http instead of undici, whose parser for HTTP/1
 * costs 8 MB of memory per agent (measured, Node 26); the watches on the API server use undici's HTTP/2.
 */
import {
  request as requestHttp,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import { withDeadline, type Limits } from './deadline.ts';

/** `timeoutMs` is for the whole exchange; the signal cuts the connection. */
export type Exchange = Limits & {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  url: URL;
  headers: Readonly<Record<string, string>>;
  /** Absent: none. */
  body?: string | undefined;
  /** PEM; only with https. Absent: the roots that Node ships. */
  ca?: string | undefined;
  /** Name in the certificate, where it differs from the URL's host. */
  serverName?: string | undefined;
  /** Of the answer; more than that is an error. */
  maxBytes: number;
};

export type Answer = { status: number; headers: IncomingHttpHeaders; body: Buffer };

/** @throws Error when there is no complete answer in time, or the signal aborts */
export const exchange = (options: Exchange): Promise<Answer> =>
  withDeadline(options, (signal) => send(options, signal));

const send = (options: Exchange, signal: AbortSignal): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { method, url, body, ca, serverName } = options;
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
      // No pool: uhttpd takes 23 to 44 ms for a call on a kept connection, and 0.8 ms on a new one (measured).
      agent: false,
      signal,
    };
    const request =
      url.protocol === 'https:'
        ? requestHttps(url, { ...settings, ...tls })
        : requestHttp(url, settings);
    request.on('error', reject);
    request.on('response', (response) => {
      const { statusCode: status = 0, headers } = response;
      read(response, options.maxBytes).then(
        (bytes) => resolve({ status, headers, body: bytes }),
        reject,
      );
    });
    request.end(body);
  });

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
