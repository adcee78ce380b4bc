import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Report } from '#shared/protocol/report.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { createReportClient, type ReportClient } from './client.ts';

const MOST = 65_536;
const report: Report = {
  version: 2,
  bootId: 'boot-0001',
  sequence: 1,
  page: 0,
  pages: 1,
  purpose: 'cnf-1',
  openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
  unwatchedKinds: [],
  rules: [],
};

let server: Server;
let folder: string;
let client: ReportClient;
let answer: string;

beforeEach(async () => {
  server = createServer((_request, response) => response.end(answer)).listen(0, '127.0.0.1');
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
    clock: systemClock,
  });
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

const post = () => client.post(report, new AbortController().signal);
const answerOf = (bytes: number): string => JSON.stringify({ epoch: 'e' }).padEnd(bytes);

it('an answer has 64 KiB at most', async () => {
  answer = answerOf(MOST);
  await expect(post()).resolves.toMatchObject({ epoch: 'e' });
  answer = answerOf(MOST + 1);
  await expect(post()).rejects.toThrow('65536');
});
