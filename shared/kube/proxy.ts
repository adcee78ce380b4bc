/**
 * Connections to the API server through a proxy, as kubectl has them: `proxy-url` of a kubeconfig,
 * else HTTPS_PROXY and NO_PROXY as Go reads them. TLS goes through it end to end, so it sees
 * neither credentials nor answers.
 */
import http from 'node:http';
import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import { messageOf } from '../runtime/errors.ts';
import { bareHost } from '../http/host.ts';
import { within } from '../util/addresses.ts';
import { own } from '../util/own.ts';

export type Tunnel = {
  /** @throws Error that names the proxy, without its login */
  open: (to: Pick<URL, 'hostname' | 'port' | 'protocol'>, timeoutMs: number) => Promise<Socket>;
};

/**
 * `proxyUrl`: `http://`, `https://` or `socks5://`, with a login where it wants one. @throws Error
 * for another, without its login
 */
export const createTunnel = (proxyUrl: string): Tunnel => {
  const proxy = URL.canParse(proxyUrl) ? new URL(proxyUrl) : undefined;
  const open = proxy && own(BY_SCHEME, proxy.protocol);
  if (!open)
    throw new Error(
      `proxy ${proxy?.protocol ?? 'without a scheme'}: it has to be http://, https:// or socks5://, with a host`,
    );
  return {
    open: async (to, timeoutMs) => {
      try {
        return await open(proxy, { host: bareHost(to.hostname), port: portOf(to), timeoutMs });
      } catch (error) {
        throw new Error(`through proxy ${proxy.protocol}//${proxy.host}: ${messageOf(error)}`, {
          cause: error,
        });
      }
    },
  };
};

type Target = { host: string; port: number; timeoutMs: number };

const throughHttp = (proxy: URL, { host, port, timeoutMs }: Target): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    const login = [proxy.username, proxy.password].map(decodeURIComponent).join(':');
    const { request } = proxy.protocol === 'https:' ? https : http;
    const asking = request({
      host: bareHost(proxy.hostname),
      port: portOf(proxy),
      method: 'CONNECT',
      path: authority,
      headers: {
        host: authority,
        ...(login !== ':' && {
          'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}`,
        }),
      },
      agent: false,
      timeout: timeoutMs,
    });
    asking.once('connect', ({ statusCode = 0, statusMessage }, socket: Socket, head: Buffer) => {
      socket.setTimeout(0);
      if (statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(new Error(`it answers ${statusCode} ${statusMessage}`));
    });
    asking.once('response', ({ statusCode, statusMessage }) => {
      asking.destroy();
      reject(new Error(`it answers ${statusCode} ${statusMessage}`));
    });
    asking.once('timeout', () => asking.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    asking.once('error', reject);
    asking.end();
  });

const DEFAULT_SOCKS_PORT = 1080;

const throughSocks = async (proxy: URL, { host, port, timeoutMs }: Target): Promise<Socket> => {
  const { SocksClient } = await import('socks');
  const { socket } = await SocksClient.createConnection({
    command: 'connect',
    destination: { host, port },
    timeout: timeoutMs,
    proxy: {
      host: bareHost(proxy.hostname),
      port: Number(proxy.port || DEFAULT_SOCKS_PORT),
      type: 5,
      ...(proxy.username !== '' && {
        userId: decodeURIComponent(proxy.username),
        password: decodeURIComponent(proxy.password),
      }),
    },
  });
  return socket;
};

/** The port that a URL leaves out. */
const portOf = ({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number =>
  Number(port || (protocol === 'https:' ? '443' : '80'));

const BY_SCHEME: Readonly<Record<string, typeof throughHttp>> = {
  'http:': throughHttp,
  'https:': throughHttp,
  'socks5:': throughSocks,
  'socks5h:': throughSocks,
};

type Env = Readonly<Record<string, string | undefined>>;

/** Undefined: none. Loopback is never behind one. */
export const proxyInEnv = (server: URL, env: Env): string | undefined => {
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const proxy = valueIn(env, name);
  if (proxy === '' || isExcepted(server, valueIn(env, 'NO_PROXY'))) return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
};

const valueIn = (env: Env, name: string): string => env[name] || env[name.toLowerCase()] || '';

const isExcepted = (server: URL, exceptions: string): boolean => {
  const host = bareHost(server.hostname);
  const port = String(portOf(server));
  if (host === 'localhost' || isIn('127.0.0.0/8', host) || host === '::1') return true;
  return exceptions
    .split(/[\s,]+/)
    .filter((each) => each !== '')
    .some((each) => {
      if (each === '*' || isIn(each, host) || bareHost(each) === host) return true;
      const [, name = '', only = port] = /^(.*?)(?::(\d+))?$/.exec(each) ?? [];
      if (only !== port || name === '') return false;
      const domain = name.replace(/^\*(?=\.)/, '').toLowerCase();
      return domain.startsWith('.')
        ? host.endsWith(domain)
        : host === bareHost(domain) || host.endsWith(`.${domain}`);
    });
};

/** Whether the text is a block of addresses that has the host. */
const isIn = (text: string, host: string): boolean => {
  const [base = '', length] = text.split('/');
  const family = isIP(base);
  if (length === undefined || family === 0 || isIP(host) !== family) return false;
  if (!/^\d{1,3}$/.test(length) || Number(length) > (family === 4 ? 32 : 128)) return false;
  return within([text])(host);
};
