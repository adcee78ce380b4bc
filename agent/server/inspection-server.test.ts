import { request } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import type { Inspection, Resynced } from '#shared/protocol/inspection.ts';
import { inspectionWith } from '#shared/protocol/testing.ts';
import type { RunningHttp } from './serve.ts';
import { serveInspection } from './inspection-server.ts';

let http: RunningHttp;
let clock: ManualClock;
let inspect: () => Promise<Inspection>;
let kernel: { text: string } | { unread: string };

const INSPECTION = inspectionWith();
const RESYNCED: Resynced = { outcome: 'passed', message: '', paused: false };

beforeEach(async () => {
  clock = createManualClock();
  inspect = async () => INSPECTION;
  kernel = { text: 'table inet fw4' };
  http = await serveInspection({
    url: 'http://127.0.0.1:0',
    inspect: () => inspect(),
    kernel: () => kernel,
    metrics: {
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
      metrics: async () => 'sdewan_agent_up 1',
    },
    resync: async () => RESYNCED,
    clock,
  });
});
afterEach(() => http.close());

const ask = async (path: string, method = 'GET') => {
  const response = await fetch(`http://127.0.0.1:${http.port}${path}`, { method });
  return { status: response.status, text: await response.text() };
};

it('answers what it is asked', async () => {
  expect(JSON.parse((await ask('/inspect')).text)).toEqual(INSPECTION);
  expect((await ask('/kernel')).text).toBe('table inet fw4');
  expect((await ask('/metrics')).text).toBe('sdewan_agent_up 1');
  expect(JSON.parse((await ask('/resync', 'POST')).text)).toEqual(RESYNCED);
});

it.each([
  ['/inspect', 'POST'],
  ['/resync', 'GET'],
  ['/', 'GET'],
  ['/inspect?x', 'GET'],
])('has no %s by %s', async (path, method) => {
  expect((await ask(path, method)).status).toBe(404);
});

it.each([
  ['by another name that leads to loopback', { host: 'pages.example' }],
  ['by a name that begins like loopback', { host: '127.0.0.1.pages.example:9465' }],
  ['by a form or a script', { origin: 'https://pages.example' }],
])('has nothing for a page of a browser that comes %s', async (_how, headers) => {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const options = { port: http.port, path: '/resync', method: 'POST', headers };
  request(options, (response) => resolve(response.resume().statusCode))
    .on('error', reject)
    .end();
  expect(await promise).toBe(403);
});

it('answers by the names of loopback', async () => {
  for (const host of ['localhost', '127.0.0.1'])
    expect((await fetch(`http://${host}:${http.port}/inspect`)).status).toBe(200);
});

it('makes one answer at a time', async () => {
  const { promise, resolve } = Promise.withResolvers<Inspection>();
  const begun = Promise.withResolvers<void>();
  inspect = () => {
    begun.resolve();
    return promise;
  };
  const first = ask('/inspect');
  await begun.promise;
  expect((await ask('/inspect')).status).toBe(429);
  resolve(INSPECTION);
  expect((await first).status).toBe(200);
});

it('starts few passes, however often it is asked', async () => {
  const statuses = [];
  for (let time = 0; time < 5; time += 1) statuses.push((await ask('/resync', 'POST')).status);
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  clock.advance(10_000);
  expect((await ask('/resync', 'POST')).status).toBe(200);
});

it('says why it cannot answer', async () => {
  inspect = () => Promise.reject(new Error('OpenWRT does not answer'));
  expect(await ask('/inspect')).toEqual({ status: 503, text: 'OpenWRT does not answer\n' });
  kernel = { unread: 'the login may not' };
  expect(await ask('/kernel')).toEqual({ status: 501, text: 'the login may not\n' });
});

it('gives no answer of any size', async () => {
  kernel = { text: 'x'.repeat(17 * 1_048_576) };
  expect((await ask('/kernel')).status).toBe(507);
});
