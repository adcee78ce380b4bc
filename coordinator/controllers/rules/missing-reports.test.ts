import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { caseCount } from '#shared/runtime/testing.ts';
import { cnfPod } from '../../testing/facts.ts';
import { MissingReports, LAST_MS } from './missing-reports.ts';

const SILENT_AFTER = 20_000;
const STEP_MS = 100;
const RENEWED_WITHIN = 2_200;

describe('a replica that leads', () => {
  let missingReports: MissingReports;

  beforeEach(() => {
    missingReports = new MissingReports({ silentAfterMs: 1_000 });
    missingReports.begin([
      cnfPod('a'),
      cnfPod('b'),
      cnfPod('bare', { agent: { state: 'missing' } }),
    ]);
  });

  it('awaits the pods that can report, until they have', () => {
    expect([...missingReports.uids]).toEqual(['uid-a', 'uid-b']);
    missingReports.settle('uid-a');
    expect([...missingReports.uids]).toEqual(['uid-b']);
  });

  it('gives those whose time is up once, and they are overdue until they report', () => {
    missingReports.settle('uid-b');
    expect(missingReports.listened(999)).toEqual([]);
    expect(missingReports.isOverdue('uid-a')).toBe(false);
    expect(missingReports.listened(1)).toEqual(['uid-a']);
    expect(missingReports.listened(1)).toEqual([]);
    expect([missingReports.uids.size, missingReports.isOverdue('uid-a')]).toEqual([0, true]);
    missingReports.settle('uid-a');
    expect([missingReports.isOverdue('uid-a'), missingReports.write()]).toEqual([false, '']);
  });

  it('awaits no pod when it leads no more, and leaves to the next one what was', () => {
    missingReports.listened(200);
    const left = missingReports.write();
    missingReports.read(left);
    missingReports.end();
    expect([missingReports.uids.size, missingReports.isOverdue('uid-a')]).toEqual([0, false]);
    expect(missingReports.listened(5_000)).toEqual([]);
    expect(missingReports.write()).toBe(left);
  });
});

describe('what is left to the next one', () => {
  const next = (left: string): MissingReports => {
    const missingReports = new MissingReports({ silentAfterMs: SILENT_AFTER });
    missingReports.read(left);
    missingReports.begin([cnfPod('a'), cnfPod('b')]);
    return missingReports;
  };

  it.each(['', '{', '[]', '{"uid-a":"x"}', '{"uid-a":-1}'])('may be of anybody: %j', (left) => {
    expect([...next(left).uids]).toEqual(['uid-a', 'uid-b']);
  });

  it('is the time that is used up, of those only that have not reported and are still there', () => {
    const missingReports = next('{"uid-a":2000,"uid-b":500,"uid-gone":9}');
    missingReports.settle('uid-b');
    expect(JSON.parse(missingReports.write())).toEqual({ 'uid-a': 2_000 + LAST_MS });
  });

  it('is of bounded size, and of those first that have least time left', () => {
    const missingReports = new MissingReports({ silentAfterMs: SILENT_AFTER });
    const pods = Array.from({ length: 5_000 }, (_, at) => cnfPod(`pod-${at}`));
    missingReports.read('{"uid-pod-4999":1000}');
    missingReports.begin(pods);
    const left = missingReports.write();
    expect(Object.keys(JSON.parse(left))).toHaveLength(2_000);
    expect(JSON.parse(left)).toHaveProperty('uid-pod-4999', 1_000 + LAST_MS);
  });
});

/** How long one leads, and after which times in that it receives a report of the agent. */
type Life = { lastsMs: number; reports: readonly number[] };

type Moment = {
  silent: boolean;
  /**
   * How long the coordinator that received the last report has led since; or all later ones
   * together, when it has ended.
   */
  ledMs: number;
  /** How long coordinators led since the last report that the next leader knows, and how many. */
  sinceKnown: { ledMs: number; lives: number };
};

/**
 * One coordinator after the other, each of which knows nothing but what the Lease has; how long
 * there was none between two is not asked.
 */
function* lead(lives: readonly Life[]): Generator<Moment> {
  const pod = cnfPod('a');
  let lease = '';
  let since = { isReceiver: true, ledMs: 0 };
  let sinceKnown = { ledMs: 0, lives: 0 };
  for (const { lastsMs, reports } of lives) {
    const missingReports = new MissingReports({ silentAfterMs: SILENT_AFTER });
    let reportedAt: number | undefined;
    missingReports.read(lease);
    lease = missingReports.write();
    missingReports.begin([pod]);
    sinceKnown.lives += 1;
    if (since.isReceiver) since = { isReceiver: false, ledMs: 0 };
    for (let at = 0; at <= lastsMs; at += STEP_MS) {
      if (reports.includes(at)) {
        missingReports.settle(pod.uid);
        [reportedAt, since] = [at, { isReceiver: true, ledMs: 0 }];
      }
      if (at % 1_000 === 0 && at > 0) missingReports.listened(1_000);
      if (at % RENEWED_WITHIN === 0) {
        missingReports.read(lease);
        lease = missingReports.write();
        if (reportedAt !== undefined) sinceKnown = { ledMs: since.ledMs, lives: 1 };
      }
      const silent =
        reportedAt === undefined
          ? !missingReports.uids.has(pod.uid)
          : at - reportedAt > SILENT_AFTER;
      yield { silent, ledMs: since.ledMs, sinceKnown: { ...sinceKnown } };
      since.ledMs += STEP_MS;
      sinceKnown.ledMs += STEP_MS;
    }
  }
}

const steps = (least: number, most: number) =>
  fc.integer({ min: least / STEP_MS, max: most / STEP_MS }).map((count) => count * STEP_MS);

describe('replicas, over any restarts and changes of the leader,', () => {
  const runs = { numRuns: caseCount(200) };
  /** The time in which an agent has come to a leader and reported, and then again. */
  const REPORTS_WITHIN = 12_000;

  it('never call an agent silent that lives, while each leads for long enough to receive its report', () => {
    const life = fc
      .tuple(
        steps(REPORTS_WITHIN + RENEWED_WITHIN, 3 * SILENT_AFTER),
        fc.array(steps(100, REPORTS_WITHIN)),
      )
      .map(([lastsMs, between]) => {
        const reports: number[] = [];
        for (let [at, next] = [0, 0]; at + REPORTS_WITHIN <= lastsMs; next += 1)
          reports.push((at += between[next % between.length] ?? REPORTS_WITHIN));
        return { lastsMs, reports };
      });
    fc.assert(
      fc.property(fc.array(life, { maxLength: 8 }), (lives) => {
        expect([...lead(lives)].filter(({ silent }) => silent)).toEqual([]);
      }),
      runs,
    );
  });

  const anyLife = steps(0, 2 * SILENT_AFTER).chain((lastsMs) =>
    fc.record({
      lastsMs: fc.constant(lastsMs),
      reports: fc.oneof(
        { weight: 3, arbitrary: fc.constant([]) },
        fc.array(steps(0, lastsMs), { maxLength: 3 }),
      ),
    }),
  );
  const shortLife = steps(0, 4_000).map((lastsMs) => ({ lastsMs, reports: [] }));

  it('call no agent silent whose report has been missing for less than nearly the whole time', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(anyLife, shortLife), { maxLength: 12 }), (lives) => {
        const early = [...lead(lives)].filter(
          ({ silent, sinceKnown: { ledMs, lives: count } }) =>
            silent && ledMs + count * LAST_MS < SILENT_AFTER,
        );
        expect(early).toEqual([]);
      }),
      runs,
    );
  });

  it('call a dead agent silent after the time with the coordinator that received its last report, and again after the time with all later ones, however short each leads', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(anyLife, shortLife), { maxLength: 20 }), (lives) => {
        const hidden = [...lead(lives)].filter(
          ({ silent, ledMs }) => !silent && ledMs >= SILENT_AFTER + 1_000,
        );
        expect(hidden).toEqual([]);
      }),
      runs,
    );
  });

  it('call a dead agent silent also when none leads for a second', () => {
    const lives = Array.from({ length: 20 }, () => ({ lastsMs: 0, reports: [] }));
    expect([...lead(lives)].at(-1)).toMatchObject({ silent: true });
  });
});
