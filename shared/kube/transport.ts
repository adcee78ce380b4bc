/**
 * The connections to the API server. Requests without a body, watches among them, share one of
 * HTTP/2, where the server speaks it. One with a body has a connection of HTTP/1.1 to itself: where
 * the server answers before it has read the body, or a call is given up, the rest would stay in a
 * session of HTTP/2, which refuses every stream once 10 MB have come together (Node 26.10,
 * measured). Invariant: what goes wrong on one connection concerns no later request. One that has
 * fallen silent is cut, and a session that has answered nothing for a while, or refuses streams,
 * gets no new ones.
 */
import { buildConnector, Pool, type Dispatcher } from 'undici';
import { TLSSocket } from 'node:tls';
import type { Socket } from 'node:net';
import { messageOf, toError } from '../runtime/errors.ts';
import { given } from '../util/given.ts';
import type { KubeConfig, TlsMaterial } from './config.ts';

export type TransportOptions = {
  config: KubeConfig;
  connectTimeoutMs?: number;
  /**
   * Between HTTP/2 pings; a connection without a byte for three of them is dead. Default 15 s, as
   * client-go has it within a factor of two.
   */
  pingIntervalMs?: number;
};

export type Transport = {
  /** @throws as undici */
  request: (options: Omit<Dispatcher.RequestOptions, 'origin'>) => Promise<Dispatcher.ResponseData>;
  /** Since when no request was answered, on `performance`'s clock; undefined: the last one was. */
  unansweredSince: () => number | undefined;
  /** Prefix of every path, '' for most servers. */
  basePath: string;
  /** Connections that are open now. */
  connections: () => number;
  close: () => Promise<void>;
};

export const createTransport = (options: TransportOptions): Transport => {
  const { config, connectTimeoutMs = 10_000, pingIntervalMs = 15_000 } = options;
  const url = new URL(config.server);
  const sockets = new Set<Socket>();
  const connector =
    (allowH2: boolean): buildConnector.connector =>
    (target, callback) => {
      void (async () => {
        try {
          // Built per connection, because the CA and client certificates may have been rotated
          // since the last one.
          const tls = given(await tlsOf(config));
          const build = buildConnector({ allowH2, timeout: connectTimeoutMs, ...tls });
          const done: buildConnector.Callback = (...outcome) => {
            const [, socket] = outcome;
            if (socket) supervise(socket, sockets, pingIntervalMs);
            callback(...outcome);
          };
          const tunnelled = await config.tunnel?.open(target, connectTimeoutMs);
          if (tunnelled && target.protocol === 'http:') done(null, tunnelled);
          else build({ ...target, ...(tunnelled && { httpSocket: tunnelled }) }, done);
        } catch (error) {
          callback(toError(error), null);
        }
      })();
    };
  const connect = connector(true);
  const newSession = (): Pool =>
    new Pool(url.origin, { connect, allowH2: true, h2Options: { pingInterval: pingIntervalMs } });
  let session = newSession();
  const retired = new Set<Pool>();
  /** Its watches go on for as long as they can. */
  const retire = (pool: Pool): void => {
    if (pool !== session) return;
    session = newSession();
    retired.add(pool);
    void pool
      .close()
      .catch(() => undefined)
      .then(() => retired.delete(pool));
  };
  const withBody = new Pool(url.origin, { connect: connector(false), connections: MAX_WRITES });

  let unansweredSince: number | undefined;
  const request: Transport['request'] = async (options) => {
    const pool = options.body ? withBody : session;
    const begun = performance.now();
    try {
      const response = await pool.request(options);
      unansweredSince = undefined;
      return response;
    } catch (error) {
      // A call that its caller gives up says nothing of the server.
      if (toError(error).name === 'AbortError') throw error;
      unansweredSince ??= begun;
      const isSilent = performance.now() - unansweredSince >= SILENT_MS;
      if (isSilent || CALM.test(messageOf(error))) retire(pool);
      throw error;
    }
  };
  return {
    request,
    unansweredSince: () => unansweredSince,
    basePath: url.pathname.replace(/\/$/, ''),
    connections: () => sockets.size,
    close: async () => {
      await Promise.all([session, withBody, ...retired].map((pool) => pool.destroy()));
    },
  };
};

/** Requests with a body at one time; others wait. Each is a connection, and few last long. */
const MAX_WRITES = 16;
/** A session without an answer for so long is given up; shorter than the timeout of a request. */
const SILENT_MS = 10_000;
/**
 * Node refuses streams of a session that holds more than it may; the server, those of a client that
 * it finds too busy.
 */
const CALM = /ENHANCE_YOUR_CALM/;

const tlsOf = async (config: KubeConfig): Promise<TlsMaterial> => {
  try {
    return await config.tls();
  } catch (error) {
    throw new Error(`cannot read credentials: ${messageOf(error)}`, { cause: error });
  }
};

/**
 * Cuts a HTTP/2 connection on which not even pings are answered: a NAT or a load balancer has
 * dropped it, or the peer hangs.
 */
const supervise = (socket: Socket, sockets: Set<Socket>, pingIntervalMs: number): void => {
  sockets.add(socket);
  let bytesSeen = socket.bytesRead;
  let silentIntervals = 0;
  const look = (): void => {
    silentIntervals = socket.bytesRead === bytesSeen ? silentIntervals + 1 : 0;
    bytesSeen = socket.bytesRead;
    if (silentIntervals >= 3)
      socket.destroy(new Error('the API server does not answer on this connection'));
  };
  const pinged = socket instanceof TLSSocket && socket.alpnProtocol === 'h2';
  const timer = pinged ? setInterval(look, pingIntervalMs).unref() : undefined;
  socket.once('close', () => {
    sockets.delete(socket);
    clearInterval(timer);
  });
};
