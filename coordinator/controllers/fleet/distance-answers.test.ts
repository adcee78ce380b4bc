import { expect, it } from 'vitest';
import { REPORTED_AFTER, type FleetOrder } from '#shared/protocol/report.ts';
import { NOW, report, cnfPod, UPTIME } from '../../testing/facts.ts';
import type { PodReport } from '../../rule-status/pod-report.ts';
import { FleetOrders } from './distance-answers.ts';

const SECOND = 1_000;
const order = (distance: number): FleetOrder => ({ distance, nextReportMs: 2_000, peers: [] });

/** Pods that have reported `ages` milliseconds before UPTIME, in the namespace before the slash. */
const fixture = (ages: Record<string, number | undefined>, startedAt = NOW) => {
  const pods = Object.keys(ages).map((name) => {
    const [namespace = ''] = name.includes('/') ? name.split('/') : ['edge'];
    return cnfPod(name, { namespace, agent: { state: 'started', startedAt } });
  });
  const reports = new Map(
    Object.entries(ages).flatMap(([name, age]): [string, PodReport][] =>
      age === undefined
        ? []
        : [[`uid-${name}`, report([], { receivedAt: { monotonic: UPTIME - age, wall: 0 } })]],
    ),
  );
  const orders = new FleetOrders({
    reportOf: (uid) => reports.get(uid),
    pods: () => pods,
    silentAfterMs: 30 * SECOND,
  });
  orders.begin(NOW);
  orders.newlyLate(UPTIME - 60 * SECOND);
  for (let at = UPTIME - 58 * SECOND; at < UPTIME; at += SECOND) orders.newlyLate(at);
  const told = pods.map(({ uid }, distance) => [uid, order(distance)] as const);
  orders.give('edge/cnf-1', new Map(told));
  for (const { uid } of pods) orders.answerTo(uid, UPTIME);
  const unheard = (name: string): boolean => orders.hearing(cnfPod(name), UPTIME).unheard;
  return { orders, reports, unheard };
};

it('silence counts when three reports are missed', () => {
  const { orders, unheard } = fixture({ a: 6_001, b: 100, c: 100 });
  expect([unheard('a'), unheard('b')]).toEqual([true, false]);
  expect(orders.newlyLate(UPTIME)).toEqual(['uid-a']);
  expect(orders.newlyLate(UPTIME + SECOND)).toEqual([]);
  expect(fixture({ a: 6_000, b: 100 }).unheard('a')).toBe(false);
});

it('silence of more than half of the agents is the own one, and counts for nothing', () => {
  expect(fixture({ a: 7_000, b: 100 }).unheard('a')).toBe(true);
  expect(fixture({ a: 7_000, b: 7_000, c: 100 }).unheard('a')).toBe(false);
});

it('agents that have never reported do not make it so, however many', () => {
  const never = { 'noise/a': undefined, 'noise/b': undefined, 'noise/c': undefined };
  const { orders, unheard } = fixture({ a: 7_000, b: 100, ...never });
  expect(unheard('a')).toBe(true);
  expect(orders.agentsHeard(UPTIME)).toEqual({ heard: 1, known: 1 });
});

it('agents of one namespace that have reported count as one, however many', () => {
  const silent = { 'noise/a': 7_000, 'noise/b': 7_000, 'noise/c': 7_000, 'noise/d': 7_000 };
  const { orders, unheard } = fixture({ a: 7_000, b: 100, ...silent });
  expect(unheard('a')).toBe(true);
  expect(orders.agentsHeard(UPTIME)).toEqual({ heard: 1, known: 2 });
});

it('agents that ran before this coordinator led and do not report to it count: it may be cut off from them', () => {
  const ages = { a: 7_000, b: 100, c: undefined, d: undefined };
  expect(fixture(ages).unheard('a')).toBe(true);
  expect(fixture(ages, NOW - 1).unheard('a')).toBe(false);
});

it('gives agents their time again when the coordinator has not run for a while', () => {
  const { orders, unheard } = fixture({ a: 6_001, b: 100, c: 100 });
  expect(orders.newlyLate(UPTIME + 10 * SECOND)).toEqual([]);
  expect(unheard('a')).toBe(false);
});

it('agents that were not asked to report so often are not missed before they are silent', () => {
  const { orders, unheard } = fixture({ a: 20 * SECOND, b: 100, c: 100 });
  orders.begin(NOW);
  expect(unheard('a')).toBe(false);
  expect(orders.answerTo('uid-a', UPTIME)).toBeUndefined();
});

it('pods that are gone are told nothing', () => {
  const { orders } = fixture({ a: 100, b: 100 });
  orders.give('edge/cnf-1', new Map([['uid-b', order(0)]]));
  expect(orders.answerTo('uid-a', UPTIME)).toBeUndefined();
  expect(orders.answerTo('uid-b', UPTIME)).toMatchObject({ distance: 0, peers: [] });
  orders.give('edge/cnf-1', new Map());
  expect(orders.answerTo('uid-b', UPTIME)).toBeUndefined();
});

it('agents at rest are asked to report at the same times, whenever they have reported, and none is asked later than it would be', () => {
  const { orders } = fixture({ a: 100, b: 100 });
  const reportsAt = (at: number): number => {
    const { nextReportMs = 0 } = orders.answerTo('uid-a', at) ?? {};
    expect(nextReportMs).toBeLessThanOrEqual(2_000);
    return at + nextReportMs * REPORTED_AFTER;
  };
  for (const at of [0, 1, 130, 249.5]) {
    const first = reportsAt(UPTIME + at);
    const late = first % 250;
    expect(late).toBeLessThan(1);
    // The way takes some milliseconds each time.
    const second = reportsAt(first + 3);
    expect(Math.floor(second) - Math.floor(first)).toBe(1_750);
  }
});

it('agents of pods that are alone in their CNFDeployment are asked as rarely as others, until there is a second pod', () => {
  const { orders } = fixture({ a: 100 });
  const { nextReportMs = 0 } = orders.answerTo('uid-a', UPTIME) ?? {};
  // A quarter of what makes it silent.
  expect(nextReportMs).toBeGreaterThan(6_000);
  expect(nextReportMs).toBeLessThanOrEqual(7_500);
  const second = new Map([
    ['uid-a', order(0)],
    ['uid-b', order(1)],
  ]);
  orders.give('edge/cnf-1', second);
  expect(orders.answerTo('uid-a', UPTIME)?.nextReportMs).toBeLessThanOrEqual(2_000);
});

it('pods that are alone in their CNFDeployment are missed after three reports, too', () => {
  const { nextReportMs = 0 } = fixture({ a: 100 }).orders.answerTo('uid-a', UPTIME) ?? {};
  const others = { 'other/b': 100 };
  const unheardAfter = (ms: number): boolean => {
    const { orders, unheard } = fixture({ a: ms, ...others });
    orders.give('edge/cnf-1', new Map([['uid-a', order(0)]]));
    orders.answerTo('uid-a', UPTIME);
    return unheard('a');
  };
  expect([3 * nextReportMs, 3 * nextReportMs + 1].map(unheardAfter)).toEqual([false, true]);
});

it('agents that a roll-out waits for are asked as soon as can be', () => {
  const { orders } = fixture({ a: 100 });
  orders.give('edge/cnf-1', new Map([['uid-a', { ...order(0), nextReportMs: 250 }]]));
  expect(orders.answerTo('uid-a', UPTIME + 10)?.nextReportMs).toBe(250);
});
