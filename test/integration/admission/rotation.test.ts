/**
 * A CA from its announcement to the end of the old one, under load: agents with the real report
 * client, which trust what the kubelet would have put into their files by then, and admission
 * requests that fail closed. The coordinator's clock begins weeks ago and is moved on, so that
 * every certificate is valid all the while, however slow the machine is.
 */
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import * as z from 'zod';
import { objectSchema } from '#shared/kube/objects.ts';
import { REPORT_VERSION } from '#shared/protocol/report.ts';
import { systemClock, type Clock } from '#shared/runtime/clock.ts';
import { createReportClient } from '../../../agent/report/client.ts';
import { splitBundle } from '../../../coordinator/controllers/certificates/x509.ts';
import { crOf, sampleOf } from './samples.ts';
import { createFixture, type Fixture } from './fixture.ts';
import { eventually } from '../support/eventually.ts';

const DAY_MS = 24 * 3_600_000;
/**
 * By how many days the coordinator's clock is behind when each step is due: two thirds of a CA's
 * life, and twice its overlap of a day.
 */
const BEGIN = 45;
const STEPS = { 'announce-ca': 4, 'switch-ca': 2.5, 'drop-old-ca': 1 };
const LIVES = {
  SDEWAN_CA_LIFETIME_MS: String(60 * DAY_MS),
  SDEWAN_CERTIFICATE_LIFETIME_MS: String(60 * DAY_MS),
  SDEWAN_CERTIFICATE_POLL_MS: '300',
};
/** An agent looks at its CA file every 10 s. This one does so at each report. */
const hasty: Clock = { ...systemClock, monotonic: () => 1_000 * systemClock.monotonic() };
/** What each agent and each writer does between two steps. */
const ROUNDS = 10;
const AGENTS = 3;
const REPORT_INTERVAL_MS = 100;
const KUBELET_INTERVAL_MS = 200;

const configMaps = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  schema: objectSchema.extend({ data: z.record(z.string(), z.string()) }),
};

let fixture: Fixture;
let namespace: string;
let folder: string;
const clockFile = (): string => join(folder, 'clock');
const setClock = (daysAgo: number): Promise<void> =>
  writeFile(clockFile(), String(-daysAgo * DAY_MS));
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rotation-'));
  await setClock(BEGIN);
  const surroundings = join(import.meta.dirname, '../../faults/surroundings.mjs');
  fixture = await createFixture({
    ...LIVES,
    NODE_OPTIONS: `--import=${surroundings}`,
    SDEWAN_TEST_CLOCK: clockFile(),
  });
  namespace = await fixture.createNamespace();
});
afterAll(async () => {
  await fixture.close();
  await rm(folder, { recursive: true });
});

const publishedCa = async (): Promise<string> => {
  const key = { namespace, name: 'sdewan-coordinator-ca' };
  const { data } = await fixture.client.get(configMaps, key);
  return data['ca.crt'] ?? '';
};

/**
 * As a kubelet: the file follows the ConfigMap, replaced whole. Counts the CAs that were ever in
 * it.
 */
const followCa = async (file: string, seen: Set<string>, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const bundle = await publishedCa();
    for (const ca of splitBundle(bundle)) seen.add(ca);
    await writeFile(`${file}.new`, bundle);
    await rename(`${file}.new`, file);
    await sleep(KUBELET_INTERVAL_MS);
  }
};

const podOf = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { sdewanPurpose: 'cnf-1' } },
  spec: { schedulerName: 'none', containers: [{ name: 'openwrt', image: 'none' }] },
});

const podResource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', schema: objectSchema };

/** As a kubelet reports it. */
const startAgent = (name: string): Promise<unknown> => {
  const container = { name: 'sdewan-agent', image: 'none', imageID: '', ready: true };
  const running = { ...container, restartCount: 0, state: { running: { startedAt: null } } };
  const body = { status: { phase: 'Running', initContainerStatuses: [running] } };
  const patch = { type: 'merge', body } as const;
  return fixture.client.patch(podResource, { namespace, name }, { patch, subresource: 'status' });
};

const tokenFileOf = async (pod: string): Promise<string> => {
  const path = join(folder, `token-of-${pod}`);
  const bound = ['--bound-object-kind', 'Pod', '--bound-object-name', pod];
  const audience = ['--audience', 'sdewan-coordinator'];
  const { stdout } = await fixture.kubectl(
    'create',
    'token',
    'default',
    '-n',
    namespace,
    ...audience,
    ...bound,
  );
  await writeFile(path, stdout);
  return path;
};

type Tally = { done: number; failures: string[] };

const repeat = async (
  tally: Tally,
  once: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    try {
      await once();
      tally.done += 1;
    } catch (error) {
      tally.failures.push(String(error));
    }
    await sleep(REPORT_INTERVAL_MS);
  }
};

it('loses no report and denies no request while a CA takes the place of another', async () => {
  const pods = Array.from({ length: AGENTS }, (_, index) => `cnf-${index}`);
  expect(await fixture.apply(pods.map(podOf))).toMatchObject({ code: 0 });
  await Promise.all(pods.map(startAgent));
  await eventually(() => publishedCa().catch(() => '')).not.toBe('');
  const caFile = join(folder, 'ca.crt');
  await writeFile(caFile, await publishedCa());
  const tokenFiles = await Promise.all(pods.map(tokenFileOf));

  const stop = new AbortController();
  const { signal } = stop;
  const cas = new Set<string>();
  const newTally = (): Tally => ({ done: 0, failures: [] });
  const reports = pods.map(newTally);
  const reviews = [newTally(), newTally()];
  const all = [...reports, ...reviews];
  const agents = pods.map((pod, index) => {
    const tokenFile = tokenFiles[index] ?? '';
    const client = createReportClient({
      target: { url: new URL(fixture.url), serverName: undefined, others: () => 0 },
      caFile,
      tokenFile,
      namespace,
      pod,
      clock: hasty,
    });
    const bootId = randomUUID();
    let sequence = 0;
    return () =>
      client.post(
        {
          version: REPORT_VERSION,
          clock: { startedAt: 1, sentAt: Date.now() },
          doubt: '',
          fleet: {},
          bootId,
          sequence: (sequence += 1),
          page: 0,
          pages: 1,
          purpose: 'cnf-1',
          openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
          unwatchedKinds: [],
          rules: [],
        },
        AbortSignal.timeout(10_000),
      );
  });
  const labels = { sdewanPurpose: 'cnf-1', 'sdewan-bucket-type': 'basic' };
  const zone = crOf(firewallZone, { namespace, name: 'lan', labels }, sampleOf(firewallZone));
  const review = (): Promise<unknown> =>
    fixture.client.create(firewallZone, zone, { dryRun: true });

  const running = Promise.all([
    followCa(caFile, cas, signal),
    ...agents.map((once, index) => repeat(reports[index] ?? newTally(), once, signal)),
    ...reviews.map((tally) => repeat(tally, review, signal)),
  ]);
  const rounds = async (): Promise<void> => {
    const before = all.map(({ done }) => done);
    await eventually(() =>
      Math.min(...all.map(({ done }, at) => done - (before[at] ?? 0))),
    ).toBeGreaterThanOrEqual(ROUNDS);
  };
  const taken = () => fixture.log.flatMap(({ step }) => (typeof step === 'string' ? [step] : []));
  const [first = ''] = splitBundle(await publishedCa());
  try {
    await rounds();
    for (const [step, daysAgo] of Object.entries(STEPS)) {
      await setClock(daysAgo);
      await eventually(taken).toContain(step);
      // What is announced and dropped comes to the agents' files by the coordinator and the
      // kubelet.
      const trusts = { 'announce-ca': 2, 'drop-old-ca': 1 }[step];
      if (trusts !== undefined)
        await eventually(async () => splitBundle(await readFile(caFile, 'utf8'))).toHaveLength(
          trusts,
        );
      await rounds();
    }
  } finally {
    stop.abort();
    await running;
  }
  expect(await readFile(caFile, 'utf8')).not.toContain(first);
  expect(all.flatMap(({ failures }) => failures)).toEqual([]);
  expect(cas.size).toBe(2);
  expect(taken()).toEqual(expect.arrayContaining(['bootstrap', ...Object.keys(STEPS)]));
});
