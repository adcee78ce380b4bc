/**
 * `npm run suite soak`: half an hour of constant change, in which memory and open files of agents
 * and coordinators stay as they are, and what always holds does. `SDEWAN_SOAK_MINUTES` makes it
 * shorter. Processes have the flags of their images.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { filesOf, residentKilobytesOf } from '../attacks/memory.ts';
import { randomOfRun } from '../run/random.ts';
import { slopeOf, type Sample } from './slope.ts';
import { recordSoak, type Followed } from './soak-results.ts';
import { startFixture, type Program, type Target, type Fixture } from './fixture.ts';

const MINUTE_MS = 60_000;
const MINUTES = Number(process.env['SDEWAN_SOAK_MINUTES'] ?? 30);
/** Until what is allocated once has been. */
const SETTLES_MS = Math.min(5, MINUTES / 2) * MINUTE_MS;
const SAMPLE_EVERY_MS = 5_000;
const MOST_KILOBYTES = 1_024;
/** Connections come and go; a file that is left open at each change would be thousands. */
const MOST_FILES = 3;

const running = z.object({ pid: z.number() });

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture(randomOfRun(), { flags: 'image' });
}, 180_000);
afterAll(() => fixture.stop());

const pidOf = ({ namespace, pod, container }: Target): number => {
  const folder = fixture.cluster.podDirectory(namespace, pod);
  const file = join(folder, 'containers', container, 'running.json');
  return running.parse(JSON.parse(readFileSync(file, 'utf8'))).pid;
};

const followed = async (program: Program): Promise<Followed[]> =>
  (await fixture.targets(program)).map((target, index) => ({
    label: `${program} ${index + 1}`,
    pid: pidOf(target),
    memory: [],
    files: [],
  }));

const perTenMinutes = (samples: readonly Sample[]): number =>
  slopeOf(samples.filter(({ at }) => at >= SETTLES_MS)) * 10 * MINUTE_MS;

it(
  `${MINUTES} minutes of constant change leave memory and open files as they are`,
  { timeout: (MINUTES + 5) * MINUTE_MS },
  async () => {
    const all = [...(await followed('agent')), ...(await followed('coordinator'))];
    const violations: string[] = [];
    fixture.traffic.start();
    const startedAt = performance.now();
    for (let at = 0; at < MINUTES * MINUTE_MS; at = performance.now() - startedAt) {
      for (const { pid, memory, files } of all) {
        memory.push({ at, value: residentKilobytesOf(pid) });
        files.push({ at, value: filesOf(pid) });
      }
      violations.push(...fixture.checks.violations());
      await sleep(SAMPLE_EVERY_MS);
    }
    await fixture.traffic.stop();
    const wrong = await fixture.checks.untilAgreed(30_000);
    const grows = all.map(({ label, memory, files }) => ({
      label,
      kilobytes: Math.round(perTenMinutes(memory)),
      files: Number(perTenMinutes(files).toFixed(1)),
    }));
    recordSoak(all, grows, { minutes: MINUTES, changes: fixture.traffic.accepted() });
    for (const { label, kilobytes, files } of grows)
      console.log(`${label}: ${kilobytes} kB and ${files} files in ten minutes`);
    expect([...violations, ...wrong]).toEqual([]);
    const tooMuch = grows.filter(
      ({ kilobytes, files }) => kilobytes > MOST_KILOBYTES || files > MOST_FILES,
    );
    expect(tooMuch).toEqual([]);
  },
);
