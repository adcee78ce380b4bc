/**
 * `pods/portforward` as a kubelet serves it to WebSocket clients (`v4.channel.k8s.io`): the first
 * byte of a message is its channel, 0 for data and 1 for errors, and the first message of each
 * channel is the port. One connection to the pod for each WebSocket.
 */
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';

const PATH = /^\/portForward\/([^/]+)\/([^/]+)$/;
const PROTOCOL = 'v4.channel.k8s.io';
const DATA = 0;
const ERROR = 1;

export type PortForwardOptions = {
  /** Where a port of the pod is on this machine; undefined while it does not run. */
  placeOf: (namespace: string, pod: string, port: number) => Place | undefined;
  signal: AbortSignal;
};

export type Place = { host: string; port: number };

/** False when the request is for something else. */
export const createPortForward = ({ placeOf, signal }: PortForwardOptions) => {
  const server = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => (offered.has(PROTOCOL) ? PROTOCOL : false),
  });
  signal.addEventListener('abort', () => {
    for (const socket of server.clients) socket.terminate();
  });
  return (request: IncomingMessage, socket: Duplex, head: Buffer): boolean => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://kubelet');
    const [, namespace, pod] = PATH.exec(pathname) ?? [];
    const port = Number(searchParams.get('port'));
    if (!namespace || !pod || !Number.isInteger(port)) return false;
    server.handleUpgrade(request, socket, head, (webSocket) => {
      forward(webSocket, port, placeOf(namespace, pod, port));
    });
    return true;
  };
};

const forward = (webSocket: WebSocket, port: number, place: Place | undefined): void => {
  const send = (channel: number, data: Uint8Array): void =>
    webSocket.send(Buffer.concat([Buffer.of(channel), data]));
  const fail = (why: string): void => {
    send(ERROR, Buffer.from(`error forwarding port ${port}: ${why}`));
    webSocket.close();
  };
  const number = Buffer.alloc(2);
  number.writeUInt16LE(port);
  for (const channel of [DATA, ERROR]) send(channel, number);
  if (!place) return fail('the pod does not run');
  const outgoing = connect({ ...place, noDelay: true });
  outgoing.on('data', (data: Buffer) => send(DATA, data));
  outgoing.on('error', ({ message }) => fail(message));
  outgoing.on('end', () => webSocket.close());
  webSocket.on('message', (message: Buffer) => {
    if (message[0] === DATA) outgoing.write(message.subarray(1));
  });
  webSocket.on('close', () => outgoing.destroy());
  webSocket.on('error', () => outgoing.destroy());
  return undefined;
};
