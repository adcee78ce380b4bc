import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { connectOnce } from './connect.ts';

let server: Server | undefined;

const listen = async (): Promise<URL> => {
  server = createServer((socket) => socket.on('error', () => undefined).resume()).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no address');
  return new URL(`http://localhost:${address.port}`);
};

afterEach(async () => {
  const ended = server && once(server, 'close');
  server?.close();
  await ended;
  server = undefined;
});

it('reaches a listener by name', async () => {
  const work = connectOnce({ url: await listen(), tls: {} }, AbortSignal.timeout(5_000));
  await expect(work).resolves.toBeUndefined();
});

it('fails when nothing listens', async () => {
  const url = await listen();
  const ended = server && once(server, 'close');
  server?.close();
  await ended;
  server = undefined;
  const work = connectOnce({ url, tls: {} }, AbortSignal.timeout(5_000));
  await expect(work).rejects.toThrow('ECONNREFUSED');
});

it('fails when the other end accepts the connection and speaks no TLS', async () => {
  const { host } = await listen();
  const work = connectOnce({ url: new URL(`https://${host}`), tls: {} }, AbortSignal.timeout(100));
  await expect(work).rejects.toThrow('timeout');
});
