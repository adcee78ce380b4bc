import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { caseCount } from '#shared/runtime/testing.ts';
import { Reports } from '../reports/reports.ts';
import { NOW, context, rule, sentReport, cnfPod, word } from '../testing/facts.ts';
import { decide } from './deletion.ts';
import { isOfEarlierRun } from './earlier-run.ts';

const SHOWN = NOW;
const shown = { state: 'started', startedAt: SHOWN } as const;

describe('a report is of an earlier run than the one that the pod shows', () => {
  const at = (startedAt: number, sentAt: number) => ({
    clock: { startedAt: SHOWN + startedAt, sentAt: SHOWN + sentAt },
  });
  const cases: Record<string, { report: ReturnType<typeof at>; earlier: boolean }> = {
    'when its agent started before, and sent it before': {
      report: at(-1, 999),
      earlier: true,
    },
    'not when its agent started in that second': { report: at(0, 300), earlier: false },
    'not when its agent started later, since the kubelet may not have posted it yet': {
      report: at(15_000, 15_300),
      earlier: false,
    },
    'not when it was sent later, since the kubelet took the time late': {
      report: at(-2_000, 1_000),
      earlier: false,
    },
  };
  it.each(Object.entries(cases))('%s', (_name, { report, earlier }) => {
    expect(isOfEarlierRun(report, shown)).toBe(earlier);
  });

  it.each([
    ['no run', { state: 'never-started', scheduled: true } as const],
    ['no time', { state: 'started', startedAt: undefined } as const],
  ])('not when the pod shows %s', (_name, agent) => {
    expect(isOfEarlierRun(at(-9_000, -9_000), agent)).toBe(false);
  });
});

/** A container that crashes again and again: what happens in each run, in milliseconds. */
const anyRun = fc.record({
  /** A kubelet's restart takes a second at least. */
  pause: fc.integer({ min: 1_000, max: 20_000 }),
  /** Until the process runs, and from then until the runtime takes the time. */
  begins: fc.integer({ min: 20, max: 1_500 }),
  stampedLate: fc.oneof(fc.nat(50), fc.nat(4_000)),
  /** Until the kubelet has posted it. */
  lag: fc.nat(15_000),
  life: fc.integer({ min: 1_600, max: 30_000 }),
  /** In its life, each a part of it; how long they are under way. */
  reports: fc.array(
    fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), takes: fc.nat(2_000) }),
    { maxLength: 3 },
  ),
});
type Run = {
  startedAt: number;
  stamp: number;
  postedAt: number;
  sent: { at: number; takes: number }[];
};

const HEARTBEAT_MS = 10_000;

const historyOf = (runs: readonly ReturnType<typeof anyRun.generate>['value'][]): Run[] => {
  let time = NOW;
  let postedAt = 0;
  return runs.map(({ pause, begins, stampedLate, lag, life, reports }, at) => {
    const from = time + pause;
    const startedAt = from + begins;
    // A run that has ended was posted with the time that it had; the runtime takes it before the
    // process can end.
    const stamp = from + Math.min(stampedLate, life);
    postedAt = Math.max(postedAt, stamp + lag);
    time = from + life;
    const sent = reports
      .map(({ at: part, takes }) => ({ at: startedAt + part * Math.max(0, life - begins), takes }))
      .sort((one, other) => one.at - other.at);
    // The last one lives, longer than coordinators start anew.
    const beats = Array.from({ length: 12 }, (_, beat) => ({
      at: time + beat * HEARTBEAT_MS,
      takes: 0,
    }));
    return {
      startedAt,
      stamp,
      postedAt,
      sent: at === runs.length - 1 ? [...sent, ...beats] : sent,
    };
  });
};

type Event = { time: number } & (
  | { posts: number }
  | { reports: number; sentAt: number; sequence: number }
  | { forgets: true }
);

const eventsOf = (runs: readonly Run[], coordinatorStarts: readonly number[]): Event[] =>
  [
    ...runs.flatMap(({ postedAt, sent }, run): Event[] => [
      { time: postedAt, posts: run },
      ...sent.map(({ at, takes }, sequence) => ({
        time: at + takes,
        reports: run,
        sentAt: at,
        sequence,
      })),
    ]),
    ...coordinatorStarts.map((after): Event => ({ time: NOW + after, forgets: true })),
  ].sort((one, other) => one.time - other.time);

it('lets no run confirm for a later one that is shown, in any order and however late the kubelet posts, and the last one confirms', () => {
  const histories = fc.tuple(
    fc.array(anyRun, { minLength: 1, maxLength: 5 }),
    fc.array(fc.nat(90_000), { maxLength: 2 }),
  );
  fc.assert(
    fc.property(histories, ([generated, coordinatorStarts]) => {
      const runs = historyOf(generated);
      const deleted = rule({ deletedAt: NOW - 60_000 });
      const { since: _since, ...removed } = word({ state: 'Removed', reason: 'Removed' });
      let reports = new Reports({ silentAfterMs: 60_000 });
      // An agent that is told that a later start of it has reported begins a new boot
      // (agent/report/publish.ts).
      const boots = runs.map((_, run) => `boot-000${run}`);
      let posted = -1;
      let reported = -1;
      let isRemovable = false;
      for (const event of eventsOf(runs, coordinatorStarts)) {
        if ('forgets' in event) [reports, reported] = [new Reports({ silentAfterMs: 60_000 }), -1];
        else if ('posts' in event) posted = event.posts;
        else {
          const { reports: run, sentAt, sequence } = event;
          const { outcome } = reports.accept(
            'uid-a',
            sentReport({
              bootId: boots[run]!,
              sequence,
              rules: [removed],
              clock: { startedAt: runs[run]!.startedAt, sentAt },
            }),
            { monotonic: event.time, wall: event.time },
          );
          if (outcome === 'old-boot') boots[run] += '-again';
          else reported = run;
        }
        const seconds = posted < 0 ? undefined : Math.floor(runs[posted]!.stamp / 1_000) * 1_000;
        const pod = cnfPod('a', { agent: { state: 'started', startedAt: seconds } });
        const report = reports.of('uid-a');
        const known = new Map(report ? [['uid-a', report]] : []);
        isRemovable = decide(
          deleted,
          [pod],
          known,
          context({ monotonic: event.time, now: event.time }),
        ).remove;
        expect(isRemovable && reported < posted).toBe(false);
      }
      expect(isRemovable).toBe(true);
    }),
    { numRuns: caseCount(1_000) },
  );
});
