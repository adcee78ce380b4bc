/**
 * The connection to the API server: HTTP/2 with every request on one connection where the server speaks it, else HTTP/1.1.
 * Invariant: a connection that has fallen silent is cut, so no request can hang on it.
 */
import { buildConnector, Pool } from 'undici';
import { TLSSocket } from 'node:tls';
import type { Socket } from 'node:net';
import { messageOf, toError } from '../runtime/errors.ts';
import { given } from '../runtime/given.ts';
import type { KubeConfig, TlsMaterial } from './config.ts';

export type TransportOptions = {
  config: KubeConfig;
  connectTimeoutMs?: number;
  /** Between HTTP/2 pings; a connection without a byte for three of them is dead. Default 15 s, as client-go has it within a factor of two. */
  pingIntervalMs?: number;
};

export type Transport = {
  pool: Pool;
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
  const connect: buildConnector.connector = (target, callback) => {
    void (async () => {
      try {
        // Built per connection, because the CA and client certificates may have been rotated since the last one.
        const tls = given(await tlsOf(config));
        const build = buildConnector({ allowH2: true, timeout: connectTimeoutMs, ...tls });
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
  const pool = new Pool(url.origin, {
    connect,
    allowH2: true,
    h2Options: { pingInterval: pingIntervalMs },
  });
  return {
    pool,
    basePath: url.pathname.replace(/\/$/, ''),
    connections: () => sockets.size,
    close: () => pool.destroy(),
  };
};

const tlsOf = async (config: KubeConfig): Promise<TlsMaterial> => {
  try {
    return await config.tls();
  } catch (error) {
    throw new Error(`cannot read credentials: ${messageOf(error)}`, { cause: error });
  }
};

/** Cuts a HTTP/2 connection on which not even pings are answered: a NAT or a load balancer has dropped it, or the peer hangs. */
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
