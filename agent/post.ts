/**
 * One POST on a connection of its own, for OpenWRT and for reports. node:http instead of undici, whose parser for HTTP/1
 * costs 8 MB of memory per agent (measured, Node 26); the watches on the API server use undici's HTTP/2.
 */
import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';

export type Post = {
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** PEM; only with https. Absent: the roots that Node ships. */
  ca?: string | undefined;
  /** Name in the certificate, where it differs from the URL's host. */
  serverName?: string | undefined;
  /** Of the answer; more than that is an error. */
  maxBytes: number;
  /** Cuts the connection. */
  signal: AbortSignal;
};

export type PostAnswer = { status: number; body: Buffer };

/** @throws Error when there is no complete answer, or the signal aborts */
export const post = (options: Post): Promise<PostAnswer> =>
  new Promise((resolve, reject) => {
    const { url, body, ca, serverName, signal } = options;
    const tls = {
      ...(ca !== undefined && { ca }),
      ...(serverName !== undefined && { servername: serverName }),
    };
    const settings: RequestOptions = {
      method: 'POST',
      headers: { ...options.headers, 'content-length': Buffer.byteLength(body) },
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
      read(response, options.maxBytes).then(
        (bytes) => resolve({ status: response.statusCode ?? 0, body: bytes }),
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
