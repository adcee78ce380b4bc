/** A proxy of HTTP on loopback, as a network has one between its users and the API server. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import * as z from 'zod';

export type ConnectProxy = {
  url: string;
  /** `host:port` that it was asked for, once a connection. */
  asked: readonly string[];
  stop: () => void;
};

const listening = z.object({ port: z.int() });

export const startConnectProxy = async (): Promise<ConnectProxy> => {
  const asked: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer();
  server.on('connect', (request, one: Socket) => {
    const to = request.url ?? '';
    asked.push(to);
    const { hostname, port } = new URL(`http://${to}`);
    const other = connect(Number(port), hostname, () => {
      one.write('HTTP/1.1 200 OK\r\n\r\n');
      one.pipe(other).pipe(one);
    });
    for (const [socket, peer] of [
      [one, other],
      [other, one],
    ] as const) {
      sockets.push(socket);
      socket.on('error', () => undefined).once('close', () => peer.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${listening.parse(server.address()).port}`,
    asked,
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};
