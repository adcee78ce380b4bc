import { afterEach, describe, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import {
  OpenwrtBlockedError,
  OpenwrtError,
  OpenwrtUnreachableError,
  type Driver,
} from '../openwrt/driver.ts';
import { StateFileError } from '../io/state-file.ts';
import { createLoop, type Attempt } from './loop.ts';

const stopping: AbortController[] = [];
afterEach(() => {
  for (const controller of stopping.splice(0)) controller.abort();
});

const PROBE_MS = 1_000;
const RETURNING_MS = 250;
const FULL_PASS_MS = 300_000;
const LAST_MOMENT_MS = 1_500;
/** More than fit between two passes. */
const MANY_LOOKS = 1_000;
const notAsked = () => Promise.reject(new Error('not asked in this test'));

/** A running loop, with a pass and an OpenWRT that the test controls. */
const start = async (
  changes: { unknownKinds?: string[]; unknownSecrets?: string[]; away?: boolean } = {},
) => {
  const clock = createManualClock();
  const fixture = {
    unknownKinds: [] as string[],
    unknownSecrets: [] as string[],
    followSecrets: (): void => undefined,
    away: false,
    ...changes,
    fingerprint: 'one',
    pass: async (_signal: AbortSignal): Promise<string> => fixture.fingerprint,
    probe: async (): Promise<string> => {
      if (fixture.away) throw new OpenwrtUnreachableError('look', 'refused');
      return fixture.fingerprint;
    },
    passes: 0,
    running: 0,
    mostRunning: 0,
    dueRefusal: false,
    kernelLacks: false,
    pacedUntil: 0,
    paused: false,
    quiet: true,
  };
  const attempts: Attempt[] = [];
  const driver: Driver = {
    name: 'ubus',
    fingerprint: () => fixture.probe(),
    read: notAsked,
    rename: notAsked,
    apply: notAsked,
    information: async () => undefined,
    unansweredSince: () => undefined,
    close: async () => undefined,
  };
  const loop = createLoop({
    rescue: async () => {},
    driver,
    pass: async ({ quiet }, signal) => {
      fixture.passes += 1;
      fixture.quiet = quiet;
      fixture.running += 1;
      fixture.mostRunning = Math.max(fixture.mostRunning, fixture.running);
      try {
        return await fixture.pass(signal);
      } finally {
        fixture.running -= 1;
      }
    },
    secrets: {
      follow: () => fixture.followSecrets(),
      values: () => new Map(),
      unread: () => new Map(),
      unknown: () => fixture.unknownSecrets,
    },
    kernelDrift: { isDue: () => fixture.kernelLacks },
    pace: { waitMs: () => Math.max(0, fixture.pacedUntil - clock.monotonic()) },
    refusals: {
      current: () => new Map(),
      add: () => undefined,
      review: () => undefined,
      releaseDue: () => {
        const due = fixture.dueRefusal;
        fixture.dueRefusal = false;
        return due;
      },
    },
    source: { rules: () => [], unknownKinds: () => fixture.unknownKinds, unservedKinds: () => [] },
    networks: () => ({ networks: new Map() }),
    devices: () => ({ defaultRoute: undefined, byAddress: new Map() }),
    place: () => ({ distance: 3, peers: new Map() }),
    onPlaced: () => undefined,
    paused: () => fixture.paused,
    onAttempt: (attempt) => attempts.push(attempt),
    timings: { probeIntervalMs: PROBE_MS, fullPassIntervalMs: FULL_PASS_MS },
    clock,
    log: silentLogger,
  });
  const controller = new AbortController();
  stopping.push(controller);
  const ended = loop.run(controller.signal);
  await clock.untilSleeping();
  /** Until the loop has done what is due next; gives how long it waited for that. */
  const next = async (): Promise<number> => {
    const ms = await clock.step();
    await clock.untilSleeping();
    return ms;
  };
  return { clock, fixture, attempts, loop, controller, ended, next };
};

const failing = (reason: Error) => (): Promise<string> => Promise.reject(reason);

/** A pass that the test ends. */
const heldPass = () => {
  const begun = Promise.withResolvers<AbortSignal>();
  const end = Promise.withResolvers<string>();
  const pass = (signal: AbortSignal): Promise<string> => {
    begun.resolve(signal);
    return end.promise;
  };
  return { pass, begun: begun.promise, end: () => end.resolve('one') };
};

describe('the next pass', () => {
  it('begins when the kernel lacks something and a repair is due, but not while the pod is paused', async () => {
    const { fixture, next } = await start();
    await next();
    fixture.kernelLacks = true;
    fixture.paused = true;
    await next();
    await next();
    expect(fixture.passes).toBe(1);
    fixture.paused = false;
    await next();
    expect(fixture.passes).toBe(2);
  });

  it('once at the start, and no more while OpenWRT is as it was left', async () => {
    const { fixture, attempts, next } = await start();
    for (let look = 1; look <= 20; look += 1) {
      const waited = await next();
      expect(waited).toBeGreaterThanOrEqual(0.75 * PROBE_MS);
      expect(waited).toBeLessThanOrEqual(1.25 * PROBE_MS);
    }
    expect(fixture.passes).toBe(1);
    const outcomes = attempts.map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['passed', ...Array.from({ length: 20 }, () => 'unchanged')]);
  });

  it('begins when OpenWRT is not as the last pass left it', async () => {
    const { fixture, attempts, next } = await start();
    fixture.fingerprint = 'two';
    await next();
    expect(fixture.passes).toBe(2);
    await next();
    expect(fixture.passes).toBe(2);
    const outcomes = attempts.map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['passed', 'differs', 'passed', 'unchanged']);
  });

  it('again and again without any cause, at its interval', async () => {
    const { clock, fixture, next } = await start();
    for (let pass = 2; pass <= 4; pass += 1) {
      const before = clock.monotonic();
      expect(fixture.quiet).toBe(pass > 2);
      for (let look = 0; fixture.passes < pass && look < MANY_LOOKS; look += 1) await next();
      expect(fixture.passes).toBe(pass);
      expect(fixture.quiet).toBe(true);
      const waited = clock.monotonic() - before;
      expect(waited).toBeGreaterThanOrEqual(0.75 * FULL_PASS_MS - 2 * PROBE_MS);
      expect(waited).toBeLessThanOrEqual(1.25 * FULL_PASS_MS + 2 * PROBE_MS);
    }
  });

  it('once for many marks, and for those during a pass once more, never two at a time', async () => {
    const { fixture, loop, clock, next } = await start();
    const { pass, begun, end } = heldPass();
    fixture.pass = pass;
    for (let at = 0; at < 100; at += 1) loop.mark();
    await clock.step();
    await begun;
    fixture.pass = async () => 'one';
    for (let at = 0; at < 100; at += 1) loop.mark();
    end();
    await clock.untilSleeping();
    expect(fixture.passes).toBe(2);
    await next();
    await next();
    expect(fixture.passes).toBe(3);
    expect(fixture.mostRunning).toBe(1);
  });

  it('watches the Secrets that rules refer to now, and waits for them', async () => {
    const { fixture, loop, next } = await start();
    expect(fixture.passes).toBe(1);
    fixture.followSecrets = () => {
      fixture.unknownSecrets = ['asked-for-by-a-new-rule'];
    };
    loop.mark();
    await next();
    expect(fixture.passes).toBe(1);
    fixture.followSecrets = () => undefined;
    fixture.unknownSecrets = [];
    loop.mark();
    await next();
    expect(fixture.passes).toBe(2);
  });

  it.each(['unknownKinds', 'unknownSecrets'] as const)(
    'not before it knows the rules and their Secrets: %s',
    async (unknown) => {
      const { fixture, loop, attempts, next } = await start({ [unknown]: ['a'] });
      fixture.fingerprint = 'two';
      loop.mark();
      await next();
      await next();
      expect(fixture.passes).toBe(0);
      expect(attempts.at(-1)?.outcome).toBe('answered');
      fixture[unknown] = [];
      await next();
      expect(fixture.passes).toBe(1);
    },
  );

  it('begins for a change when the next one is due, however many marks come before', async () => {
    const { clock, fixture, loop, next } = await start();
    fixture.pacedUntil = 5_000;
    const begin = clock.monotonic();
    while (fixture.passes === 1) {
      loop.mark();
      await next();
    }
    const waited = clock.monotonic() - begin;
    expect(waited).toBeGreaterThanOrEqual(5_000);
    // A look right before that makes it wait for what comes together.
    expect(waited).toBeLessThanOrEqual(5_010);
    loop.mark();
    expect(await next()).toBe(10);
    expect(fixture.passes).toBe(3);
  });

  it('begins after a look that has come a little too early for the next change, too', async () => {
    const { clock, fixture, loop, next } = await start();
    loop.mark();
    fixture.pacedUntil = clock.monotonic() + 35;
    expect(await next()).toBe(10);
    expect(fixture.passes).toBe(1);
    expect(await next()).toBe(25);
    expect(fixture.passes).toBe(2);
  });

  it('begins at once when OpenWRT is not as it was left, regardless of the pace', async () => {
    const { fixture, loop, next } = await start();
    fixture.pacedUntil = 60_000;
    loop.mark();
    fixture.fingerprint = 'two';
    await next();
    expect(fixture.passes).toBe(2);
  });

  it('begins when it is time to try refused rules again', async () => {
    const { fixture, next } = await start();
    fixture.dueRefusal = true;
    await next();
    expect(fixture.passes).toBe(2);
  });
});

describe('a pass that fails', () => {
  const blocked = new OpenwrtBlockedError('uci apply', 'pending');
  const silent = new OpenwrtUnreachableError('read', 'refused');
  const full = new StateFileError('/state/ledger.json', new Error('ENOSPC'));

  it.each<[string, Error, Partial<Attempt>]>([
    ['somebody is in its way', blocked, { outcome: 'hindered', message: blocked.message }],
    ['OpenWRT does not do it', new OpenwrtError('uci apply', 'code 9'), { outcome: 'hindered' }],
    ['OpenWRT does not answer', silent, { outcome: 'unanswered', message: silent.message }],
    ['its state cannot be written', full, { outcome: 'hindered', message: full.message }],
    ['nobody knows why', new Error('a bug'), { outcome: 'passed' }],
  ])('is repeated until it gets through when %s', async (_what, error, attempt) => {
    const { fixture, attempts, loop, next } = await start();
    fixture.pass = failing(error);
    loop.mark();
    for (let pass = 2; pass <= 8; pass += 1) {
      expect(await next()).toBeLessThanOrEqual(10_000);
      expect(fixture.passes).toBe(pass);
    }
    expect(attempts.at(-1)).toMatchObject(attempt);
    fixture.pass = async () => 'one';
    await next();
    expect(attempts.at(-1)?.outcome).toBe('passed');
    await next();
    expect(fixture.passes).toBe(9);
  });

  it('is repeated after longer and longer waits, but soon when OpenWRT does not answer', async () => {
    const waitsAfter = async (error: Error): Promise<number[]> => {
      const { fixture, loop, next } = await start();
      fixture.pass = failing(error);
      loop.mark();
      await next();
      const waits: number[] = [];
      for (let at = 0; at < 12; at += 1) waits.push(await next());
      return waits;
    };
    const [first = Infinity, ...later] = await waitsAfter(blocked);
    expect(first).toBeLessThanOrEqual(500);
    expect(Math.min(...later.slice(4))).toBeGreaterThanOrEqual(1_000);
    const looks = await waitsAfter(silent);
    expect(Math.max(...looks)).toBeLessThanOrEqual(1.25 * RETURNING_MS);
  });

  it('makes looks less frequent when OpenWRT stays away', async () => {
    const { clock, fixture, next } = await start();
    fixture.probe = failing(new OpenwrtUnreachableError('look', 'refused'));
    const begin = clock.monotonic();
    while (clock.monotonic() - begin <= 60_000) await next();
    const waits = [await next(), await next(), await next()];
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(0.75 * PROBE_MS);
    expect(Math.max(...waits)).toBeLessThanOrEqual(1.25 * PROBE_MS);
  });

  it('is tried more often while OpenWRT starts, but not for ever', async () => {
    const { fixture, clock, next } = await start({ unknownKinds: ['a'], away: true });
    expect(await next()).toBeLessThanOrEqual(250);
    expect(await next()).toBeLessThanOrEqual(250);
    clock.advance(60_000);
    await next();
    expect(await next()).toBeGreaterThanOrEqual(0.75 * PROBE_MS);
    expect(fixture.passes).toBe(0);
  });

  it('follows a look that fails, too', async () => {
    const { fixture, attempts, next } = await start();
    fixture.probe = () => Promise.reject(new OpenwrtUnreachableError('look', 'refused'));
    await next();
    expect(attempts.at(-1)?.outcome).toBe('unanswered');
    fixture.probe = async () => 'two';
    await next();
    expect(fixture.passes).toBe(2);
  });
});

describe('when it is stopped', () => {
  it('ends the pass in hand, and begins no other', async () => {
    const { fixture, clock, loop, controller, ended } = await start();
    const { pass, begun, end } = heldPass();
    fixture.pass = pass;
    loop.mark();
    await clock.step();
    const signal = await begun;
    controller.abort();
    loop.mark();
    expect(signal.aborted).toBe(false);
    end();
    await ended;
    expect(fixture.passes).toBe(2);
  });

  it('aborts a pass that takes longer than the grace period', async () => {
    const { fixture, clock, loop, controller, ended } = await start();
    fixture.pass = (signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        begun.resolve();
      });
    const begun = Promise.withResolvers<void>();
    loop.mark();
    await clock.step();
    await begun.promise;
    controller.abort(new Error('SIGTERM'));
    clock.advance(LAST_MOMENT_MS - 1);
    expect(fixture.running).toBe(1);
    clock.advance(1);
    await ended;
    expect(fixture.running).toBe(0);
  });
});

describe('who asks for a pass', () => {
  it('gets one at once that begins after that, and what came of it', async () => {
    const { fixture, loop, next } = await start();
    await next();
    fixture.pacedUntil = Infinity;
    const held = heldPass();
    fixture.pass = held.pass;
    const first = loop.passNow();
    const step = next();
    await held.begun;
    fixture.pass = failing(new OpenwrtBlockedError('write', 'another program has a lock'));
    const second = loop.passNow();
    held.end();
    expect(await first).toEqual({ outcome: 'passed' });
    await step;
    await next();
    expect(await second).toMatchObject({ outcome: 'hindered' });
    expect(fixture.passes).toBe(3);
  });

  it('is told when OpenWRT does not answer, or not all rules are known', async () => {
    const { fixture, loop, next } = await start({ unknownKinds: ['FirewallZone'] });
    const unknown = loop.passNow();
    await next();
    expect(await unknown).toEqual({ outcome: 'answered' });
    fixture.away = true;
    const away = loop.passNow();
    await next();
    expect(await away).toMatchObject({ outcome: 'unanswered' });
  });
});

describe('what looks between passes', () => {
  it('waits for the pass under way, and the next pass waits for it', async () => {
    const { fixture, loop, next } = await start();
    await next();
    const held = heldPass();
    fixture.pass = held.pass;
    void loop.passNow();
    const step = next();
    await held.begun;
    const looking = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    let hasBegun = false;
    const look = loop.between(async () => {
      hasBegun = true;
      looking.resolve();
      await mayEnd.promise;
      return fixture.passes;
    });
    expect(hasBegun).toBe(false);
    fixture.pass = async () => 'one';
    held.end();
    await looking.promise;
    const after = loop.passNow();
    mayEnd.resolve();
    expect(await look).toBe(2);
    await step;
    await next();
    expect(await after).toEqual({ outcome: 'passed' });
    expect(fixture.passes).toBe(3);
  });

  it('is told that rules are not known, and hinders nothing when it fails', async () => {
    const { fixture, loop, next } = await start({ unknownKinds: ['FirewallZone'] });
    expect(await loop.between(async (input) => input)).toBeUndefined();
    fixture.unknownKinds = [];
    await expect(loop.between(failing(new Error('no')))).rejects.toThrow('no');
    const asked = loop.passNow();
    await next();
    expect(await asked).toEqual({ outcome: 'passed' });
  });
});
