import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silentLogger } from '../runtime/log.ts';
import type { KubeClient } from './client.ts';
import { KubeError } from './errors.ts';
import { EventRecorder } from './events.ts';
import type { KubeObject } from './objects.ts';

const rule: KubeObject = {
  apiVersion: 'x/v1',
  kind: 'X',
  metadata: { name: 'r', namespace: 'ns', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
};
const event = {
  object: rule,
  type: 'Warning',
  reason: 'Blocked',
  message: 'pod a blocks',
} as const;

let stored: Map<string, { count: number; message: string }>;
let failures: KubeError[];
let stop: AbortController;
let running: Promise<void>;

const fakeClient = (): KubeClient => {
  const error = (status: number): KubeError => new KubeError('x', 'x', { status, reason: 'x' });
  const fail = (): void => {
    const failure = failures.shift();
    if (failure) throw failure;
  };
  return {
    create: vi.fn<(_: unknown, body: never) => Promise<never>>(async (_resource, body) => {
      fail();
      const { metadata, count, message } = body as {
        metadata: { name: string };
        count: number;
        message: string;
      };
      if (stored.has(metadata.name)) throw error(409);
      stored.set(metadata.name, { count, message });
      return body;
    }),
    get: async (_resource: unknown, { name }: { name: string }) => stored.get(name),
    patch: async (
      _resource: unknown,
      { name }: { name: string },
      { patch }: { patch: { body: object } },
    ) => {
      fail();
      const known = stored.get(name);
      if (!known) throw error(404);
      Object.assign(known, patch.body);
    },
  } as never;
};

const start = (): EventRecorder => {
  const recorder = new EventRecorder({
    client: fakeClient(),
    component: 'c',
    instance: 'i',
    log: silentLogger,
  });
  running = recorder.run(stop.signal);
  return recorder;
};

beforeEach(() => {
  vi.useFakeTimers();
  stored = new Map();
  failures = [];
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await running;
  vi.useRealTimers();
});

const written = (): [string, number][] =>
  [...stored.values()].map(({ message, count }) => [message, count]);

it('makes one Event with a count of repeated messages', async () => {
  const recorder = start();
  for (let i = 0; i < 3; i += 1) recorder.record(event);
  await vi.advanceTimersByTimeAsync(1_000);
  recorder.record(event);
  recorder.record({ ...event, message: 'pod b blocks' });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(written()).toEqual([
    ['pod a blocks', 4],
    ['pod b blocks', 1],
  ]);
});

it('goes on counting where another run of the program stopped', async () => {
  start().record(event);
  await vi.advanceTimersByTimeAsync(1_000);
  start().record(event);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(written()).toEqual([['pod a blocks', 2]]);
});

it('makes one Event of a message that is recorded once, whichever run of the program records it', async () => {
  const once = { ...event, once: true } as const;
  const recorder = start();
  recorder.record(once);
  recorder.record(once);
  await vi.advanceTimersByTimeAsync(1_000);
  recorder.record(once);
  await vi.advanceTimersByTimeAsync(1_000);
  start().record(once);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(written()).toEqual([['pod a blocks', 1]]);
});

it('counts what was recorded once and has become so again', async () => {
  const once = { ...event, once: true } as const;
  const first = start();
  first.record(once);
  first.record(event);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(written()).toEqual([['pod a blocks', 2]]);
  const second = start();
  second.record(once);
  await vi.advanceTimersByTimeAsync(1_000);
  second.record(event);
  await vi.advanceTimersByTimeAsync(1_000);
  second.record(once);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(written()).toEqual([['pod a blocks', 3]]);
});

it('has messages of 1,024 characters at most', async () => {
  start().record({ ...event, message: 'x'.repeat(2_000) });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(written()).toEqual([['x'.repeat(1_024), 1]]);
});

it('forgets the oldest of more than 4,096 Events', async () => {
  const recorder = start();
  recorder.record(event);
  for (let at = 0; at < 4_096; at += 1) {
    const metadata = { ...rule.metadata, name: `other-${at}`, uid: `other-${at}` };
    recorder.record({ ...event, object: { ...rule, metadata }, message: 'of another' });
  }
  await vi.advanceTimersByTimeAsync(10_000);
  expect(stored.size).toBe(4_096);
  expect(written()).not.toContainEqual(['pod a blocks', 1]);
});

it('begins anew when the Event has expired', async () => {
  const recorder = start();
  recorder.record(event);
  await vi.advanceTimersByTimeAsync(1_000);
  stored.clear();
  recorder.record(event);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(written()).toEqual([['pod a blocks', 1]]);
});

it('tries again when the server does not answer, and loses no count', async () => {
  failures.push(new KubeError('x', 'away', { status: 0, reason: 'Unreachable' }));
  failures.push(new KubeError('x', 'busy', { status: 429, reason: 'TooManyRequests' }));
  const recorder = start();
  recorder.record(event);
  await vi.advanceTimersByTimeAsync(600);
  recorder.record(event);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(written()).toEqual([['pod a blocks', 2]]);
});

it('writes what is left when the program ends, also what was recorded after the signal', async () => {
  const recorder = start();
  recorder.record(event);
  stop.abort();
  await running;
  recorder.record({ ...event, message: 'pod b blocks' });
  await recorder.flush();
  await recorder.flush();
  expect(written()).toEqual([
    ['pod a blocks', 1],
    ['pod b blocks', 1],
  ]);
});

it('does not wait at the end for a server that does not answer', async () => {
  failures.push(new KubeError('x', 'away', { status: 0, reason: 'Unreachable' }));
  const recorder = start();
  recorder.record(event);
  stop.abort();
  await running;
  await recorder.flush();
  expect(written()).toEqual([]);
});

it('gives up what the server refuses', async () => {
  failures.push(new KubeError('x', 'no', { status: 403, reason: 'Forbidden' }));
  const recorder = start();
  recorder.record(event);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(written()).toEqual([]);
});

it('drops the surplus Events of an object that causes too many, and recovers', async () => {
  const recorder = start();
  for (let i = 0; i < 50; i += 1) recorder.record({ ...event, message: `m${i}` });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(stored.size).toBe(20);
  expect(recorder.dropped).toBe(30);
  await vi.advanceTimersByTimeAsync(120_000);
  recorder.record(event);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(stored.size).toBe(21);
});

it('asks the server again for the count of what has been quiet for five minutes', async () => {
  const recorder = start();
  recorder.record(event);
  await vi.advanceTimersByTimeAsync(301_000);
  recorder.record({ ...event, message: 'pod b blocks' });
  Object.assign(stored.values().next().value ?? {}, { count: 7 });
  recorder.record(event);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(written()).toEqual([
    ['pod a blocks', 8],
    ['pod b blocks', 1],
  ]);
});
