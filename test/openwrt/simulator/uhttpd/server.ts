/** uhttpd: HTTP and HTTPS in front of everything, with its limits. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';

/**
 * A POST body at /ubus of more bytes is answered by a parse error, and the connection is closed.
 */
export const MAX_UBUS_BODY_BYTES = 65_536;

/** `body` is a byte string; `reason` stands in place of the usual phrase. */
export type Answer =
  | {
      status: number;
      body: string;
      contentType?: string;
      reason?: string;
      headers?: Readonly<Record<string, string>>;
    }
  | 'reset'
  | 'hang';
export type Request = {
  method: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  /** Byte string; undefined when it was longer than the route takes. */
  body: string | undefined;
  /** Stands for the connection that it came on. */
  connection: object;
};
export type Route = {
  matches: (path: string) => boolean;
  maxBodyBytes: number;
  answer: (request: Request) => Answer | Promise<Answer>;
};

export type ListenOptions = {
  host: string;
  port: number;
  tls?: { certificate: string; key: string };
  routes: readonly Route[];
};

export type Listener = {
  url: string;
  /** All but one. */
  resetConnections: (except?: object) => void;
  close: () => Promise<void>;
};

export const listen = async (options: ListenOptions): Promise<Listener> => {
  const sockets = new Set<Socket>();
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    void respond({ request, response, options }).catch(() => request.socket.destroy());
  };
  const server: Server = options.tls
    ? createTlsServer({ cert: options.tls.certificate, key: options.tls.key }, handle)
    : createServer(handle);
  server.keepAliveTimeout = 20_000;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : options.port;
  const host = options.host === '0.0.0.0' ? '127.0.0.1' : options.host;
  return {
    url: `${options.tls ? 'https' : 'http'}://${host}:${port}`,
    resetConnections: (except) => {
      for (const socket of sockets) if (socket !== except) socket.resetAndDestroy();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
};

type Exchange = {
  request: IncomingMessage;
  response: ServerResponse;
  options: ListenOptions;
};

const respond = async ({ request, response, options }: Exchange): Promise<void> => {
  const url = new URL(request.url ?? '/', 'http://openwrt');
  const route = options.routes.find(({ matches }) => matches(url.pathname));
  const body = await readBody(request, route?.maxBodyBytes ?? MAX_UBUS_BODY_BYTES);
  const answer = (await route?.answer({
    method: request.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    body,
    connection: request.socket,
  })) ?? { status: 404, body: 'Not Found\n', contentType: 'text/plain' };
  if (answer === 'hang') return;
  if (answer === 'reset') {
    request.socket.resetAndDestroy();
    return;
  }
  send(request, response, { ...answer, close: body === undefined });
};

const send = (
  request: IncomingMessage,
  response: ServerResponse,
  answer: Exclude<Answer, string> & { close: boolean },
): void => {
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
  if (answer.contentType !== undefined) response.setHeader('Content-Type', answer.contentType);
  if (answer.close) {
    response.setHeader('Connection', 'close');
    response.on('finish', () => request.socket.destroySoon());
  }
  if (answer.reason === undefined) response.writeHead(answer.status);
  else response.writeHead(answer.status, phrase(answer.reason));
  // Two writes, so that Node sends it in chunks as uhttpd does, without a length.
  response.write(Buffer.from(answer.body, 'latin1'));
  response.end();
};

/** LuCI's phrases come cut, as recorded. */
const MAX_REASON_LENGTH = 63;

/** Node refuses control characters. */
const phrase = (reason: string): string =>
  reason.slice(0, MAX_REASON_LENGTH).replaceAll(/[^\t -~\x80-\xff]/g, ' ');

/** Stops at the limit, where the rest stays unread. */
const readBody = (request: IncomingMessage, limit: number): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('error', reject);
    request.on('end', () => resolve(Buffer.concat(chunks).toString('latin1')));
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= limit) return;
      request.pause();
      resolve(undefined);
    });
  });
