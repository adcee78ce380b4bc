import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MAX_ANSWER_BYTES, REPORT_VERSION, type Report } from '#shared/protocol/report.ts';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { createReportClient, type ReportClient } from './client.ts';

const report: Report = {
  version: REPORT_VERSION,
  bootId: 'boot-0001',
  sequence: 1,
  page: 0,
  pages: 1,
  purpose: 'cnf-1',
  openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
  unwatchedKinds: [],
  clock: { startedAt: 1, sentAt: 2 },
  doubt: '',
  fleet: {},
  rules: [],
};

let server: Server;
let folder: string;
let client: ReportClient;
let clock: ManualClock;
let answer: string;
let status: number;
/** What passes before an answer comes. */
let takes: number;
let connections: number;

beforeEach(async () => {
  [clock, status, takes, connections] = [createManualClock(), 200, 0, 0];
  server = createServer((_request, response) => {
    clock.advance(takes);
    response.writeHead(status).end(answer);
  }).listen(0, '127.0.0.1');
  server.on('connection', () => (connections += 1));
  await once(server, 'listening');
  const address = server.address();
  folder = mkdtempSync(path.join(tmpdir(), 'report-client-'));
  const tokenFile = path.join(folder, 'token');
  writeFileSync(tokenFile, 'token');
  const url = new URL(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
  client = createReportClient({
    target: { url, serverName: undefined, others: () => 0 },
    tokenFile,
    namespace: 'edge',
    pod: 'cnf-1-a',
    clock,
  });
});
afterEach(() => {
  client.close();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

const post = () => client.post(report, new AbortController().signal);
const answerOf = (bytes: number): string =>
  JSON.stringify({ epoch: 'e', version: REPORT_VERSION }).padEnd(bytes);

it('takes an answer of 128 KiB at most', async () => {
  answer = answerOf(MAX_ANSWER_BYTES);
  await expect(post()).resolves.toMatchObject({ epoch: 'e' });
  answer = answerOf(MAX_ANSWER_BYTES + 1);
  await expect(post()).rejects.toThrow(String(MAX_ANSWER_BYTES));
});

it('names an answer of another version of the protocol', async () => {
  answer = JSON.stringify({ epoch: 'e', version: REPORT_VERSION + 1 });
  await expect(post()).rejects.toThrow('the coordinator speaks version 2 of the protocol');
});

it.each([true, false])(
  'asks whether the API server is away, without a token: %s',
  async (wasAway) => {
    answer = JSON.stringify({ wasAway });
    const asked = once(server, 'request');
    await expect(client.wasApiServerAway(new AbortController().signal)).resolves.toBe(wasAway);
    const [request] = await asked;
    expect(request).toMatchObject({ method: 'GET', url: '/v1/api-server' });
    expect(request.headers).not.toHaveProperty('authorization');
  },
);

it('does not take an answer of another form for an API server that is away', async () => {
  answer = JSON.stringify({ epoch: 'e' });
  await expect(client.wasApiServerAway(new AbortController().signal)).rejects.toThrow('wasAway');
});

it('reports on one connection until it is closed, and asks about the API server on others', async () => {
  answer = answerOf(0);
  await post();
  await post();
  expect(connections).toBe(1);
  answer = JSON.stringify({ wasAway: true });
  await client.wasApiServerAway(new AbortController().signal);
  expect(connections).toBe(2);
  client.close();
  answer = answerOf(0);
  await post();
  expect(connections).toBe(3);
});

it.each([
  ['a refusal', 503, 0, 2],
  ['a slow answer', 200, 2_001, 2],
  ['an answer in two seconds', 200, 2_000, 1],
])(
  'gives the next report a connection of its own after %s, if need be',
  async (_what, code, ms, count) => {
    answer = answerOf(0);
    [status, takes] = [code, ms];
    await post().catch(() => undefined);
    [status, takes] = [200, 0];
    await post();
    expect(connections).toBe(count);
  },
);
