/**
 * Serves a hono app over http or https. Certificates that are replaced, on disk or by their owner,
 * are taken up without a restart; a pair that cannot be used is reported and the old one stays.
 */
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { systemClock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { Rate } from '../runtime/rate.ts';
import { watchFiles } from './rotated-file.ts';

/** PEM. */
export type ServingPair = { cert: string; key: string };

/** Certificates from within the program. `onServing` is called with each new pair. */
export type TlsSource = {
  serving: () => ServingPair;
  onServing: (listener: (pair: ServingPair) => void) => void;
};

/** PEM files; read again when they change. */
export type TlsFiles = { certFile: string; keyFile: string; pollIntervalMs?: number };

export type ServeOptions = {
  /** `app.fetch` of a hono app; limit bodies there with `hono/body-limit`. */
  fetch: (request: Request, connection: HttpBindings) => Response | Promise<Response>;
  hostname: string;
  /** 0: any free one. */
  port: number;
  tls?: TlsFiles | TlsSource;
  /**
   * PEM file with the CAs of clients that present a certificate, read again when it changes. No
   * client has to; `isKnownClient` tells.
   */
  clientCaFile?: string | undefined;
  log: Logger;
};

export type RunningServer = {
  port: number;
  /** Stops accepting, lets requests in hand end for `graceMs` (default 1 s), then cuts them. */
  close: (graceMs?: number) => Promise<void>;
};

/** Clients that send their request this slowly are cut off. */
const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 5_000;
/** In all; headers with a token of a service account have 2 KiB. */
const MAX_HEADER_BYTES = 16_384;
/**
 * Connections of unknown and of new clients, on which no request was answered well yet. The oldest
 * of the address that has most is closed.
 */
const MAX_UNPROVEN = 256;
const MAX_CONNECTIONS = 4_096;
/**
 * New connections of an address none of whose connections is kept, at once, and then half as many a
 * second: each handshake of TLS costs this process a signature.
 */
const MAX_NEW_AT_ONCE = 400;
/**
 * Between two requests: an agent's heartbeats are 12.5 s apart at most. Clients are told, and close
 * theirs a second earlier.
 */
const KEEP_ALIVE_MS = 20_000;

/** Resolves when it listens. @throws when the address is taken or the certificate cannot be used */
export const serveApp = async (options: ServeOptions): Promise<RunningServer> => {
  const stopped = new AbortController();
  const server = await createServer(options, stopped.signal);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.hostname, resolve);
  });
  const close = async (graceMs = 1_000): Promise<void> => {
    stopped.abort();
    if (!server.listening) return;
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeIdleConnections();
    });
    clearTimeout(cut);
  };
  const address = server.address();
  return { port: typeof address === 'object' && address ? address.port : options.port, close };
};

/** Whether the client has shown a certificate that a CA of `clientCaFile` has signed. */
export const isKnownClient = ({ incoming }: HttpBindings): boolean =>
  incoming.socket instanceof TLSSocket && incoming.socket.authorized;

const createServer = async (
  { clientCaFile, fetch, tls, log }: ServeOptions,
  signal: AbortSignal,
): Promise<Server | HttpsServer> => {
  const limits = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    handshakeTimeout: HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: HEADERS_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  };
  const unproven = new Unproven();
  const listener = getRequestListener((request, connection) =>
    // The connection is HTTP/1, as this server speaks it.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    fetch(request, connection as HttpBindings),
  );
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    outgoing.once('finish', () => {
      const isKept = !incoming.socket.writableEnded;
      if (outgoing.statusCode < 400 && isKept) unproven.prove(incoming.socket);
      if (signal.aborted) incoming.socket.end();
    });
    void listener(incoming, outgoing);
  };
  const bounded = <S extends Server>(server: S): S => {
    server.maxConnections = MAX_CONNECTIONS;
    return server.on('connection', (socket: Socket) => unproven.add(socket));
  };
  if (!tls) return bounded(createHttpServer(limits, handle));
  const asked = clientCaFile !== undefined && { requestCert: true, rejectUnauthorized: false };
  const server = bounded(createHttpsServer({ ...limits, ...asked }, handle));
  let inUse: ServingPair | undefined;
  let clientCa = '';
  /**
   * `ca`: of clients; the last good one stays, so that a file that is none does not keep the
   * server's own certificate from being renewed.
   */
  const use = (given: ServingPair, ca = clientCa): void => {
    // Throws for a pair caught half-way through its replacement; the next look finds it whole. TLS
    // itself takes an empty file for no certificate at all, and would then refuse all clients.
    if (given.cert === '' || given.key === '') throw new Error('certificate or key is empty');
    // Node would take its own list of public CAs instead.
    if (clientCaFile !== undefined && !ca.includes('BEGIN CERTIFICATE'))
      throw new Error('the file with the CAs of clients has no certificate');
    const pair = { ...given, ...(clientCaFile !== undefined && { ca }) };
    createSecureContext(pair);
    server.setSecureContext(pair);
    inUse = given;
    clientCa = ca;
  };
  const onError = (err: unknown): void =>
    log.warn({ err }, 'the new certificate is not usable, keeping the old one');
  const { pollIntervalMs: intervalMs } = 'certFile' in tls ? tls : {};
  const interval = intervalMs !== undefined && { intervalMs };
  if (clientCaFile !== undefined)
    [clientCa = ''] = await watchFiles({
      paths: [clientCaFile],
      ...interval,
      signal,
      onError: (err) => log.warn({ err }, 'the CAs of clients cannot be read'),
      onChange: ([text = '']) => {
        if (inUse) use(inUse, text);
        else clientCa = text;
      },
    });
  if ('certFile' in tls) {
    const { certFile, keyFile } = tls;
    const pairOf = ([cert = '', key = '']: readonly string[]): ServingPair => ({ cert, key });
    const first = await watchFiles({
      paths: [certFile, keyFile],
      ...interval,
      signal,
      onError,
      onChange: (contents) => {
        use(pairOf(contents));
        log.info({ file: certFile }, 'serving a new certificate');
      },
    });
    use(pairOf(first));
  } else {
    use(tls.serving());
    tls.onServing((pair) => {
      try {
        use(pair);
        log.info('serving a new certificate');
      } catch (error) {
        onError(error);
      }
    });
  }
  return server;
};

/**
 * Connections that have not proven themselves, by their other end: a request of TLS does not have
 * the socket that came in. However many an unknown client opens, they take no room from known ones,
 * nor from new clients with other addresses; and one with its address has time for one request.
 */
class Unproven {
  /** By address, and then by port. */
  readonly #sockets = new Map<string, Map<number, Socket>>();
  #size = 0;
  /** How many connections that have proven themselves an address has. */
  readonly #proven = new Map<string, number>();
  readonly #rate = new Rate({
    perSecond: MAX_NEW_AT_ONCE / 2,
    atOnce: MAX_NEW_AT_ONCE,
    clock: systemClock,
  });

  add(socket: Socket): void {
    const { remoteAddress = '', remotePort = 0 } = socket;
    if (!this.#proven.has(remoteAddress) && !this.#rate.take(remoteAddress)) {
      socket.destroy();
      return;
    }
    this.#remove(remoteAddress, remotePort);
    this.#sockets.getOrInsertComputed(remoteAddress, () => new Map()).set(remotePort, socket);
    this.#size += 1;
    socket.once('close', () => this.#remove(remoteAddress, remotePort, socket));
    if (this.#size > MAX_UNPROVEN) this.#closeOne();
  }

  prove(socket: Socket): void {
    const { remoteAddress = '', remotePort = 0 } = socket;
    if (!this.#remove(remoteAddress, remotePort)) return;
    const of = (more: number): number => (this.#proven.get(remoteAddress) ?? 0) + more;
    this.#proven.set(remoteAddress, of(1));
    socket.once('close', () => {
      if (of(-1) > 0) this.#proven.set(remoteAddress, of(-1));
      else this.#proven.delete(remoteAddress);
    });
  }

  /** Whether it was there. */
  #remove(address: string, port: number, socket?: Socket): boolean {
    const those = this.#sockets.get(address);
    const there = those?.get(port);
    if (there === undefined || (socket !== undefined && there !== socket)) return false;
    those?.delete(port);
    this.#size -= 1;
    if (those?.size === 0) this.#sockets.delete(address);
    return true;
  }

  /** The oldest of the address that has most. */
  #closeOne(): void {
    const [first, ...others] = this.#sockets;
    if (first === undefined) return;
    const [address, those] = others.reduce(
      (one, other) => (other[1].size > one[1].size ? other : one),
      first,
    );
    const [[port, oldest] = []] = those;
    if (port === undefined) return;
    this.#remove(address, port);
    oldest?.destroy();
  }
}
