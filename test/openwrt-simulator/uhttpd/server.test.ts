import { request } from 'node:https';
import { Agent } from 'node:http';
import * as http from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../simulator.ts';
import { makeCertificate } from './certificate.ts';

let simulator: Simulator;
afterEach(() => simulator.stop());

type Answer = { status: number | undefined; headers: http.IncomingHttpHeaders; body: string };
const ask = (
  send: (onResponse: (response: http.IncomingMessage) => void) => http.ClientRequest,
  body = '',
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const outgoing = send((response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, body: text }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'list', params: ['system'] });

test('serves HTTPS beside HTTP, or alone', async () => {
  const https = await makeCertificate('localhost');
  simulator = await startSimulator({ https, httpPort: null });
  expect(simulator.url).toMatch(/^https:/);
  const options = { method: 'POST', ca: https.certificate, servername: 'localhost' };
  const answer = await ask((done) => request(`${simulator.httpsUrl}/ubus`, options, done), LIST);
  expect(JSON.parse(answer.body)).toMatchObject({ result: { system: {} } });
});

test('answers in chunks, without a length', async () => {
  simulator = await startSimulator();
  const answer = await ask(
    (done) => http.request(`${simulator.url}/ubus`, { method: 'POST' }, done),
    LIST,
  );
  expect(answer.headers['transfer-encoding']).toBe('chunked');
  expect(answer.headers['content-length']).toBeUndefined();
});

test('is slow on a connection that was kept alive, when asked to', async () => {
  simulator = await startSimulator({ keepAliveDelayMs: 40 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const timed = async (): Promise<number> => {
    const start = performance.now();
    await ask(
      (done) => http.request(`${simulator.url}/ubus`, { method: 'POST', agent }, done),
      LIST,
    );
    return performance.now() - start;
  };
  await timed();
  expect(await timed()).toBeGreaterThanOrEqual(39);
  agent.destroy();
});

test('closes the connection on a body of more than 64 KiB', async () => {
  simulator = await startSimulator();
  const agent = new Agent({ keepAlive: true });
  const send = (bytes: number): Promise<Answer> =>
    ask(
      (done) => http.request(`${simulator.url}/ubus`, { method: 'POST', agent }, done),
      ' '.repeat(bytes),
    );
  expect((await send(65_536)).headers.connection).not.toBe('close');
  const { headers, status, body } = await send(65_537);
  expect([status, headers.connection]).toEqual([200, 'close']);
  expect(JSON.parse(body)).toEqual({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32700, message: 'Parse error' },
  });
  agent.destroy();
});
