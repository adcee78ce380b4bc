/**
 * What a heartbeat costs the coordinator, and a connection that an agent keeps: `node --expose-gc
 * test/bench/reports.ts [--pods 300] [--rounds 20]`. The intake as it is served, over TLS, without
 * an API server and without what follows from news, in this process; the clients of agents in
 * another.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { REPORT_AUDIENCE } from '#shared/names.ts';
import type { Report } from '#shared/protocol/report.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { serveApp } from '#shared/http/server.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createReportClient, type ReportClient } from '../../agent/report/client.ts';
import { createCa, issueServing } from '../../coordinator/controllers/certificates/x509.ts';
import { Allowance } from '../../coordinator/reports/memory-allowance.ts';
import { createIntake } from '../../coordinator/reports/intake.ts';
import { Reports } from '../../coordinator/reports/reports.ts';
import { claimedBy } from '../../coordinator/reports/token-claims.ts';
import { createTokenReviewer } from '../../coordinator/reports/token-reviewer.ts';
import { sentReport, cnfPod } from '../../coordinator/testing/facts.ts';

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '300' },
    rounds: { type: 'string', default: '20' },
    client: { type: 'string' },
  },
});
/** Where the coordinator of this benchmark is, for the process of the clients. */
const URL_VARIABLE = 'SDEWAN_BENCH_URL';
const PODS = Number(values.pods);
const ROUNDS = Number(values.rounds);
const AT_ONCE = 4;
/** As often as agents of a CNFDeployment at rest report. */
const APART_MS = 1_750;
/** Rounds before what is measured. */
const WARM = 5;
const pods = Array.from({ length: PODS }, (_, index) => cnfPod(`cnf-1-${index}`));

/** As long as one of a service account. */
const tokenOf = ({ namespace, name, uid }: (typeof pods)[number]): string => {
  const claims = {
    aud: [REPORT_AUDIENCE],
    exp: Date.now() / 1_000 + 3_600,
    'kubernetes.io': { namespace, pod: { name, uid } },
  };
  return `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${'s'.repeat(600)}`;
};

/** All pods report, some at a time; then the other process looks at what it has used. */
const runClient = async (folder: string): Promise<void> => {
  const url = new URL(process.env[URL_VARIABLE] ?? '');
  const clients = await Promise.all(
    pods.map(async (pod) => {
      const tokenFile = path.join(folder, pod.uid);
      await writeFile(tokenFile, tokenOf(pod));
      return createReportClient({
        target: { url, serverName: 'coordinator', others: () => 1 },
        caFile: path.join(folder, 'ca.crt'),
        tokenFile,
        namespace: pod.namespace,
        pod: pod.name,
        clock: systemClock,
      });
    }),
  );
  const { signal } = new AbortController();
  let sequence = 0;
  const next = (): Report =>
    sentReport({
      sequence,
      clock: { startedAt: 1, sentAt: Date.now() },
      fleet: { distance: 1 },
      ...(sequence > 1 && { repeats: 1 }),
    });
  const together = async (): Promise<void> => {
    const queue = clients.values();
    const work = async (): Promise<void> => {
      for (const client of queue) await client.post(next(), signal);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  };
  const apart = async (): Promise<void> => {
    const post = async (client: ReportClient, index: number): Promise<void> => {
      await sleep((index * APART_MS) / clients.length);
      await client.post(next(), signal);
    };
    await Promise.all(clients.map(post));
  };
  process.on('message', (how) => {
    sequence += 1;
    void (how === 'apart' ? apart() : together()).then(() => process.send?.('done'));
  });
  process.send?.('ready');
};
const serve = async (): Promise<void> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'sdewan-bench-'));
  const validity = { issuedAt: Date.now(), lifetimeMs: 3_600_000 };
  const ca = await createCa('bench', validity);
  const pair = await issueServing(ca, ['coordinator'], validity);
  await writeFile(path.join(folder, 'ca.crt'), ca.cert);
  const byName = new Map(pods.map((pod) => [pod.name, pod]));
  const client: Pick<KubeClient, 'create'> = {
    create: async (resource, body) => {
      const { spec } = z.object({ spec: z.object({ token: z.string() }) }).parse(body);
      const { namespace, pod, podUid } = claimedBy(spec.token);
      const extra = {
        'authentication.kubernetes.io/pod-name': [pod],
        'authentication.kubernetes.io/pod-uid': [podUid],
      };
      const user = { username: `system:serviceaccount:${namespace}:default`, extra };
      const status = { authenticated: true, audiences: [REPORT_AUDIENCE], user };
      return resource.schema.parse({ status });
    },
  };
  const unlimited = { take: () => true };
  const intake = createIntake({
    reviewer: createTokenReviewer({ client, clock: systemClock, rate: unlimited }),
    pods: {
      byName: (_namespace, name) => byName.get(name),
      lookAt: () => Promise.reject(new Error('all pods are known')),
    },
    looks: unlimited,
    rate: unlimited,
    allowance: new Allowance(() => undefined),
    reports: new Reports({ silentAfterMs: 60_000 }),
    epoch: 'epoch-1',
    term: () => 1,
    orderFor: () => ({ distance: 1, nextReportMs: 2_000, peers: [], own: [] }),
    wasApiServerAway: () => false,
    isReady: () => true,
    onReport: () => undefined,
    onPushedOut: () => undefined,
    onInformation: () => undefined,
    onCounters: () => undefined,
    onCommentsLost: () => undefined,
    onStateFolder: () => undefined,
    onUnreadOthers: () => undefined,
    onTimes: undefined,
    onResult: () => undefined,
    clock: systemClock,
    log: silentLogger,
  });
  const server = await serveApp({
    fetch: (request, connection) => intake.fetch(request, connection),
    hostname: '127.0.0.1',
    port: 0,
    tls: { serving: () => pair, onServing: () => undefined },
    log: silentLogger,
  });
  const child = fork(import.meta.filename, ['--client', folder, '--pods', values.pods], {
    env: { ...process.env, [URL_VARIABLE]: `https://127.0.0.1:${server.port}` },
    execArgv: [],
  });
  await once(child, 'message');
  globalThis.gc?.();
  const empty = process.memoryUsage().rss;
  const report = async (how: 'apart' | 'together', rounds: number): Promise<string> => {
    const before = process.cpuUsage();
    for (let round = 0; round < rounds; round += 1) {
      child.send(how);
      await once(child, 'message');
    }
    const { user, system } = process.cpuUsage(before);
    return ((user + system) / (rounds * PODS)).toFixed(0);
  };
  await report('together', WARM);
  const together = await report('together', ROUNDS);
  globalThis.gc?.();
  const each = (process.memoryUsage().rss - empty) / 1_024 / PODS;
  const apart = await report('apart', ROUNDS);
  console.log(
    `a heartbeat: ${together} us of CPU together with others, ${apart} us alone (${PODS * ROUNDS} each); a pod: ${each.toFixed(0)} KiB, with what is kept of it; load ${loadavg()[0]?.toFixed(1)}`,
  );
  child.kill();
  await server.close();
  await rm(folder, { recursive: true });
};

await (values.client === undefined ? serve() : runClient(values.client));
