import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { OpenwrtBlockedError, OpenwrtUnreachableError, type Driver } from '../openwrt/driver.ts';
import { createLoop, type Attempt } from './loop.ts';

const stopping: AbortController[] = [];
afterEach(() => {
  for (const controller of stopping.splice(0)) controller.abort();
});

const notAsked = () => Promise.reject(new Error('not asked in this test'));

/** A loop that runs, around a pass and an OpenWRT of which the test decides what they do. */
const start = (changes: { unknownKinds?: string[]; probeIntervalMs?: number } = {}) => {
  const world = {
    unknownKinds: changes.unknownKinds ?? [],
    fingerprint: 'one',
    pass: async (): Promise<string> => world.fingerprint,
    probe: async (): Promise<string> => world.fingerprint,
    passes: 0,
    running: 0,
    mostRunning: 0,
    dueRefusal: false,
  };
  const attempts: Attempt['outcome'][] = [];
  const driver: Driver = {
    name: 'ubus',
    fingerprint: () => world.probe(),
    read: notAsked,
    apply: notAsked,
    information: async () => undefined,
    close: async () => undefined,
  };
  const loop = createLoop({
    driver,
    pass: async () => {
      world.passes += 1;
      world.running += 1;
      world.mostRunning = Math.max(world.mostRunning, world.running);
      try {
        return await world.pass();
      } finally {
        world.running -= 1;
      }
    },
    secrets: { values: () => new Map(), unknown: () => [] },
    refusals: {
      current: () => new Map(),
      add: () => undefined,
      review: () => undefined,
      releaseDue: () => {
        const due = world.dueRefusal;
        world.dueRefusal = false;
        return due;
      },
    },
    source: { rules: () => [], unknownKinds: () => world.unknownKinds, unservedKinds: () => [] },
    networks: () => new Map(),
    devices: () => ({ defaultRoute: undefined, byAddress: new Map() }),
    onAttempt: ({ outcome }) => attempts.push(outcome),
    timings: { probeIntervalMs: changes.probeIntervalMs ?? 5, fullPassIntervalMs: 1_000_000 },
    clock: systemClock,
    log: silentLogger,
  });
  const controller = new AbortController();
  stopping.push(controller);
  const ended = loop.run(controller.signal);
  return { world, attempts, loop, controller, ended };
};

const moment = (ms = 60) => systemClock.sleep(ms);

describe('loop', () => {
  it('passes once at the start, and no more while OpenWRT is as it was left', async () => {
    const { world, attempts } = start();
    await moment();
    expect(world.passes).toBe(1);
    expect(attempts[0]).toBe('passed');
    expect(attempts.length).toBeGreaterThan(3);
    expect(new Set(attempts.slice(1))).toEqual(new Set(['answered']));
  });

  it('passes when OpenWRT is not as it was left', async () => {
    const { world } = start();
    await moment();
    world.fingerprint = 'two';
    await moment();
    expect(world.passes).toBe(2);
  });

  it('makes one pass of many marks, and never two at a time', async () => {
    const { world, loop } = start({ probeIntervalMs: 10_000 });
    world.pass = async () => {
      await moment(30);
      return 'one';
    };
    await moment(100);
    const before = world.passes;
    for (let at = 0; at < 100; at += 1) loop.mark();
    await moment(20);
    for (let at = 0; at < 100; at += 1) loop.mark();
    await moment(200);
    expect(world.passes - before).toBe(2);
    expect(world.mostRunning).toBe(1);
  });

  it('writes nothing before it knows which rules there are', async () => {
    const { world, loop } = start({ unknownKinds: ['FirewallRule'] });
    loop.mark();
    await moment();
    expect(world.passes).toBe(0);
    world.unknownKinds = [];
    loop.mark();
    await moment();
    expect(world.passes).toBe(1);
  });

  it('looks again soon while OpenWRT does not answer, and passes when it does', async () => {
    const { world, attempts, loop } = start();
    await moment();
    world.pass = world.probe = () =>
      Promise.reject(new OpenwrtUnreachableError('read', 'connection refused'));
    loop.mark();
    const unanswered = (): number => attempts.filter((outcome) => outcome === 'unanswered').length;
    await expect.poll(unanswered, { timeout: 10_000 }).toBeGreaterThan(3);
    world.pass = world.probe = async () => 'one';
    await expect.poll(() => attempts, { timeout: 10_000 }).toContain('passed');
    await expect.poll(() => attempts.at(-1), { timeout: 10_000 }).toBe('answered');
  });

  it('waits longer and longer when a pass does not get through', async () => {
    const { world, attempts, loop } = start();
    await moment();
    const before = world.passes;
    world.pass = () => Promise.reject(new OpenwrtBlockedError('uci apply', 'pending'));
    loop.mark();
    await moment(40);
    expect(attempts).toContain('hindered');
    expect(world.passes - before).toBeLessThanOrEqual(2);
  });

  it('tries refused rules again when their time has come', async () => {
    const { world } = start();
    await moment();
    world.dueRefusal = true;
    await moment();
    expect(world.passes).toBe(2);
  });

  it('lets the pass in hand end when it is stopped, and begins none', async () => {
    const { world, loop, controller, ended } = start();
    await moment();
    let finished = false;
    world.pass = async () => {
      await moment(50);
      finished = true;
      return 'one';
    };
    loop.mark();
    await moment(30);
    controller.abort();
    loop.mark();
    await ended;
    expect(finished).toBe(true);
    const { passes } = world;
    await moment();
    expect(world.passes).toBe(passes);
  });
});
