import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../runtime/clock.ts';
import { silentLogger } from '../../runtime/log.ts';
import { createKubeClient, type KubeClient } from '../client.ts';
import {
  DEFAULT_TIMINGS,
  Reflector,
  type ReflectorOptions,
  type ReflectorTimings,
} from './reflector.ts';
import type { KubeObject, ObjectMeta } from '../objects.ts';
import { FakeApiServer, fakeResource } from '../testing/fake-api-server.ts';
import type { WatchPhase } from './watch-state.ts';

const fastTimings: Partial<ReflectorTimings> = {
  silenceMs: 5_000,
  baseBackoffMs: 5,
  maxBackoffMs: 20,
  notServedRetryMs: 20,
};

let server: FakeApiServer;
let client: KubeClient;
let stop: AbortController;
let running: Promise<void>;
let events: string[];
let phases: WatchPhase[];

const start = (options: Partial<ReflectorOptions<KubeObject>> = {}): Reflector => {
  const reflector = new Reflector({
    client,
    resource: fakeResource,
    log: silentLogger,
    ...options,
    timings: { ...fastTimings, ...options.timings },
    onEvent: ({ type, object }) => events.push(`${type} ${object.metadata.name}`),
    onState: ({ phase }) => {
      if (phases.at(-1) !== phase) phases.push(phase);
    },
  });
  running = reflector.run(stop.signal);
  return reflector;
};

const names = (reflector: Reflector): string[] =>
  reflector.store
    .list()
    .map(({ metadata }) => metadata.name)
    .sort();
const count = (what: string): number => server.requests.filter((r) => r.startsWith(what)).length;
const until = (condition: () => unknown): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 60_000, interval: 5 });
const untilSynced = (reflector: Reflector): Promise<unknown> =>
  until(() => reflector.state.phase === 'Synced' && server.watchers === 1);

beforeEach(async () => {
  server = await FakeApiServer.start();
  client = createKubeClient({ config: server.config });
  stop = new AbortController();
  events = [];
  phases = [];
});

afterEach(async () => {
  stop.abort();
  await running;
  await client.close();
  await server.stop();
});

describe('without faults', () => {
  it('lists, then follows changes', async () => {
    server.put('a');
    const reflector = start();
    await untilSynced(reflector);
    server.put('b');
    server.put('a', { generation: 2 });
    server.remove('b');
    await until(() => events.length === 4);
    expect(events).toEqual(['added a', 'added b', 'updated a', 'deleted b']);
    expect(names(reflector)).toEqual(['a']);
    expect(reflector.store.byName('default', 'a')?.metadata.generation).toBe(2);
    expect(phases).toEqual(['Syncing', 'Synced']);
  });

  it('takes what it has in part from the next list, at the same version', async () => {
    server.put('a');
    server.put('b');
    const reflector = start({ isPartial: ({ metadata }) => metadata.name === 'b' });
    await untilSynced(reflector);
    reflector.relist();
    await until(() => events.length === 3);
    expect(events).toEqual(['added a', 'added b', 'updated b']);
  });

  it('is synced with an empty collection, and not before the list', async () => {
    const reflector = start();
    expect(reflector.hasSynced()).toBe(false);
    await untilSynced(reflector);
    expect(reflector.hasSynced()).toBe(true);
    expect(reflector.store.size).toBe(0);
  });

  it('goes on from the last bookmark when the server ends the watch, without a new list', async () => {
    let aheadMs = 0;
    const monotonic = (): number => performance.now() + aheadMs;
    const reflector = start({ clock: { ...systemClock, monotonic } });
    await untilSynced(reflector);
    server.bookmark();
    server.put('a');
    server.bookmark();
    await until(() => events.length === 1);
    aheadMs = 400_000;
    server.endWatches();
    await until(() => count('GET watch') === 2);
    expect(server.requests).toEqual([
      'GET list',
      'GET watch?resourceVersion=1',
      'GET watch?resourceVersion=4',
    ]);
    expect(phases).toEqual(['Syncing', 'Synced']);
  });

  it('ignores what it knows already', async () => {
    server.put('a');
    const reflector = start();
    await untilSynced(reflector);
    server.repeatAll();
    server.repeatAll();
    server.put('b');
    await until(() => reflector.store.size === 2);
    expect(events).toEqual(['added a', 'added b']);
  });

  it('hides updates of the status alone when asked, and keeps them in the store', async () => {
    server.put('a');
    const reflector = start({ ignoreStatusUpdates: true });
    await untilSynced(reflector);
    const { metadata } = server.put('a');
    await until(
      () =>
        reflector.store.byName('default', 'a')?.metadata.resourceVersion ===
        metadata.resourceVersion,
    );
    expect(events).toEqual(['added a']);
  });

  it.each<[string, Partial<ObjectMeta>]>([
    ['its spec', { generation: 2 }],
    ['a label', { labels: { changed: 'yes' } }],
    ['an annotation', { annotations: { changed: 'yes' } }],
    ['a finalizer', { finalizers: ['example.org/x'] }],
    ['its deletion', { deletionTimestamp: '2026-01-01T00:00:00Z' }],
  ])('shows an update of %s also then', async (_what, change) => {
    server.put('a');
    await untilSynced(start({ ignoreStatusUpdates: true }));
    server.put('a', change);
    await until(() => events.length === 2);
    expect(events).toEqual(['added a', 'updated a']);
  });

  it('shows every update of a kind without generation', async () => {
    const without = { generation: undefined } as unknown as Partial<ObjectMeta>;
    server.put('a', without);
    await untilSynced(start({ ignoreStatusUpdates: true }));
    server.put('a', without);
    await until(() => events.length === 2);
    expect(events).toEqual(['added a', 'updated a']);
  });

  it('distinguishes an object from an earlier one of the same name', async () => {
    server.put('a');
    const reflector = start();
    await untilSynced(reflector);
    server.put('a', { uid: 'second' });
    await until(() => events.length === 3);
    expect(events).toEqual(['added a', 'deleted a', 'added a']);
    expect(reflector.store.byUid('second')).toBeDefined();
    expect(reflector.store.byUid('uid-of-a')).toBeUndefined();
  });

  it('puts lines together that come in pieces, cut inside a character too', async () => {
    const reflector = start();
    await untilSynced(reflector);
    const object = server.put('x', {}, { silently: true });
    const changed = { ...object, metadata: { ...object.metadata, labels: { city: 'Zürich€' } } };
    const bytes = Buffer.from(`${JSON.stringify({ type: 'ADDED', object: changed })}\n`);
    for (const byte of bytes) {
      server.sendRaw(Uint8Array.of(byte));
      await new Promise(setImmediate);
    }
    await until(() => reflector.store.size === 1);
    expect(reflector.store.list()[0]?.metadata.labels).toEqual({ city: 'Zürich€' });
  });
});

describe('with faults', () => {
  it('relists after 410, and removes what went in between', async () => {
    server.put('a');
    server.put('b');
    const reflector = start();
    await untilSynced(reflector);
    server.remove('a', { silently: true });
    server.put('c', {}, { silently: true });
    server.compact();
    server.dropConnections();
    await until(() => count('GET list') === 2 && reflector.store.byName('default', 'c'));
    expect(events.slice(2)).toEqual(['deleted a', 'added c']);
    expect(names(reflector)).toEqual(['b', 'c']);
    await untilSynced(reflector);
  });

  it('continues after a dropped connection, and misses nothing', async () => {
    server.put('a');
    const reflector = start();
    await untilSynced(reflector);
    server.dropConnections();
    server.put('b');
    await until(() => reflector.store.size === 2);
    expect(count('GET list')).toBe(1);
    expect(phases).toEqual(['Syncing', 'Synced']);
  });

  it('keeps everything while the server is down, shows that in its state, and comes back', async () => {
    server.put('a');
    const reflector = start();
    await untilSynced(reflector);
    server.refuse('watch', 500, 'InternalError');
    server.dropConnections();
    await until(() => reflector.state.phase === 'Failing');
    expect(reflector.state.message).toContain('watch is refused: InternalError');
    expect(names(reflector)).toEqual(['a']);
    server.allow();
    await untilSynced(reflector);
    expect(reflector.state.message).toBe('');
    expect(events).toEqual(['added a']);
  });

  it.each(['list', 'watch'] as const)(
    'keeps everything when a %s is forbidden, and recovers',
    async (verb) => {
      server.put('a');
      const reflector = start();
      await untilSynced(reflector);
      server.refuse(verb, 403, 'Forbidden');
      if (verb === 'list') reflector.relist();
      else server.dropConnections();
      await until(() => reflector.state.phase === 'Forbidden');
      server.remove('a');
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(names(reflector)).toEqual(['a']);
      expect(reflector.hasSynced()).toBe(true);
      server.allow();
      await untilSynced(reflector);
      await until(() => reflector.store.size === 0);
      expect(events).toEqual(['added a', 'deleted a']);
    },
  );

  it('reports a kind that is not served, and finds it later', async () => {
    server.refuse('list', 404, 'NotFound');
    const reflector = start();
    await until(() => reflector.state.phase === 'NotServed');
    expect(reflector.hasSynced()).toBe(false);
    server.allow();
    server.put('a');
    await untilSynced(reflector);
    expect(names(reflector)).toEqual(['a']);
  });

  it('looks for a kind that is not served within five seconds, and less often once it has been away for long', async () => {
    const waits: number[] = [];
    let now = 0;
    const clock = {
      ...systemClock,
      monotonic: () => now,
      sleep: async (ms: number) => {
        waits.push(ms);
        now += ms;
        if (waits.length < 400) return;
        stop.abort();
      },
    };
    server.refuse('list', 404, 'NotFound');
    const reflector = start({ clock, timings: DEFAULT_TIMINGS });
    await until(() => waits.length >= 160);
    const early = waits.filter((_, at) => waits.slice(0, at + 1).reduce((a, b) => a + b) < 600_000);
    expect(Math.max(...early)).toBeLessThan(5_000);
    expect(early.length).toBeLessThan(200);
    await until(() => stop.signal.aborted);
    expect(Math.min(...waits.slice(early.length + 1))).toBeGreaterThan(20_000);
    expect(reflector.hasSynced()).toBe(false);
  });

  it('relists when a watch is frozen', async () => {
    server.put('a');
    const reflector = start({ timings: { silenceMs: 100 } });
    await untilSynced(reflector);
    server.put('b');
    await until(() => reflector.store.size === 2);
    server.put('c', {}, { silently: true });
    await until(() => phases.includes('Silent'));
    await until(() => reflector.store.size === 3);
    expect(count('GET list')).toBeGreaterThan(1);
  });

  it('is not silent while bookmarks come', async () => {
    const reflector = start({ timings: { silenceMs: 1_000 } });
    await untilSynced(reflector);
    for (let i = 0; i < 8; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      server.bookmark();
    }
    expect(phases).toEqual(['Syncing', 'Synced']);
    expect(count('GET watch')).toBe(1);
  });

  it('waits between watches when a server ends each at once', async () => {
    const reflector = start({ timings: { baseBackoffMs: 200, maxBackoffMs: 200 } });
    await untilSynced(reflector);
    const started = performance.now();
    const end = setInterval(() => server.endWatches(), 1);
    await until(() => reflector.state.phase === 'Failing');
    await new Promise((resolve) => setTimeout(resolve, 400));
    clearInterval(end);
    expect(count('GET watch')).toBeLessThan(25 + (performance.now() - started) / 100);
  });

  it('does not wait after a watch that ended at once and has brought something', async () => {
    const waits: number[] = [];
    const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
      waits.push(ms);
      return systemClock.sleep(1, signal);
    };
    const monotonic = (): number => 0;
    const reflector = start({ clock: { ...systemClock, sleep, monotonic } });
    await untilSynced(reflector);
    for (const name of ['a', 'b', 'c']) {
      server.put(name);
      await until(() => names(reflector).includes(name));
      const watches = count('GET watch');
      server.endWatches();
      await until(() => count('GET watch') > watches);
    }
    expect(waits).toEqual([]);
    expect(count('GET list')).toBe(1);
    expect(phases).toEqual(['Syncing', 'Synced']);
    server.endWatches();
    await until(() => waits.length > 0);
  });

  it.each([1, 30])(
    'waits as long as the server asks (%i s), and at least its own backoff',
    async (asked) => {
      const waits: number[] = [];
      const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
        waits.push(ms);
        return systemClock.sleep(1, signal);
      };
      server.refuse('list', 429, 'TooManyRequests', { retryAfterSeconds: asked });
      start({
        clock: { ...systemClock, sleep },
        timings: { baseBackoffMs: 8_000, maxBackoffMs: 8_000 },
        random: () => 0.5,
      });
      await until(() => waits.length > 0);
      expect(waits[0]).toBe(Math.max(asked * 1_000, 4_400));
    },
  );

  it('reports an object that does not match its schema as an error, and keeps what it knows', async () => {
    server.put('a');
    const reflector = start();
    await untilSynced(reflector);
    server.sendRaw(`${JSON.stringify({ type: 'MODIFIED', object: { metadata: {} } })}\n`);
    server.refuse('watch', 500, 'InternalError');
    await until(() => reflector.state.phase === 'Failing');
    expect(names(reflector)).toEqual(['a']);
    server.allow();
    await untilSynced(reflector);
    expect(count('GET list')).toBe(1);
  });

  it('survives lines that are no events', async () => {
    const reflector = start();
    await untilSynced(reflector);
    server.sendRaw('<html>\n');
    await until(() => count('GET watch') === 2);
    server.put('a');
    await until(() => reflector.store.size === 1);
    expect(count('GET list')).toBe(1);
  });
});

describe('on demand', () => {
  it('relists', async () => {
    server.put('a');
    const reflector = start();
    await untilSynced(reflector);
    server.remove('a', { silently: true });
    reflector.relist();
    await until(() => reflector.store.size === 0);
    expect(events).toEqual(['added a', 'deleted a']);
  });

  it('catches up with what its watch has not told, by a list that began afterwards', async () => {
    const reflector = start();
    await untilSynced(reflector);
    server.put('a', {}, { silently: true });
    await reflector.catchUp(stop.signal);
    expect(names(reflector)).toEqual(['a']);
    server.refuse('list', 500, 'InternalError');
    let isDone = false;
    const again = reflector.catchUp(stop.signal).then(() => (isDone = true));
    await until(() => count('GET list') >= 4);
    expect(isDone).toBe(false);
    server.put('b', {}, { silently: true });
    server.allow();
    await again;
    expect(names(reflector)).toEqual(['a', 'b']);
  });

  it('does not catch up any more when the signal aborts', async () => {
    server.refuse('list', 500, 'InternalError');
    const reflector = start();
    const over = new AbortController();
    const caughtUp = reflector.catchUp(over.signal);
    over.abort();
    await caughtUp;
    expect(reflector.hasSynced()).toBe(false);
  });

  it('relists on its slow timer', async () => {
    await untilSynced(start({ timings: { relistMs: 60 } }));
    const lists = count('GET list');
    await until(() => count('GET list') >= lists + 2);
    expect(phases).toEqual(['Syncing', 'Synced']);
  });

  it('stops at once, and keeps what it knew', async () => {
    server.put('a');
    const reflector = start();
    await untilSynced(reflector);
    stop.abort();
    await running;
    expect(names(reflector)).toEqual(['a']);
    await until(() => server.watchers === 0);
  });

  it('stops while it waits to try again', async () => {
    server.refuse('list', 403, 'Forbidden');
    const reflector = start({ timings: { baseBackoffMs: 60_000, maxBackoffMs: 60_000 } });
    await until(() => reflector.state.phase === 'Forbidden');
    stop.abort();
    await expect(running).resolves.toBeUndefined();
  });
});
