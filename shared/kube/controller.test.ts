import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../runtime/clock.ts';
import { sleepOn } from '../runtime/testing/manual-clock.ts';
import { silentLogger } from '../runtime/log.ts';
import {
  againIn,
  createController,
  type Controller,
  type ControllerOptions,
} from './controller.ts';
import { KubeError } from './errors.ts';
import type { Leadership } from './leadership.ts';
import { ALWAYS_LEADING } from './testing/controller.ts';

let stop: AbortController;
let running: Promise<void> | undefined;
/** Keys as they were reconciled, and what was counted for each. */
let reconciled: string[];
let counted: string[];
let queueOf: () => number;

beforeEach(() => {
  vi.useFakeTimers();
  [stop, reconciled, counted] = [new AbortController(), [], []];
});
afterEach(async () => {
  stop.abort();
  await running;
  running = undefined;
  vi.useRealTimers();
});

const controllerOf = (options: Partial<ControllerOptions<object>>): Controller =>
  createController({
    name: 'things',
    facts: () => ({}),
    reconcile: async (key) => {
      reconciled.push(key);
      return 'done';
    },
    fieldsOf: (key) => ({ thing: key }),
    coalesceMs: 100,
    markAll: () => undefined,
    leadership: ALWAYS_LEADING,
    metrics: {
      reconciled: (controller, result) => counted.push(`${controller} ${result}`),
      exposeQueue: (_controller, size) => (queueOf = size),
    },
    clock: { ...systemClock, sleep: sleepOn(systemClock.after) },
    log: silentLogger,
    ...options,
  });

const start = (options: Partial<ControllerOptions<object>>): Controller => {
  const controller = controllerOf(options);
  running = controller.run(stop.signal);
  return controller;
};

it('reconciles a key once for all marks that come together, and shows how many wait', async () => {
  const controller = start({});
  for (let mark = 0; mark < 5; mark += 1) controller.mark('a');
  expect(queueOf()).toBe(1);
  await vi.advanceTimersByTimeAsync(99);
  expect(reconciled).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(reconciled).toEqual(['a']);
  controller.mark('b', 0);
  await vi.advanceTimersByTimeAsync(0);
  expect(reconciled).toEqual(['a', 'b']);
  expect([queueOf(), controller.queued()]).toEqual([0, 0]);
});

describe('while too little is known', () => {
  it('reconciles nothing, and afterwards all that was marked', async () => {
    const known: { facts?: object } = {};
    const seen: object[] = [];
    const controller = start({
      facts: () => known.facts,
      reconcile: async (key, now) => {
        seen.push(now);
        reconciled.push(key);
        return 'done';
      },
    });
    controller.mark('a');
    controller.mark('b');
    await vi.advanceTimersByTimeAsync(60_000);
    expect([reconciled, counted]).toEqual([[], []]);
    known.facts = { pods: 2 };
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reconciled.sort()).toEqual(['a', 'b']);
    expect(seen).toEqual([known.facts, known.facts]);
  });

  it('lets a key that is marked later wait, too', async () => {
    let facts: object | undefined = {};
    const controller = start({ facts: () => facts });
    facts = undefined;
    controller.mark('a');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reconciled).toEqual([]);
    facts = {};
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reconciled).toEqual(['a']);
  });

  it('lets the controller be stopped', async () => {
    const controller = start({ facts: () => undefined });
    controller.mark('a');
    stop.abort();
    await running;
    expect([reconciled, controller.queued()]).toEqual([[], 0]);
  });
});

describe('the outcome of a reconcile', () => {
  const looksIn = async (ms: number, reconcile: ControllerOptions<object>['reconcile']) => {
    const controller = start({
      reconcile: async (...call) => {
        reconciled.push(call[0]);
        return reconcile(...call);
      },
    });
    controller.mark('a', 0);
    await vi.advanceTimersByTimeAsync(ms);
    return { looks: reconciled.length, results: [...new Set(counted)] };
  };

  it('done: no other look', async () => {
    expect(await looksIn(3_600_000, async () => 'done')).toEqual({
      looks: 1,
      results: ['things done'],
    });
  });

  it('again at a set time', async () => {
    expect(await looksIn(10_500, async () => againIn(1_000))).toEqual({
      looks: 11,
      results: ['things again'],
    });
    expect([againIn(undefined), againIn(Infinity)]).toEqual(['done', 'done']);
  });

  it('failed: counted by its reason, and tried again at its time', async () => {
    expect(
      await looksIn(150_000, async () => ({ failed: 'NameTaken', againInMs: 60_000 })),
    ).toEqual({ looks: 3, results: ['things NameTaken'] });
  });

  it.each([
    ['failed without a time', 'NameTaken', async () => ({ failed: 'NameTaken' })],
    [
      'a conflict',
      'conflict',
      () => Promise.reject(new KubeError('patch', 'changed', { status: 409, reason: 'Conflict' })),
    ],
    ['an error', 'error', () => Promise.reject(new Error('no answer'))],
  ] as const)('%s: tried again less and less often', async (_name, result, reconcile) => {
    const { looks, results } = await looksIn(3_600_000, reconcile);
    expect(results).toEqual([`things ${result}`]);
    const before = reconciled.length;
    expect(looks).toBeGreaterThan(100);
    await vi.advanceTimersByTimeAsync(3_600_000);
    // Between 3 and 30 seconds lie between two.
    expect(reconciled.length - before).toBeGreaterThanOrEqual(120);
    expect(reconciled.length - before).toBeLessThanOrEqual(1_200);
  });
});

it('writes an error to the log with the name of the key, and a conflict not', async () => {
  const said: unknown[] = [];
  const controller = start({
    log: { ...silentLogger, warn: (fields: object) => said.push(fields) } as typeof silentLogger,
    reconcile: async (key) => {
      if (key === 'a') throw new KubeError('patch', 'x', { status: 409, reason: 'Conflict' });
      throw new Error('no answer');
    },
  });
  controller.mark('a', 0);
  controller.mark('b', 0);
  await vi.advanceTimersByTimeAsync(0);
  expect(said).toEqual([
    {
      controller: 'things',
      thing: 'b',
      err: new Error('no answer'),
      retryInMs: expect.any(Number),
    },
  ]);
});

describe('while another replica leads', () => {
  /** Leads for the time in which the signal has not aborted, again and again. */
  const inTerms = () => {
    let term: AbortController | undefined;
    let begin: (() => void) | undefined;
    const leadership: Leadership = {
      term: () => (term ? 1 : undefined),
      lead: async (work, signal) => {
        while (!signal.aborted) {
          await new Promise<void>((resolve) => {
            begin = resolve;
            signal.addEventListener('abort', () => resolve());
          });
          if (term) await work(AbortSignal.any([signal, term.signal]));
        }
      },
      renew: () => undefined,
      beforeRelease: () => undefined,
    };
    return {
      leadership,
      begin: () => {
        term = new AbortController();
        begin?.();
      },
      end: () => {
        term?.abort();
        term = undefined;
      },
    };
  };

  it('reconciles nothing, runs sources, and reconciles each key when a term begins', async () => {
    const terms = inTerms();
    let sources = 0;
    const controller: Controller = start({
      leadership: terms.leadership,
      markAll: async () => ['a', 'b'].forEach((key) => controller.mark(key)),
      sources: [{ run: async () => void (sources += 1) }],
    });
    controller.mark('a');
    await vi.advanceTimersByTimeAsync(60_000);
    expect([reconciled, sources, controller.queued()]).toEqual([[], 1, 0]);
    for (let term = 1; term <= 2; term += 1) {
      terms.begin();
      await vi.advanceTimersByTimeAsync(1_000);
      expect(reconciled.splice(0)).toEqual(['a', 'b']);
      terms.end();
      controller.mark('c');
      await vi.advanceTimersByTimeAsync(60_000);
      expect([reconciled, controller.queued()]).toEqual([[], 0]);
    }
  });

  it('running work is aborted, and is not tried again', async () => {
    const terms = inTerms();
    const controller: Controller = start({
      leadership: terms.leadership,
      markAll: () => controller.mark('a'),
      reconcile: (key, _facts, signal) => {
        reconciled.push(key);
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      },
    });
    terms.begin();
    await vi.advanceTimersByTimeAsync(1_000);
    terms.end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([reconciled, counted, controller.queued()]).toEqual([['a'], [], 0]);
  });
});

it('runs its sources until it is stopped, and ends when they and the running work have ended', async () => {
  const ended: string[] = [];
  const ends = (what: string) => (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        setTimeout(() => {
          ended.push(what);
          resolve();
        }, 1_000);
      });
    });
  const controller = start({
    sources: [{ run: ends('source') }],
    reconcile: async (_key, _facts, signal) => {
      await ends('work')(signal);
      return 'done';
    },
  });
  controller.mark('a', 0);
  await vi.advanceTimersByTimeAsync(0);
  stop.abort();
  await vi.advanceTimersByTimeAsync(999);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  await running;
  expect(ended.sort()).toEqual(['source', 'work']);
});
