import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { exchange, type Answer } from './exchange.ts';

let server: Server;
let url: URL;
let timers: Map<number, () => void>;

const post = (signal = new AbortController().signal): Promise<Answer> =>
  exchange({
    method: 'POST',
    url,
    headers: {},
    body: 'a question',
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
