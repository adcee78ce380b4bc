import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { openRestart, type Restart } from './restart.ts';

const TEN_MINUTES_MS = 600_000;
let folder: string;
let now: number;
let isPaused: boolean;
let said: unknown[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'restart-'));
  [now, isPaused, said] = [1_000_000, false, []];
});
afterEach(() => rm(folder, { recursive: true }));

const open = (): Promise<Restart> =>
  openRestart({
    file: join(folder, 'restart.json'),
    paused: () => isPaused,
    onOrder: () => said.push('order'),
    onServed: (served) => said.push(served),
    clock: { now: () => now },
    log: silentLogger,
  });
const order = (id: string) => ({ id, service: 'firewall' as const });
const serve = (restart: Restart, id: string): void => {
  restart.take(order(id));
  restart.served(order(id), true);
};
const isKept = async (id: string): Promise<void> => {
  const kept = () => readFile(join(folder, 'restart.json'), 'utf8').catch(() => '');
  await expect.poll(kept).toContain(`"id":"${id}"`);
};

it('is due until a pass has served it, and is told once served', async () => {
  const restart = await open();
  restart.take(undefined);
  expect([restart.due(), restart.word()]).toEqual([undefined, {}]);
  restart.take(order('a'));
  restart.take(order('a'));
  restart.take(order('b'));
  expect([restart.due(), restart.word()]).toEqual([order('a'), {}]);
  restart.served(order('a'), false);
  expect(restart.due()).toBeUndefined();
  expect(restart.word()).toEqual({ restarted: { id: 'a', done: false } });
  expect(said).toEqual(['order', { ...order('a'), done: false }]);
  await isKept('a');
});

it('is not served twice, nor another one within ten minutes, also by an agent that starts anew', async () => {
  serve(await open(), 'a');
  await isKept('a');
  const next = await open();
  expect(next.word()).toEqual({ restarted: { id: 'a', done: true } });
  now += TEN_MINUTES_MS - 1;
  next.take(order('b'));
  expect(next.due()).toBeUndefined();
  now += 1;
  next.take(order('a'));
  expect(next.due()).toBeUndefined();
  next.take(order('b'));
  expect(next.due()).toEqual(order('b'));
});

it('does not wait for as long as a clock was set back', async () => {
  const restart = await open();
  serve(restart, 'a');
  await isKept('a');
  now -= 86_400_000;
  restart.take(order('b'));
  expect(restart.due()).toEqual(order('b'));
});

it('is not due while the agent is paused', async () => {
  const restart = await open();
  isPaused = true;
  restart.take(order('a'));
  expect(restart.due()).toBeUndefined();
});
