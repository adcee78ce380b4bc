import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { exchange, type Answer } from './exchange.ts';
import { createKeptConnection, type KeptConnection } from './kept-connection.ts';
import { createManualClock } from '../runtime/testing/manual-clock.ts';

let server: Server;
let url: URL;
let timers: Map<number, () => void>;

const post = (
  signal = new AbortController().signal,
  kept?: KeptConnection,
  ca?: string,
  body = 'a question',
): Promise<Answer> =>
  exchange({
    kept,
    ca,
    method: 'POST',
    url,
    headers: {},
    body,
    maxBytes: 100,
    timeoutMs: 5_000,
    clock: {
      after: (ms, callback) => {
        timers.set(ms, callback);
        return () => timers.delete(ms);
      },
    },
    signal,
  });

beforeEach(async () => {
  timers = new Map();
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  url = new URL(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

it('fails when there is no answer in time, and cuts the connection', async () => {
  const call = post();
  const [request] = await once(server, 'request');
  timers.get(5_000)?.();
  await expect(call).rejects.toThrow('no answer in time');
  if (!request.socket.destroyed) await once(request.socket, 'close');
});

it('fails when the answer is not whole in time', async () => {
  server.on('request', (_request, response) => response.write('the beginning'));
  const begun = 'http.client.response.finish';
  const answering = new Promise<void>((resolve) => {
    const onAnswer = (): void => {
      unsubscribe(begun, onAnswer);
      resolve();
    };
    subscribe(begun, onAnswer);
  });
  const call = post();
  await answering;
  timers.get(5_000)?.();
  await expect(call).rejects.toThrow('no answer in time');
});

it('has no timer left after an answer, nor after a failure', async () => {
  server.once('request', (_request, response) => response.end('an answer'));
  expect((await post()).body.toString()).toBe('an answer');
  expect(timers.size).toBe(0);
  server.once('request', (request) => request.socket.destroy());
  await expect(post()).rejects.toThrow('socket hang up');
  expect(timers.size).toBe(0);
});

it('says that the signal aborted it, where it did', async () => {
  const caller = new AbortController();
  const call = post(caller.signal);
  await once(server, 'request');
  caller.abort();
  await expect(call).rejects.toThrow('aborted');
});

/** Exchanges on a kept connection, and how many connections the server has seen. */
const keeping = () => {
  const clock = createManualClock();
  const kept = createKeptConnection(clock);
  let connections = 0;
  server.on('connection', () => (connections += 1));
  const ask = (ca?: string, body?: string): Promise<Answer> => post(undefined, kept, ca, body);
  return { ask, clock, kept, connections: () => connections };
};
const answer = (): void =>
  void server.on('request', (_request, response) => response.end('an answer'));

it('has a connection of its own each time, unless one is kept', async () => {
  answer();
  let connections = 0;
  server.on('connection', () => (connections += 1));
  await post();
  await post();
  expect(connections).toBe(2);
  const { ask, kept, ...since } = keeping();
  await ask();
  await ask();
  expect(since.connections()).toBe(1);
  kept.drop();
});

it('is sent again on a new connection where the server has closed the kept one, and only then', async () => {
  const { ask, kept, connections } = keeping();
  server.once('request', (_request, response) => {
    response.end('an answer');
    server.once('request', (request) => {
      request.socket.destroy();
      server.once('request', (_again, other) => other.end('another'));
    });
  });
  expect(String((await ask()).body)).toBe('an answer');
  expect(String((await ask()).body)).toBe('another');
  expect(connections()).toBe(2);
  kept.drop();
  // A new one that is closed is a failure, as without a kept one.
  server.on('request', (request) => request.socket.destroy());
  await expect(ask()).rejects.toThrow('socket hang up');
  expect(connections()).toBe(3);
});

it('does not use a kept connection again on which no answer has come in time', async () => {
  const { ask, kept, connections } = keeping();
  server.once('request', (_request, response) => response.end('an answer'));
  await ask();
  const silent = ask();
  const [request] = await once(server, 'request');
  timers.get(5_000)?.();
  await expect(silent).rejects.toThrow('no answer in time');
  if (!request.socket.destroyed) await once(request.socket, 'close');
  answer();
  await ask();
  expect(connections()).toBe(2);
  kept.drop();
});

it('keeps a connection for some minutes, and no longer when other CAs are trusted', async () => {
  answer();
  const { ask, clock, kept, connections } = keeping();
  await ask('one');
  clock.advance(224_000);
  await ask('one');
  expect(connections()).toBe(1);
  await ask('two');
  expect(connections()).toBe(2);
  clock.advance(376_000);
  await ask('two');
  expect(connections()).toBe(3);
  kept.drop();
});

it('keeps a connection whose request is answered before it is sent', async () => {
  const { ask, kept, connections } = keeping();
  const asked = once(server, 'request');
  server.on('request', (_request, response) => response.end('an answer'));
  const begun = ask(undefined, 'x'.repeat(8_000_000));
  await begun;
  const [request] = await asked;
  request.resume();
  await Promise.race([once(request, 'end'), once(request, 'close')]);
  const { freeSockets } = kept.agentFor({ url, ca: undefined });
  await vi.waitFor(() => expect(Object.keys(freeSockets)).toHaveLength(1));
  await ask();
  expect(connections()).toBe(1);
  kept.drop();
});
