/** A new connection, to see whether a peer is reached: flows survive rules that refuse new ones. */
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { isIP } from 'node:net';
import { given } from '#shared/util/given.ts';
import { bareHost } from '#shared/http/host.ts';
import { own } from '#shared/util/own.ts';

export type ConnectTo = {
  /** `https`: to the end of the handshake, with a right certificate: no other server answers. */
  url: URL;
  tls: Pick<ConnectionOptions, 'ca' | 'servername' | 'rejectUnauthorized'>;
};

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80 };

/** Looks the name up, connects, and closes. @throws Error without a connection, or the signal's */
export const connectOnce = ({ url, tls }: ConnectTo, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const host = bareHost(url.hostname);
    const port = Number(url.port) || own(DEFAULT_PORTS, url.protocol);
    if (port === undefined) throw new Error(`no port in ${url.href}`);
    const isTls = url.protocol === 'https:';
    const socket: Socket = isTls
      ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }), ...given(tls) })
      : connectTcp({ host, port });
    const stop = (): void => end(() => reject(signal.reason));
    const end = (tell: () => void): void => {
      signal.removeEventListener('abort', stop);
      socket.destroy();
      tell();
    };
    signal.addEventListener('abort', stop, { once: true });
    socket.on('error', (error) => end(() => reject(error)));
    socket.once('close', () => end(() => reject(new Error('the connection was closed'))));
    socket.once(isTls ? 'secureConnect' : 'connect', () => end(resolve));
  });
