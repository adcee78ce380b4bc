import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../runtime/testing/manual-clock.ts';
import { silentLogger } from '../runtime/log.ts';
import type { KubeClient } from './client.ts';
import { KubeError } from './errors.ts';
import { createElection, leadersClient, LEASE_MS, type Election } from './leadership.ts';
import { createLease, type Handover, type HeldLease } from './lease.ts';
import type { ResourceType } from './objects.ts';

const SECOND = 1_000;
const key = { namespace: 'sdewan-system', name: 'sdewan-coordinator' };

type Stored = { metadata: object & { resourceVersion: string }; spec: Record<string, unknown> };

let clock: ManualClock;
/** The Lease as the API server keeps it. */
let stored: Stored | undefined;
let version: number;
/** Whose requests are not answered. */
let cutOff: Set<string>;

beforeEach(() => {
  clock = createManualClock();
  [stored, version, cutOff] = [undefined, 0, new Set()];
});

const failure = (status: number): KubeError =>
  new KubeError('lease', String(status), { status, reason: 'x' });

const clientOf = (identity: string) => {
  const answer = (schema: ResourceType['schema'], body: object | undefined) => {
    if (cutOff.has(identity)) throw failure(0);
    if (!body) throw failure(404);
    return schema.parse({ apiVersion: 'v1', kind: 'Lease', ...structuredClone(body) });
  };
  const write = (r: ResourceType, body: Stored) => {
    if (cutOff.has(identity)) throw failure(0);
    if (body.metadata.resourceVersion !== stored?.metadata.resourceVersion) throw failure(409);
    version += 1;
    const metadata = { uid: 'u', creationTimestamp: '', ...body.metadata };
    stored = { ...body, metadata: { ...metadata, resourceVersion: String(version) } };
    return answer(r.schema, stored);
  };
  const client = {
    get: async (r: ResourceType) => answer(r.schema, stored),
    create: async (r: ResourceType, body: Stored) => write(r, body),
    replace: async (r: ResourceType, body: Stored) => write(r, body),
  };
  return client as unknown as KubeClient;
};

const NO_HANDOVER: Handover = { read: () => undefined, write: () => '' };

const leaseOf = (identity: string, handover = NO_HANDOVER): HeldLease =>
  createLease({ client: clientOf(identity), key, identity, durationMs: LEASE_MS, handover, clock });

type Replica = Election & { stop: () => Promise<void>; works: () => number };

const start = (identity: string, handover = NO_HANDOVER): Replica => {
  const lease = leaseOf(identity, handover);
  const election = createElection({ lease, clock, log: silentLogger });
  const stopping = new AbortController();
  const running = election.run(stopping.signal);
  let works = 0;
  void election.lead(async (signal) => {
    works += 1;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    works -= 1;
  }, stopping.signal);
  return {
    ...election,
    works: () => works,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
};

const pass = async (ms: number): Promise<void> => {
  const end = clock.monotonic() + ms;
  while (clock.monotonic() < end) {
    clock.advance(100);
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  }
};

const leaders = (...replicas: Replica[]): number[] =>
  replicas.flatMap((replica, index) => (replica.term() === undefined ? [] : [index]));

describe('of two replicas', () => {
  it('has one that leads and goes on; when it stops, the other one leads at once, in a later term', async () => {
    const [a, b] = [start('a'), start('b')];
    await pass(60 * SECOND);
    expect(leaders(a, b)).toHaveLength(1);
    const [leader, other] = a.term() === undefined ? [b, a] : [a, b];
    expect([leader.term(), leader.works(), other.works()]).toEqual([1, 1, 0]);
    await leader.stop();
    expect(stored?.spec['holderIdentity']).toBe('');
    await pass(3 * SECOND);
    expect([leader.term(), leader.works(), other.term(), other.works()]).toEqual([
      undefined,
      0,
      2,
      1,
    ]);
    await other.stop();
  });

  it('leaves what others have put on the Lease', async () => {
    const finalizers = ['example.org/kept'];
    const a = start('a');
    await pass(3 * SECOND);
    Object.assign(stored?.metadata ?? {}, { finalizers });
    await pass(10 * SECOND);
    expect([leaders(a), stored?.metadata]).toMatchObject([[0], { finalizers }]);
    await a.stop();
  });

  it('does the last work of one that stops after all other and before it gives the Lease up; for one that does not lead, never', async () => {
    const [a, b] = [start('a'), start('b')];
    await pass(60 * SECOND);
    const [leader, other] = a.term() === undefined ? [b, a] : [a, b];
    const seen: unknown[] = [];
    for (const one of [leader, other])
      one.beforeRelease(async () => {
        seen.push([one === leader, one.works(), one.term(), stored?.spec['holderIdentity'] !== '']);
      });
    await other.stop();
    await leader.stop();
    expect(seen).toEqual([[true, 0, 1, true]]);
    expect(stored?.spec['holderIdentity']).toBe('');
  });

  it('never two lead, whatever is cut off from the API server, and one does within 15 s', async () => {
    const [a, b] = [start('a'), start('b')];
    const terms = new Map<number, Replica>();
    let leaderless = 0;
    for (let second = 0; second < 600; second += 1) {
      cutOff = new Set([['a'], ['b'], []][Math.floor(second / 20) % 3]);
      await pass(SECOND);
      const leading = [a, b].filter((one) => one.term() !== undefined);
      expect(leading.length).toBeLessThanOrEqual(1);
      for (const one of leading) {
        expect(terms.get(one.term() ?? -1) ?? one).toBe(one);
        terms.set(one.term() ?? -1, one);
      }
      if (second % 20 > 15 && leading.length === 0) leaderless += 1;
    }
    expect(terms.size).toBeGreaterThan(10);
    expect(leaderless).toBe(0);
    cutOff = new Set();
    await Promise.all([a.stop(), b.stop()]);
  });
});

it('does not lead after a stop, even before it has learnt that its term ended', async () => {
  const a = start('a');
  await pass(3 * SECOND);
  expect(a.term()).toBe(1);
  // Time passes, and no timer of it runs.
  const { monotonic } = clock;
  const before = clock.monotonic();
  clock.monotonic = () => before + 7 * SECOND;
  expect(a.term()).toBe(undefined);
  clock.monotonic = monotonic;
  await a.stop();
});

it('does in a new term what was not done after one had ended', async () => {
  const a = start('a');
  await pass(SECOND);
  let begun = 0;
  const stopping = new AbortController();
  const leading = a.lead(async (signal) => {
    begun += 1;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }, stopping.signal);
  cutOff = new Set(['a']);
  await pass(8 * SECOND);
  expect([a.term(), begun]).toEqual([undefined, 1]);
  cutOff = new Set();
  await pass(3 * SECOND);
  expect([a.term(), begun]).toEqual([1, 2]);
  stopping.abort();
  await leading;
  await a.stop();
});

describe('what the holder leaves to the next one', () => {
  /** Notes what it is given, and leaves that with its own name. */
  const noting = (name: string) => {
    const given: string[] = [];
    return {
      given,
      read: (text: string) => void given.push(text),
      write: () => [...(given.at(-1)?.split(' ') ?? []), name].slice(-3).join(' ').trim(),
    };
  };

  it('is read before the Lease is taken, renewed or released, and beside it annotations of others stay', async () => {
    const [a, b] = [noting('a'), noting('b')];
    const first = leaseOf('a', a);
    await first.hold({});
    expect(a.given).toEqual([]);
    const { metadata } = stored ?? {};
    stored = {
      ...stored,
      metadata: { ...metadata, annotations: { ...annotations(), 'example.org/x': 'theirs' } },
    } as Stored;
    await first.hold({});
    await first.release({});
    expect(a.given).toEqual(['a', 'a a']);
    expect(await leaseOf('b', b).hold({})).toBe(2);
    expect(b.given).toEqual(['a a a']);
    expect(annotations()).toEqual({
      'sdewan.akraino.org/awaited-reports': 'a a b',
      'example.org/x': 'theirs',
    });
  });

  it('goes into each renewal, and at once when that is asked for', async () => {
    let left = 'x';
    const a = start('a', { read: () => undefined, write: () => left });
    await pass(200);
    left = 'y';
    await pass(3 * SECOND);
    expect(Object.values(annotations())).toEqual(['y']);
    left = 'z';
    a.renew();
    await pass(100);
    expect(Object.values(annotations())).toEqual(['z']);
    await a.stop();
    expect(Object.values(annotations())).toEqual(['z']);
  });

  const annotations = (): Record<string, string> =>
    ((stored?.metadata ?? {}) as { annotations?: Record<string, string> }).annotations ?? {};
});

describe('a Lease', () => {
  it('goes at once, with a later term, to the next process of the same pod when one has died', async () => {
    expect(await leaseOf('a').hold({})).toBe(1);
    expect(await leaseOf('a').hold({})).toBe(2);
    expect(await leaseOf('b').hold({})).toBe(undefined);
  });

  it('has a higher number also when it was deleted in between', async () => {
    const lease = leaseOf('a');
    await lease.hold({});
    stored = { ...stored, spec: { leaseTransitions: 7, holderIdentity: '' } } as Stored;
    expect(await lease.hold({})).toBe(8);
    stored = undefined;
    expect(await lease.hold({})).toBe(9);
  });
});

it('refuses a write of a replica that does not lead here, but not what is read and reviewed', async () => {
  const done: string[] = [];
  const told = (what: string) => async () => void done.push(what);
  const all = ['create', 'replace', 'patch', 'delete', 'get', 'list', 'watch'] as const;
  const client = Object.fromEntries(all.map((name) => [name, told(name)])) as unknown as KubeClient;
  const terms: number[] = [];
  const guarded = leadersClient(client, { term: () => terms[0] });
  const rule = { group: 'g', plural: 'rules' } as ResourceType;
  const call = async (name: (typeof all)[number], resource = rule): Promise<unknown> =>
    (guarded[name] as (r: ResourceType) => Promise<unknown>)(resource).catch(
      (error: KubeError) => error.reason,
    );
  const outcomes = () => Promise.all(all.map((name) => call(name)));
  const refused = 'NotLeading';
  expect((await outcomes()).slice(0, 4)).toEqual([refused, refused, refused, refused]);
  expect(done).toEqual(['get', 'list', 'watch']);
  await call('create', { ...rule, group: 'authentication.k8s.io' });
  await call('create', { ...rule, group: 'authorization.k8s.io' });
  expect(done.splice(0)).toEqual(['get', 'list', 'watch', 'create', 'create']);
  terms.push(1);
  await outcomes();
  expect(done).toEqual([...all]);
});
