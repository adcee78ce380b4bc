import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { openDistance, type Distance } from './distance.ts';

let folder: string;
let said: string[];
let isUsed: boolean;
beforeEach(async () => {
  isUsed = true;
  folder = await mkdtemp(join(tmpdir(), 'distance-'));
  said = [];
});
afterEach(() => rm(folder, { recursive: true }));

const open = (): Promise<Distance> =>
  openDistance({
    file: join(folder, 'distance.json'),
    isUsed: () => isUsed,
    onOrder: () => said.push('order'),
    onInForce: () => said.push('in force'),
    log: silentLogger,
  });
const order = (distance: number, addresses: string[] = []) => ({
  distance,
  nextReportMs: 2_000,
  peers: [{ device: 'net1', addresses }],
});

/** A write that is under way would meet the end of its folder. */
const isKept = async (distance: number): Promise<void> => {
  const file = join(folder, 'distance.json');
  await expect.poll(() => readFile(file, 'utf8')).toContain(`"distance":${distance}`);
};

it('is 3 on a fresh pod until it is told another', async () => {
  const distance = await open();
  expect(distance.place()).toEqual({ distance: 3, peers: new Map() });
  expect(distance.word()).toEqual({});
  distance.passed(distance.place());
  expect(distance.word()).toEqual({ distance: 3 });
});

it('holds at once, is confirmed when a pass has rendered with it, and holds after a restart', async () => {
  const distance = await open();
  distance.take(order(0, ['10.0.0.2']));
  expect(distance.place()).toEqual({ distance: 0, peers: new Map([['net1', ['10.0.0.2']]]) });
  expect(distance.word()).toEqual({});
  distance.passed(distance.place());
  expect([distance.word(), said]).toEqual([{ distance: 0 }, ['order', 'in force']]);
  await expect.poll(() => readFile(join(folder, 'distance.json'), 'utf8')).toContain('10.0.0.2');
  const next = await open();
  expect(next.place()).toEqual(distance.place());
  expect(next.word()).toEqual({});
});

it('changes by another peer, but not by the same order again', async () => {
  const distance = await open();
  distance.take(order(1));
  distance.take(order(1));
  expect(said).toEqual(['order']);
  distance.take(order(1, ['10.0.0.3']));
  expect(said).toEqual(['order', 'order']);
  await expect.poll(() => readFile(join(folder, 'distance.json'), 'utf8')).toContain('10.0.0.3');
});

it('keeps its peers when those of an order could not be read', async () => {
  const distance = await open();
  distance.take(order(0, ['10.0.0.2']));
  distance.take({ distance: 1, nextReportMs: 2_000 });
  expect(distance.place()).toEqual({ distance: 1, peers: new Map([['net1', ['10.0.0.2']]]) });
  await isKept(1);
});

it('has the own addresses of the pod, where the coordinator knows that it does', async () => {
  const distance = await open();
  distance.take({ ...order(0), own: [{ device: 'net1', addresses: ['fd00::1'] }] });
  expect(distance.place().own).toEqual(new Map([['net1', ['fd00::1']]]));
  await expect.poll(() => readFile(join(folder, 'distance.json'), 'utf8')).toContain('fd00::1');
  expect((await open()).place()).toEqual(distance.place());
});

describe('where no rule differs by the place', () => {
  beforeEach(() => {
    isUsed = false;
  });

  it('has an order in force at once, and a pass that began before it takes nothing back', async () => {
    const distance = await open();
    distance.passed(distance.place());
    const before = distance.place();
    distance.take(order(0));
    distance.passed(before);
    expect([distance.word(), said]).toEqual([{ distance: 0 }, ['in force', 'in force']]);
    await isKept(0);
  });

  it('has no order in force before the first pass', async () => {
    const distance = await open();
    distance.take(order(0));
    expect([distance.word(), said]).toEqual([{}, ['order']]);
    await isKept(0);
  });

  it('waits for a pass with the next order when a rule has come that does', async () => {
    const distance = await open();
    distance.passed(distance.place());
    isUsed = true;
    distance.take(order(1));
    expect([distance.word(), said]).toEqual([{ distance: 3 }, ['in force', 'order']]);
    await isKept(1);
  });
});

it('keeps an order that cannot be kept as long as the agent runs', async () => {
  const distance = await open();
  await rm(folder, { recursive: true });
  distance.take(order(2));
  expect(distance.place().distance).toBe(2);
  await new Promise(setImmediate);
  folder = await mkdtemp(join(tmpdir(), 'distance-'));
});
