/** Against a server with a kubelet's protocol, behind a TCP server that stands for the pod. */
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type Server } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import type { KubeConfig } from './config.ts';
import { connectToPod, forwardPort, PortForwardError } from './port-forward.ts';

const TO = { namespace: 'edge', pod: 'cnf-1-a', port: 9465 };
const PORT = Buffer.from([0xf9, 0x24]);

let server: Server;
let config: KubeConfig;
let asked: IncomingMessage[];
/** What the kubelet does with a connection. */
let kubelet: (socket: WebSocket) => void;
let stop: AbortController;

const listening = async (one: { listen: (port: number, host: string) => unknown } & Server) => {
  one.listen(0, '127.0.0.1');
  await once(one, 'listening');
  return portOf(one);
};
const portOf = (one: { address: () => AddressInfo | string | null }): number => {
  const address = one.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

const said = (socket: WebSocket, channel: number, words: string | Buffer): void =>
  socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(words)]));

beforeEach(async () => {
  asked = [];
  stop = new AbortController();
  server = createHttpServer((_request, response) => response.writeHead(403).end());
  const webSockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => (offered.has('v4.channel.k8s.io') ? 'v4.channel.k8s.io' : false),
  });
  server.on('upgrade', (request, socket, head) => {
    asked.push(request);
    if (request.headers.authorization !== 'Bearer good')
      return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    return webSockets.handleUpgrade(request, socket, head, (one) => {
      for (const channel of [0, 1]) said(one, channel, PORT);
      kubelet(one);
    });
  });
  config = {
    server: `http://127.0.0.1:${await listening(server)}/prefix`,
    namespace: 'edge',
    tls: async () => ({}),
    headers: async () => ({ authorization: 'Bearer good' }),
    expire: () => {},
  };
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const open = (given = config, timeoutMs = 5_000) =>
  connectToPod(given, TO, { timeoutMs, signal: stop.signal });

it('asks as the user, for one port of one pod', async () => {
  kubelet = (socket) => socket.close();
  await text(await open());
  expect(asked.map(({ url }) => url)).toEqual([
    '/prefix/api/v1/namespaces/edge/pods/cnf-1-a/portforward?ports=9465',
  ]);
});

it('goes through the proxy of the kubeconfig, and says when that gives no connection', async () => {
  kubelet = (socket) => socket.close();
  const through: string[] = [];
  const tunnel = {
    open: async ({ hostname, port }: { hostname: string; port: string }) => {
      through.push(`${hostname}:${port}`);
      return connect(Number(port), hostname);
    },
  };
  await text(await open({ ...config, tunnel }));
  expect(through).toEqual([new URL(config.server).host]);
  const refusing = { open: () => Promise.reject(new Error('through proxy http://p: refused')) };
  await expect(open({ ...config, tunnel: refusing })).rejects.toThrow(
    'through proxy http://p: refused',
  );
});

it('carries what both say, also what the pod says first, in any sizes', async () => {
  const long = 'x'.repeat(300_000);
  kubelet = (socket) => {
    said(socket, 0, 'hello ');
    socket.on('message', (message: Buffer) => {
      said(socket, 0, `${message[0]}${message.subarray(1).toString()}`);
      said(socket, 0, long);
      socket.close();
    });
  };
  const stream = await open();
  stream.write('you');
  expect(await text(stream)).toBe(`hello 0you${long}`);
});

it('ends with the words of the kubelet when the pod takes no connection', async () => {
  kubelet = (socket) => said(socket, 1, 'error forwarding port 9465: connection refused\n');
  const stream = await open();
  await expect(text(stream)).rejects.toThrow('error forwarding port 9465: connection refused');
});

it('is refused where the API server refuses it', async () => {
  const refused = open({ ...config, headers: async () => ({}) });
  await expect(refused).rejects.toThrow(PortForwardError);
  await expect(refused).rejects.toThrow('403');
});

it('does not wait for a server that says nothing', async () => {
  const silent = createServer();
  const port = await listening(silent as Server);
  await expect(open({ ...config, server: `http://127.0.0.1:${port}` }, 50)).rejects.toThrow(
    'no answer in time',
  );
  silent.close();
});

it('is cut by its signal', async () => {
  const cut = Promise.withResolvers<void>();
  kubelet = (socket) => socket.on('close', () => cut.resolve());
  const stream = await open();
  const end = text(stream);
  stop.abort(new Error('interrupted'));
  await expect(end).rejects.toThrow('interrupted');
  await cut.promise;
});

it('gives a port of this machine, on which each connection is one to the pod', async () => {
  kubelet = (socket) =>
    socket.on('message', (message: Buffer) => said(socket, 0, message.subarray(1)));
  const problems: unknown[] = [];
  const onProblem = (error: unknown): number => problems.push(error);
  const forwarded = await forwardPort(() => open(), { localPort: 0, onProblem });
  const ask = async (words: string): Promise<string> => {
    const socket: Socket = connect(forwarded.port, '127.0.0.1');
    socket.write(words);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return answer.toString();
  };
  expect(await Promise.all(['one', 'two'].map(ask))).toEqual(['one', 'two']);
  expect(asked).toHaveLength(2);
  expect(problems).toEqual([]);
  await forwarded.close();
  const [error] = await once(connect(forwarded.port, '127.0.0.1'), 'error');
  expect(error).toMatchObject({ code: 'ECONNREFUSED' });
});

it('says why a connection could not be made, and takes the next one', async () => {
  const problems: unknown[] = [];
  const onProblem = (error: unknown): number => problems.push(error);
  const forwarded = await forwardPort(() => open({ ...config, headers: async () => ({}) }), {
    localPort: 0,
    onProblem,
  });
  for (const _time of [1, 2]) await once(connect(forwarded.port, '127.0.0.1'), 'close');
  expect(problems.map((one) => one instanceof PortForwardError)).toEqual([true, true]);
  await forwarded.close();
});
