import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { rule, cnfPod } from '../testing/facts.ts';
import { idsOf } from './change.ts';
import { spansOfReport, spansOfStatus } from './spans.ts';

const times = (changes: object = {}) => ({
  uid: rule().uid,
  generation: rule().generation,
  seenAt: 1_000,
  begunAt: 1_010,
  compiledAt: 1_020,
  appliedAt: 1_050,
  ...changes,
});
const pod = cnfPod('cnf-1-a', { purpose: rule().purpose });
const reported = (given: object, of = pod) =>
  spansOfReport({ times: [times(given)], clock: { startedAt: 0, sentAt: 1_100 } }, of, (uid) =>
    [rule()].find((known) => known.uid === uid),
  );

it('say that an agent saw, compiled, applied and reported the change, one after the other', () => {
  expect(reported({}).map(({ name, startedAt, endedAt }) => [name, startedAt, endedAt])).toEqual([
    ['seen', 1_000, 1_010],
    ['compiled', 1_010, 1_020],
    ['applied', 1_020, 1_050],
    ['reported', 1_050, 1_100],
  ]);
});

it('last for a change until its status is written', () => {
  const spans = spansOfStatus(rule(), { changedAt: 900, begunAt: 1_150, writtenAt: 1_160 });
  expect(
    spans.map(({ name, isRoot = false, startedAt, endedAt }) => [name, isRoot, startedAt, endedAt]),
  ).toEqual([
    ['status', false, 1_150, 1_160],
    ['FirewallRule changed', true, 900, 1_160],
  ]);
});

it('leave out rules of other CNFs, rules that are not known, and changes to come', () => {
  expect(reported({}, cnfPod('other', { namespace: 'other', purpose: rule().purpose }))).toEqual(
    [],
  );
  expect(reported({}, cnfPod('other', { purpose: 'cnf-2' }))).toEqual([]);
  expect(reported({ uid: 'unknown' })).toEqual([]);
  expect(reported({ generation: rule().generation + 1 })).toEqual([]);
});

it('are never shorter than nothing, whatever an agent reports', () => {
  const at = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
  fc.assert(
    fc.property(fc.record({ seenAt: at, begunAt: at, compiledAt: at, appliedAt: at }), (given) => {
      for (const { startedAt, endedAt } of reported(given))
        expect(endedAt).toBeGreaterThanOrEqual(startedAt);
    }),
  );
});

it('have ids of their own for each change, and the same on every coordinator', () => {
  const one = idsOf({ uid: 'a', generation: 1 });
  expect(one).toEqual(idsOf({ uid: 'a', generation: 1 }));
  expect(one.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(one.rootId).toMatch(/^[0-9a-f]{16}$/);
  const others = [idsOf({ uid: 'a', generation: 2 }), idsOf({ uid: 'b', generation: 1 })];
  expect(new Set([one, ...others].map(({ traceId }) => traceId)).size).toBe(3);
});
