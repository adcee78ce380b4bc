/**
 * Connections to ports of pods through the API server, by the WebSocket protocol of client-node:
 * RBAC grants them, and they reach what a pod has on its loopback. For the CLI alone: agents and
 * coordinators have no such right.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createServer, isIP, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { withDeadline } from '../runtime/deadline.ts';
import { messageOf } from '../runtime/errors.ts';
import { given } from '../util/given.ts';
import { bareHost } from '../http/host.ts';
import type { KubeConfig, TlsMaterial } from './config.ts';
import type { Tunnel } from './proxy.ts';

export type DialedPort = { namespace: string; pod: string; port: number };
export type Limits = { timeoutMs: number; signal: AbortSignal };

/** Neither the API server nor the pod gave a connection; its message is theirs. */
export class PortForwardError extends Error {
  override name = 'PortForwardError';
}

/** First byte of each message. */
const DATA = 0;
/** The first message of each channel begins with the port. */
const PORT_BYTES = 2;

/**
 * One connection. The protocol cannot close one direction alone: `destroy` ends both. `timeoutMs`:
 * until it is open; `signal` cuts it.
 * @throws PortForwardError, the reason of `signal`
 */
export const connectToPod = async (
  config: KubeConfig,
  { namespace, pod, port }: DialedPort,
  { timeoutMs, signal }: Limits,
): Promise<Duplex> => {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/portforward?ports=${port}`;
  let cutOff = (): void => {};
  let send: (message: Buffer, done: (error?: Error) => void) => void = () => {};
  // There before the connection is: what the pod says first must not be lost.
  const stream = new Duplex({
    allowHalfOpen: false,
    read: () => {},
    write: (chunk: Buffer, _encoding, done) => send(Buffer.concat([Buffer.of(DATA), chunk]), done),
    destroy: (error, done) => {
      cutOff();
      done(error);
    },
  });
  // It can fail before the caller has it; `errored` keeps why.
  stream.on('error', () => {});
  const isBegun = new Set<number>();
  const receive = (channel: number, message: Buffer): boolean => {
    const data = isBegun.has(channel) ? message : message.subarray(PORT_BYTES);
    isBegun.add(channel);
    if (data.length === 0) return true;
    if (channel === DATA) stream.push(data);
    else stream.destroy(new PortForwardError(data.toString().trim()));
    return true;
  };
  const socket = await opened(config, { path, receive, timeoutMs, signal });
  const abort = (): void => void stream.destroy(new PortForwardError(messageOf(signal.reason)));
  signal.addEventListener('abort', abort, { once: true });
  send = (message, done) => socket.send(message, done);
  cutOff = () => {
    signal.removeEventListener('abort', abort);
    socket.terminate();
  };
  socket.addEventListener('close', () => stream.push(null));
  socket.addEventListener('error', ({ message }) => stream.destroy(new PortForwardError(message)));
  return stream;
};

type Opening = Limits & { path: string; receive: (channel: number, message: Buffer) => boolean };

const opened = async (config: KubeConfig, { path, receive, timeoutMs, signal }: Opening) => {
  // Only what is needed of the package, and only then.
  const [{ KubeConfig: ClientConfig }, { WebSocketHandler }] = await Promise.all([
    import('@kubernetes/client-node/dist/config.js'),
    import('@kubernetes/client-node/dist/web-socket-handler.js'),
  ]);
  return withDeadline({ timeoutMs, signal }, async (cut) => {
    const client = new ClientConfig();
    client.getCurrentCluster = () => ({ name: '', server: config.server, skipTLSVerify: false });
    client.applyToHTTPSOptions = async (options) => {
      const tls = given(await config.tls());
      const headers = await config.headers();
      const to = { server: new URL(config.server), tls, timeoutMs };
      const agent = config.tunnel && (await agentThrough(config.tunnel, to));
      Object.assign(options, tls, { headers, signal: cut, ...(agent && { agent }) });
    };
    try {
      return await new WebSocketHandler(client).connect(path, null, receive);
    } catch (error) {
      throw new PortForwardError(wordsOf(error), { cause: error });
    }
  });
};

/** For one connection, which the proxy has made already. @throws Error that names the proxy */
const agentThrough = async (
  tunnel: Tunnel,
  { server, tls, timeoutMs }: { server: URL; tls: TlsMaterial; timeoutMs: number },
): Promise<HttpAgent> => {
  const isTls = server.protocol === 'https:';
  const host = bareHost(server.hostname);
  const socket = await tunnel.open(server, timeoutMs);
  const agent = isTls ? new HttpsAgent() : new HttpAgent();
  const servername = isIP(host) === 0 ? host : '';
  // Its certificate is checked by the name or the address.
  agent.createConnection = () =>
    isTls ? connectTls({ host, servername, ...tls, socket }) : socket;
  return agent;
};

/** The library rejects with an event, which is no Error. */
const wordsOf = (error: unknown): string =>
  error instanceof Error
    ? messageOf(error)
    : typeof error === 'object' && error !== null && 'message' in error
      ? String(error.message)
      : String(error);

export type ForwardedPort = {
  /** On 127.0.0.1 of this machine. */
  port: number;
  close: () => Promise<void>;
};

/**
 * As `kubectl port-forward` does: a client that connects to a port of this machine's loopback is
 * connected to the pod. `localPort`: 0 for a free one. `onProblem`: why a connection could not be
 * made; that one is cut.
 * @throws when the local port is taken
 */
export const forwardPort = async (
  connect: () => Promise<Duplex>,
  { localPort, onProblem }: { localPort: number; onProblem: (error: unknown) => void },
): Promise<ForwardedPort> => {
  const open = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => {});
    void joined(socket, connect).catch((error: unknown) => {
      socket.destroy();
      onProblem(error);
    });
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once('error', reject);
  server.listen(localPort, '127.0.0.1', () => {
    const address = server.address();
    resolve(typeof address === 'object' && address !== null ? address.port : localPort);
  });
  return {
    port: await promise,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((done) => {
        server.close(done);
      });
    },
  };
};

const joined = async (socket: Socket, connect: () => Promise<Duplex>): Promise<void> => {
  const pod = await connect();
  pod.on('error', () => socket.destroy());
  pod.on('close', () => socket.end());
  socket.on('close', () => pod.destroy());
  pod.pipe(socket);
  socket.pipe(pod, { end: false });
};
