/** Real proxies on loopback, an API server without TLS behind them. */
import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createKubeClient } from './client.ts';
import { createTunnel, proxyInEnv, type Tunnel } from './proxy.ts';
import { pod, pods } from './testing/pod.ts';

let servers: (Server | HttpServer)[];
let sockets: Socket[];

const listening = async (server: Server | HttpServer): Promise<number> => {
  servers.push(server);
  server.on('connection', (socket: Socket) => sockets.push(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address: AddressInfo | string | null = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};
const joined = (one: Socket, port: number): void => {
  const other = connect(port, '127.0.0.1');
  sockets.push(other.on('error', () => undefined));
  one.pipe(other).pipe(one);
};

let apiPort: number;
beforeEach(async () => {
  servers = [];
  sockets = [];
  apiPort = await listening(
    createHttpServer((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(pod)),
    ),
  );
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
});

const read = async (tunnel: Tunnel): Promise<string> => {
  const client = createKubeClient({
    config: {
      server: `http://api.example:${apiPort}`,
      namespace: undefined,
      tls: async () => ({}),
      headers: async () => ({}),
      expire: () => undefined,
      tunnel,
    },
  });
  try {
    return (await client.get(pods, { namespace: 'ns', name: 'p' })).metadata.name;
  } finally {
    await client.close();
  }
};

/** `status`: what it answers to CONNECT. */
const httpProxy = async (status = '200 OK') => {
  const asked: [to: string, login: string][] = [];
  const server = createHttpServer();
  server.on('connect', (request, socket: Socket) => {
    asked.push([request.url ?? '', request.headers['proxy-authorization'] ?? '']);
    socket.write(`HTTP/1.1 ${status}\r\n\r\n`);
    if (status.startsWith('200')) joined(socket, apiPort);
    else socket.end();
  });
  return { asked, port: await listening(server) };
};

describe('a proxy of HTTP', () => {
  it('is asked for the API server by its name, with its login', async () => {
    const { asked, port } = await httpProxy();
    expect(await read(createTunnel(`http://me:p%40ss@127.0.0.1:${port}`))).toBe('p');
    const login = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
    expect(asked).toEqual([[`api.example:${apiPort}`, login]]);
  });

  it('is named without its login when it refuses', async () => {
    const { port } = await httpProxy('407 Proxy Authentication Required');
    const reading = read(createTunnel(`http://me:secret@127.0.0.1:${port}`));
    await expect(reading).rejects.toThrow(
      `through proxy http://127.0.0.1:${port}: it answers 407 Proxy Authentication Required`,
    );
    await expect(reading).rejects.not.toThrow('secret');
  });

  it.each(['ftp://me:secret@p', 'me:secret@p', 'p'])('%s is none', (url) => {
    expect(() => createTunnel(url)).toThrow(/^proxy (?!.*secret).*it has to be http:/);
  });

  it('is named when it is not there', async () => {
    await expect(read(createTunnel('http://127.0.0.1:1'))).rejects.toThrow(
      'through proxy http://127.0.0.1:1: connect ECONNREFUSED',
    );
  });
});

it("leaves resolving the API server's name to a SOCKS proxy", async () => {
  const asked: string[] = [];
  const port = await listening(
    createServer((socket) => {
      socket.once('data', () => {
        socket.write(Buffer.from([5, 0]));
        socket.once('data', (request: Buffer) => {
          const length = request[4] ?? 0;
          asked.push(request.subarray(5, 5 + length).toString());
          socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]));
          joined(socket, apiPort);
        });
      });
    }),
  );
  expect(await read(createTunnel(`socks5://127.0.0.1:${port}`))).toBe('p');
  expect(asked).toEqual(['api.example']);
});

describe('the proxy of the environment', () => {
  const of = (server: string, exceptions = '', proxy = 'proxy:8080') =>
    proxyInEnv(new URL(server), { HTTPS_PROXY: proxy, no_proxy: exceptions });

  it.each<[string, string, string | undefined]>([
    ['https://api.example:6443', '', 'http://proxy:8080'],
    ['http://api.example', '', undefined],
    ['https://localhost:6443', '', undefined],
    ['https://127.0.0.1:6443', '', undefined],
    ['https://[::1]:6443', '', undefined],
    ['https://api.example', '*', undefined],
    ['https://api.example', 'other, example', undefined],
    ['https://api.example', '.example', undefined],
    ['https://example', '.example', 'http://proxy:8080'],
    ['https://api.example', 'ample', 'http://proxy:8080'],
    ['https://api.example:6443', 'api.example:443', 'http://proxy:8080'],
    ['https://api.example', 'api.example:443', undefined],
    ['https://10.0.1.2', '10.0.0.0/16', undefined],
    ['https://10.1.1.2', '10.0.0.0/16,10.0.0.0/99', 'http://proxy:8080'],
    ['https://[fd00::1]', 'fd00::/8', undefined],
    ['https://[fd00::1]', 'fd00::1', undefined],
  ])('%s without %j: %s', (server, exceptions, proxy) => {
    expect(of(server, exceptions)).toBe(proxy);
  });

  it('has a scheme of its own', () => {
    expect(of('https://api.example', '', 'socks5://p')).toBe('socks5://p');
  });
});
