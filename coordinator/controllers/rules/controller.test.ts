import { ALWAYS_LEADING } from '#shared/kube/testing/controller.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { AGENTS_FINALIZER, ICN_FINALIZERS } from '#shared/names.ts';
import { ruleStatusSchema } from '#shared/protocol/status.ts';
import type { Resource } from '#shared/resources/resource.ts';
import { systemClock, type Clock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { Registry } from '#shared/metrics/prometheus.ts';
import { createMetrics } from '../../metrics.ts';
import { Reports } from '../../reports/reports.ts';
import { ruleOf } from '../../sources/rule.ts';
import type { RuleVersion } from '../../sources/rules.ts';
import type { CnfPod } from '../../sources/cnf-pod.ts';
import { sentReport, cnfPod, word } from '../../testing/facts.ts';
import { ruleObject, ruleResource } from '../../testing/rule-object.ts';
import { MissingReports } from './missing-reports.ts';
import { RuleFacts } from './facts.ts';
import { RulesController } from './controller.ts';

/** One object as an API server keeps it: every write has to name its uid and version. */
let stored: RuleObject | undefined;
/** What our watch has told of it. */
let watched: RuleObject;
let writes: string[];
let newer: RuleVersion | undefined;
/** What the rule's kind has. */
let kind: Pick<Resource, 'coalesceMs' | 'status'>;
let watchedPods: CnfPod[];
let livePods: CnfPod[];
let looks: number;
let reads: number;
let reports: Reports;
/** Reasons of Events. */
let events: string[];
/**
 * Milliseconds that a caller has asked to wait. Those of a second and more are over at once, and
 * have passed then.
 */
let waits: number[];
const BEGIN = Date.now();
let passedMs: number;
let stop: () => Promise<void>;
let reconciler: RulesController;

const deleting = { deletionTimestamp: '2026-01-02T03:04:06Z' };

const conflict = () => new KubeError('write', 'changed', { status: 409, reason: 'Conflict' });
const notFound = () => new KubeError('get', 'gone', { status: 404, reason: 'NotFound' });

const versionOf = (from: RuleObject): RuleVersion => ({
  resource: { ...ruleResource, ...kind },
  object: from,
  rule: ruleOf(from, 'r1'),
});

type Written = { metadata: { uid: string; resourceVersion: string; finalizers?: string[] } };
const write = (what: string, { metadata, ...rest }: Written & { status?: unknown }): RuleObject => {
  if (!stored) throw notFound();
  const { uid, resourceVersion } = stored.metadata;
  if (metadata.uid !== uid || metadata.resourceVersion !== resourceVersion) throw conflict();
  writes.push(`${what} ${uid}@${resourceVersion}`);
  const version = String(Number(resourceVersion) + 1);
  const { finalizers = stored.metadata.finalizers ?? [] } = metadata;
  stored = {
    ...stored,
    ...rest,
    metadata: { ...stored.metadata, finalizers, resourceVersion: version },
  };
  return stored;
};

const client = {
  get: async () => {
    reads += 1;
    if (!stored) throw notFound();
    return stored;
  },
  replace: async (_resource: unknown, body: unknown) => write('status', body as Written),
  patch: async (_resource: unknown, _key: unknown, { patch }: { patch: { body: unknown } }) =>
    write('finalizers', patch.body as Written),
} as unknown as KubeClient;

beforeEach(() => {
  [writes, watchedPods, livePods, looks, newer] = [[], [], [], 0, undefined];
  kind = {};
  [events, waits, reads, passedMs] = [[], [], 0, 0];
  const rules = {
    get: () => newer ?? versionOf(watched),
    learn: (fresh: RuleObject) => (newer = versionOf(fresh)),
    uids: () => [].values(),
    uidsOfPurpose: () => new Set([watched.metadata.uid]),
  };
  reports = new Reports({ silentAfterMs: 60_000 });
  const pods = {
    ofPurpose: () => watchedPods,
    ofNamespace: () => watchedPods,
    look: async () => {
      looks += 1;
      return livePods;
    },
  };
  const clock: Clock = {
    ...systemClock,
    now: () => BEGIN + passedMs,
    monotonic: () => passedMs,
    after: (ms, callback) => {
      waits.push(ms);
      return systemClock.after(1, () => {
        passedMs += ms;
        callback();
      });
    },
  };
  const facts = new RuleFacts({
    pods,
    reports,
    missingReports: new MissingReports({ silentAfterMs: 60_000 }),
    silentAfterMs: 60_000,
    clock,
  });
  reconciler = new RulesController({
    client,
    rules,
    reports,
    facts: () => facts,
    record: ({ reason }) => events.push(reason),
    onInSync: () => undefined,
    metrics: createMetrics(new Registry()),
    leadership: ALWAYS_LEADING,
    clock,
    log: silentLogger,
  });
  const controller = new AbortController();
  const done = reconciler.run(controller.signal);
  stop = async () => {
    controller.abort();
    await done;
  };
});
afterEach(() => stop());

const work = async (on: RuleObject, from: RuleObject = on): Promise<void> => {
  [stored, watched] = [on, from];
  reconciler.markRule(watched.metadata.uid);
  await expect.poll(() => reconciler.queued).toBe(0);
};

it('adds the finalizer to a rule before it writes its status', async () => {
  await work(ruleObject({ finalizers: [] }));
  expect(writes).toEqual(['finalizers rule-1@1']);
  expect(stored?.metadata.finalizers).toEqual([AGENTS_FINALIZER]);
});

it('adds the finalizer at once, and writes the status a little later', async () => {
  await work(ruleObject({ finalizers: [] }));
  expect(waits).toEqual([]);
  await work(stored!);
  expect(waits).toHaveLength(1);
});

it('collects changes for as long as the kind of the rule says', async () => {
  kind = { coalesceMs: 30_000 };
  await work(ruleObject());
  expect(waits).toEqual([30_000]);
});

it('leaves the fields of a status that only the kind of the rule has as they are', async () => {
  kind = { status: ruleStatusSchema.extend({ entries: z.int() }) };
  await work({ ...ruleObject(), status: { entries: 3, inSync: true, unknown: 'x' } });
  expect(stored?.status).toMatchObject({ entries: 3, inSync: false });
  expect(stored?.status).not.toHaveProperty('unknown');
  await work(stored!);
  expect(writes).toHaveLength(1);
});

it('waits before it writes a problem that may pass by itself', async () => {
  watchedPods = [cnfPod('a')];
  await work(ruleObject());
  expect(waits).toEqual([100, 2_000]);
  expect(writes).toEqual(['status rule-1@1']);
});

it('writes the status of a rule that changes all the time three times at once, and then waits', async () => {
  stored = ruleObject();
  for (let generation = 2; generation <= 5; generation += 1) {
    newer = undefined;
    await work({ ...stored, metadata: { ...stored.metadata, generation } });
  }
  expect(writes).toHaveLength(4);
  // A timer may fire a little early, and is then followed by a short one.
  expect(waits.slice(0, 5).map((ms) => ms > 100)).toEqual([false, false, false, false, true]);
  expect(waits.slice(5).filter((ms) => ms > 100)).toEqual([]);
});

it('writes a status once, and not again while nothing changes', async () => {
  await work(ruleObject());
  expect(writes).toEqual(['status rule-1@1']);
  await work(stored!);
  expect(writes).toHaveLength(1);
});

it('knows its own write before the watch shows it', async () => {
  await work(ruleObject());
  await work(stored!, ruleObject());
  expect(writes).toHaveLength(1);
  expect(reads).toBe(0);
});

it('reconciles the rules that a pod without its label still reports', async () => {
  [stored, watched] = [ruleObject({ labels: {} }), ruleObject({ labels: {} })];
  const page = sentReport({ rules: [word({ uid: 'rule-1' })] });
  reports.accept('uid-a', page, { monotonic: 0, wall: 0 });
  reconciler.markPod(cnfPod('a', { purpose: undefined }));
  await expect.poll(() => writes).toEqual(['status rule-1@1']);
});

it('records one Event for a removal that stays blocked', async () => {
  watchedPods = [cnfPod('a')];
  const asked = { deletionTimestamp: new Date().toISOString() };
  [stored, watched] = [ruleObject(asked), ruleObject(asked)];
  reconciler.markRule('rule-1');
  await expect.poll(() => events).toEqual(['RemovalBlocked']);
  await work(stored);
  expect(events).toEqual(['RemovalBlocked']);
});

it.each([
  ['nothing where nothing is left', '', []],
  ['what may still be up', 'tunnels of before', ['TunnelsLeftUp']],
])('records of a rule that goes %s', async (_what, message, expected) => {
  watchedPods = [cnfPod('a')];
  livePods = watchedPods;
  const said = word({
    uid: 'rule-1',
    revision: 'r1',
    state: 'Removed',
    reason: 'Removed',
    message,
  });
  reports.accept('uid-a', sentReport({ rules: [said] }), { monotonic: 0, wall: 0 });
  await work(ruleObject(deleting));
  expect(stored?.metadata.finalizers).toEqual([]);
  expect(events).toEqual(expected);
});

describe('an outdated version', () => {
  it('is read again, and the status is computed for the current version', async () => {
    await work(ruleObject({ resourceVersion: '5', generation: 2 }), ruleObject());
    expect(writes).toEqual(['status rule-1@5']);
    expect(stored?.status).toMatchObject({ observedGeneration: 2 });
  });

  it('does not remove the finalizer of a successor that is not being deleted', async () => {
    const successor = ruleObject({ uid: 'rule-2', resourceVersion: '9' });
    await work(successor, ruleObject({ ...deleting, resourceVersion: '4' }));
    expect(writes).toEqual([]);
    expect(stored).toBe(successor);
  });

  it('is ignored when its rule is gone', async () => {
    stored = undefined;
    watched = ruleObject(deleting);
    reconciler.markRule('rule-1');
    await expect.poll(() => reconciler.queued).toBe(0);
    expect(writes).toEqual([]);
  });
});

it('tells half a minute later what a rule waits for, once', async () => {
  const waits = { state: 'Pending', reason: 'WaitingForSecret', message: 'key' } as const;
  watchedPods = [cnfPod('a')];
  reports.accept('uid-a', sentReport({ rules: [word({ ...waits, revision: 'r1' })] }), {
    monotonic: systemClock.monotonic(),
    wall: Date.now(),
  });
  await work(ruleObject({ generation: 2 }));
  passedMs += 29_000;
  reconciler.markWaiting();
  expect(reconciler.queued).toBe(0);
  passedMs += 1_000;
  reconciler.markWaiting();
  await expect.poll(() => events).toEqual(['WaitingForSecret']);
  reconciler.markWaiting();
  await work(watched);
  expect(events).toEqual(['WaitingForSecret']);
});

describe('before the finalizer is removed', () => {
  it("ICN's finalizers are removed, too, and those of others stay", async () => {
    const finalizers = ['example.com/other', ...ICN_FINALIZERS, AGENTS_FINALIZER];
    await work(ruleObject({ ...deleting, finalizers }));
    expect(stored?.metadata.finalizers).toEqual(['example.com/other']);
  });

  it('includes the pods of the API server, past the watch', async () => {
    await work(ruleObject(deleting));
    expect(looks).toBe(1);
    expect(writes).toEqual(['finalizers rule-1@1']);
    expect(stored?.metadata.finalizers).toEqual([]);
  });

  it('keeps it for a pod that only that look finds, and names the pod', async () => {
    livePods = [cnfPod('unseen')];
    [stored, watched] = [ruleObject(deleting), ruleObject(deleting)];
    reconciler.markRule('rule-1');
    await expect.poll(() => writes).toEqual(['status rule-1@1']);
    expect(stored?.metadata.finalizers).toEqual([AGENTS_FINALIZER]);
    expect(stored?.status).toMatchObject({ outOfSync: [{ pod: 'unseen' }] });
    // The look is repeated: no watch shows when that pod goes.
    livePods = [];
    await expect.poll(() => stored?.metadata.finalizers).toEqual([]);
  });

  it('needs no such look while a known pod blocks', async () => {
    watchedPods = [cnfPod('a')];
    [stored, watched] = [ruleObject(deleting), ruleObject(deleting)];
    reconciler.markRule('rule-1');
    await expect.poll(() => writes).toEqual(['status rule-1@1']);
    expect(looks).toBe(0);
  });
});
