/**
 * A CA from its announcement to the end of the old one, under load: agents with the real report client, which trust what the
 * kubelet would have put into their files by then, and admission requests that fail closed.
 */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
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
import { splitBundle } from '../../../coordinator/certificates/x509.ts';
import { crOf, sampleOf } from './samples.ts';
import { createWorld, eventually, type World } from './world.ts';

/** As short as a busy machine allows: a certificate is renewed a third of its life before its end, and who cannot run for that long finds it expired. */
const LIVES = {
  SDEWAN_CA_LIFETIME_MS: '45000',
  SDEWAN_CERTIFICATE_LIFETIME_MS: '24000',
  SDEWAN_CA_OVERLAP_MS: '11000',
  SDEWAN_CERTIFICATE_POLL_MS: '300',
};
/** An agent looks at its CA file every 10 s. With lives this short it has to look every second, so its clock runs faster. */
const hasty: Clock = { ...systemClock, monotonic: () => 10 * systemClock.monotonic() };
const AGENTS = 3;
const REPORT_INTERVAL_MS = 100;
const KUBELET_INTERVAL_MS = 200;
const GIVE_UP_MS = 135_000;

const configMaps = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  schema: objectSchema.extend({ data: z.record(z.string(), z.string()) }),
};

let world: World;
let namespace: string;
let folder: string;
beforeAll(async () => {
  world = await createWorld(LIVES);
  namespace = await world.createNamespace();
  folder = await mkdtemp(join(tmpdir(), 'rotation-'));
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});

const publishedCa = async (): Promise<string> => {
  const key = { namespace, name: 'sdewan-coordinator-ca' };
  const { data } = await world.client.get(configMaps, key);
  return data['ca.crt'] ?? '';
};

/** As a kubelet: the file follows the ConfigMap, replaced whole. Counts the CAs that were ever in it. */
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
  spec: { schedulerName: 'nobody', containers: [{ name: 'openwrt', image: 'none' }] },
});

const podResource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', schema: objectSchema };

/** As a kubelet reports it. */
const startAgent = (name: string): Promise<unknown> => {
  const container = { name: 'sdewan-agent', image: 'none', imageID: '', ready: true };
  const running = { ...container, restartCount: 0, state: { running: { startedAt: null } } };
  const body = { status: { phase: 'Running', initContainerStatuses: [running] } };
  const patch = { type: 'merge', body } as const;
  return world.client.patch(podResource, { namespace, name }, { patch, subresource: 'status' });
};

const tokenFileOf = async (pod: string): Promise<string> => {
  const path = join(folder, `token-of-${pod}`);
  const bound = ['--bound-object-kind', 'Pod', '--bound-object-name', pod];
  const audience = ['--audience', 'sdewan-coordinator'];
  const { stdout } = await world.kubectl(
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

it(
  'loses no report and denies no request while a CA takes the place of another',
  { timeout: 225_000 },
  async () => {
    const pods = Array.from({ length: AGENTS }, (_, index) => `cnf-${index}`);
    expect(await world.apply(pods.map(podOf))).toMatchObject({ code: 0 });
    await Promise.all(pods.map(startAgent));
    await eventually(() => publishedCa().catch(() => '')).not.toBe('');
    const caFile = join(folder, 'ca.crt');
    await writeFile(caFile, await publishedCa());
    const tokenFiles = await Promise.all(pods.map(tokenFileOf));

    const stop = new AbortController();
    const { signal } = stop;
    const cas = new Set<string>();
    const reports: Tally = { done: 0, failures: [] };
    const reviews: Tally = { done: 0, failures: [] };
    const agents = pods.map((pod, index) => {
      const tokenFile = tokenFiles[index] ?? '';
      const client = createReportClient({
        target: { url: new URL(world.url), serverName: undefined, others: () => 0 },
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
      world.client.create(firewallZone, zone, { dryRun: true });

    const running = Promise.all([
      followCa(caFile, cas, signal),
      ...agents.map((once) => repeat(reports, once, signal)),
      repeat(reviews, review, signal),
      repeat(reviews, review, signal),
    ]);
    const [first = ''] = splitBundle(await publishedCa());
    try {
      await expect.poll(publishedCa, { timeout: GIVE_UP_MS, interval: 500 }).not.toContain(first);
      // With the old CA out of every file.
      await sleep(1_500);
    } finally {
      stop.abort();
      await running;
    }

    const steps = world.log.map(({ step }) => step).filter((step) => step !== undefined);
    console.log(
      `${reports.done} reports, ${reviews.done} reviews; ${steps.map(String).join(', ')}`,
    );
    expect(steps).toEqual(
      expect.arrayContaining(['bootstrap', 'announce-ca', 'switch-ca', 'drop-old-ca']),
    );
    expect([...reports.failures, ...reviews.failures]).toEqual([]);
    expect(cas.size).toBeGreaterThan(1);
    expect(reports.done).toBeGreaterThan(100);
    expect(reviews.done).toBeGreaterThan(50);
  },
);
