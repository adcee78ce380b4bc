import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ALIVE_INTERVAL_MS, readinessProbe } from '#shared/inject/state-directory.ts';
import { createLogger } from '#shared/runtime/log.ts';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { createProbeFiles, type ProbeFiles } from './probe-files.ts';

const NOTHING: ReadonlyMap<string, string> = new Map();
const A_PART = new Map([['openwrt', 'connection refused']]);
const LONG_AGO = 0;

let directory: string;
let clock: ManualClock;
let stopping: AbortController;
const running: Promise<void>[] = [];
const pathOf = (file: string): string => join(directory, file);
const isThere = (file: string): boolean => existsSync(pathOf(file));
const touchedAt = (): number => statSync(pathOf('alive')).mtimeMs;

beforeEach(() => {
  logged = [];
  directory = mkdtempSync(join(tmpdir(), 'probe-files-'));
  clock = createManualClock();
  stopping = new AbortController();
});
afterEach(async () => {
  stopping.abort();
  // What is being written at the end would find its folder gone.
  await Promise.allSettled(running.splice(0));
  rmSync(directory, { recursive: true, force: true });
});

/** What failed, or the message where nothing has. */
let logged: string[];
const lineSchema = z.object({ msg: z.string(), err: z.object({ message: z.string() }).optional() });
const log = createLogger({
  name: 'agent',
  level: 'info',
  destination: {
    write: (line) => {
      const { msg, err } = lineSchema.parse(JSON.parse(line));
      if (msg !== 'readiness changed') logged.push(err?.message ?? msg);
    },
  },
});
const create = (): Promise<ProbeFiles> => createProbeFiles({ directory, clock, log });
const run = async (): Promise<{ files: ProbeFiles; ended: Promise<void> }> => {
  const files = await create();
  const ended = files.run(stopping.signal);
  running.push(ended);
  await clock.untilSleeping();
  return { files, ended };
};

describe('the file of the liveness probe', () => {
  it('is touched after each interval, and not in between', async () => {
    await run();
    for (let round = 1; round <= 3; round += 1) {
      utimesSync(pathOf('alive'), LONG_AGO, LONG_AGO);
      clock.advance(ALIVE_INTERVAL_MS - 1);
      expect(touchedAt()).toBe(LONG_AGO);
      clock.advance(1);
      await clock.untilSleeping();
      expect(touchedAt()).toBeGreaterThan(LONG_AGO);
    }
  });

  it('comes back when it was removed', async () => {
    await run();
    rmSync(pathOf('alive'));
    await clock.step();
    await clock.untilSleeping();
    expect(isThere('alive')).toBe(true);
  });

  it('does not exist before the agent runs, nor after it', async () => {
    writeFileSync(pathOf('alive'), 'of an earlier run');
    const files = await create();
    expect(isThere('alive')).toBe(false);
    const ended = files.run(stopping.signal);
    await clock.untilSleeping();
    stopping.abort();
    await ended;
    expect(isThere('alive')).toBe(false);
  });

  const CAUSE = () =>
    `the agent cannot write alive in its state folder ${directory}: ENOENT: no such file or directory`;

  it('ends nothing when it cannot be written: the log names folder and cause, once', async () => {
    const { ended } = await run();
    rmSync(directory, { recursive: true });
    for (let round = 1; round <= 3; round += 1) {
      await clock.step();
      await clock.untilSleeping();
    }
    expect(logged).toEqual([expect.stringContaining(CAUSE())]);
    mkdirSync(directory);
    await clock.step();
    await clock.untilSleeping();
    expect(isThere('alive')).toBe(true);
    expect(logged[1]).toBe('the state folder can be written again');
    stopping.abort();
    await ended;
  });

  it('is what the agent speaks of at last, when the kubelet ends it since that cannot be written', async () => {
    const { ended } = await run();
    rmSync(directory, { recursive: true });
    await clock.step();
    await clock.untilSleeping();
    stopping.abort();
    await expect(ended).rejects.toThrow(CAUSE());
  });

  it('keeps no agent from starting when an earlier run has left it and it cannot be removed', async () => {
    mkdirSync(pathOf('alive'));
    await create();
    expect(logged).toEqual([expect.stringContaining('cannot write alive in its state folder')]);
  });
});

describe('the file of the readiness probe', () => {
  it('exists when no part is missing, and only then', async () => {
    const { files } = await run();
    expect(isThere('ready')).toBe(false);
    for (const missing of [A_PART, NOTHING, A_PART, NOTHING, NOTHING]) {
      await files.setMissing(missing);
      expect(isThere('ready')).toBe(missing === NOTHING);
    }
  });

  it('does not exist before the agent writes it, whatever an earlier run has left', async () => {
    writeFileSync(pathOf('ready'), 'of an earlier run');
    const files = await create();
    expect(isThere('ready')).toBe(false);
    await files.setMissing(A_PART);
    expect(isThere('ready')).toBe(false);
  });

  it.each([
    ['comes back', NOTHING],
    ['stays away', A_PART],
  ])(
    '%s, as was said last, when a second agent in the pod has removed it',
    async (what, missing) => {
      const { files } = await run();
      await files.setMissing(NOTHING);
      await files.setMissing(missing);
      rmSync(pathOf('ready'), { force: true });
      await clock.step();
      await clock.untilSleeping();
      expect(isThere('ready')).toBe(what === 'comes back');
    },
  );

  it.each([
    ['ready', [A_PART, NOTHING], true],
    ['not ready', [NOTHING, A_PART], false],
    ['ready after all', [NOTHING, A_PART, NOTHING], true],
  ])('says %s when that was said last, however fast', async (_what, said, expected) => {
    const { files } = await run();
    await Promise.all(said.map((missing) => files.setMissing(missing)));
    expect(isThere('ready')).toBe(expected);
  });

  it('is written again after a disk that failed', async () => {
    const { files } = await run();
    mkdirSync(pathOf('ready'));
    writeFileSync(pathOf('ready/in-the-way'), '');
    await files.setMissing(NOTHING);
    await files.setMissing(A_PART);
    rmSync(pathOf('ready'), { recursive: true });
    await files.setMissing(NOTHING);
    expect(isThere('ready')).toBe(true);
  });

  it('is removed when the agent has ended, even if its last pass reports ready afterwards', async () => {
    const { files, ended } = await run();
    const said = Array.from({ length: 21 }, (_, at) => (at % 2 === 0 ? NOTHING : A_PART));
    const last = Promise.all(said.map((missing) => files.setMissing(missing)));
    stopping.abort();
    const first = await Promise.race([last.then(() => 'written'), ended.then(() => 'ended')]);
    expect(first).toBe('written');
    await ended;
    expect(isThere('ready')).toBe(false);
    await files.setMissing(A_PART);
    await files.setMissing(NOTHING);
    expect(isThere('ready')).toBe(false);
  });

  it('stands beside one that says what is missing, since when, which a failed probe prints', async () => {
    const { files } = await run();
    const [, , script = ''] = readinessProbe.exec.command;
    const probe = () =>
      spawnSync('sh', ['-c', script], {
        env: { ...process.env, SDEWAN_STATE_DIR: directory },
        encoding: 'utf8',
      });
    expect(probe()).toMatchObject({ status: 1, stdout: 'the agent is starting\n' });
    const begun = new Date(clock.now()).toISOString().slice(11, 19);
    await files.setMissing(A_PART);
    clock.advance(90_000);
    await files.setMissing(A_PART);
    const words = `OpenWRT does not answer since ${begun} UTC: connection refused\n`;
    expect(probe()).toMatchObject({ status: 1, stdout: words });
    await files.setMissing(new Map([...A_PART, ['first pass', 'no session']]));
    expect(probe().stdout.split('\n')).toEqual([
      words.trim(),
      expect.stringMatching(/^the first pass is not complete since .* UTC: no session$/),
      '',
    ]);
    await files.setMissing(NOTHING);
    expect(probe()).toMatchObject({ status: 0, stdout: '' });
  });
});
