import { afterEach, describe, expect, it } from 'vitest';
import type { Counters } from '#shared/protocol/counters.ts';
import type { Information } from '#shared/protocol/information.ts';
import {
  type ChangeTimes,
  type FleetOrder,
  MAX_CHANGES_TIMED,
  REPORT_VERSION,
  type Report,
  type ReportAnswer,
  type RuleReport,
  type UnreadOthers,
} from '#shared/protocol/report.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createOrderCheck } from './answered-fields.ts';
import { createBoot } from './boot.ts';
import { ReportRefused } from './client.ts';
import { createPublisher, heartbeatIn, type Publisher } from './publish.ts';

const ANSWER = { epoch: 'one', version: REPORT_VERSION } as const;
const STARTED_AT = 1_000;
const VERIFIED = { since: 1_500, last: 2_000 };

const rule = (name: string): RuleReport => ({
  kind: 'FirewallRule',
  name,
  uid: `uid-${name}`,
  generation: 1,
  revision: 'r',
  state: 'Applied',
  reason: 'Applied',
  message: '',
});

const stopping: AbortController[] = [];
afterEach(() => {
  for (const controller of stopping.splice(0)) controller.abort();
});

/** A running publisher, with a coordinator whose answers the test decides. */
type Fixture = {
  rules: RuleReport[];
  information?: Information;
  commentsLost?: readonly string[];
  stateFolder?: string;
  unreadOthers?: readonly UnreadOthers[];
  changed?: readonly ChangeTimes[];
  counters?: Counters;
  answer: (report: Report) => ReportAnswer;
};

const start = (given: Partial<Fixture> = {}, heartbeatMs = 100_000) => {
  const sent: Report[] = [];
  const outcomes: string[] = [];
  let sequence = 0;
  const commentsReported: string[] = [];
  const orders: FleetOrder[] = [];
  const wanted: true[] = [];
  const fixture: Fixture = { rules: [rule('a')], answer: () => ANSWER, ...given };
  const publisher: Publisher = createPublisher({
    snapshot: () => ({
      openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
      unwatchedKinds: [],
      drifts: [],
      rules: fixture.rules,
      doubt: 'no answer',
      fleet: { distance: 1 },
      verified: VERIFIED,
      stateFolder: fixture.stateFolder ?? '',
      ...(fixture.unreadOthers && { unreadOthers: fixture.unreadOthers }),
      information: fixture.information,
      ...(fixture.commentsLost && { commentsLost: fixture.commentsLost }),
    }),
    client: {
      post: async (report) => {
        sent.push(report);
        return fixture.answer(report);
      },
    },
    boot: createBoot(),
    startedAt: STARTED_AT,
    nextSequence: () => (sequence += 1),
    purpose: 'cnf-1',
    heartbeatMs,
    clock: systemClock,
    onOrder: (order) => orders.push(order),
    onCommentsReported: async (packages) => {
      commentsReported.push(...packages);
      delete fixture.commentsLost;
    },
    changes: {
      want: () => wanted.push(true),
      settled: () => fixture.changed ?? [],
      reported: (times) => {
        fixture.changed = fixture.changed?.filter((change) => !times.includes(change)) ?? [];
      },
    },
    counters: () => fixture.counters,
    isOrder: createOrderCheck(systemClock),
    onSent: (outcome) => outcomes.push(outcome),
    log: silentLogger,
  });
  const controller = new AbortController();
  stopping.push(controller);
  void publisher.run(controller.signal);
  return { sent, outcomes, commentsReported, orders, wanted, fixture, publisher };
};

describe('publisher', () => {
  it('reports in full at the start, and repeats itself while nothing changes', async () => {
    const { sent, outcomes } = start({}, 20);
    await expect.poll(() => outcomes.length).toBeGreaterThan(2);
    expect(outcomes.slice(0, 3)).toEqual(['full', 'heartbeat', 'heartbeat']);
    expect(sent[0]?.rules).toHaveLength(1);
    expect(sent[1]).toMatchObject({ repeats: 1, rules: [], sequence: 2 });
  });

  it('sends information about OpenWRT once, and again when it changes or the coordinator has restarted', async () => {
    const information = { interfaces: [], routes: [], tunnels: [], wans: [], leftOut: 0 };
    const told = () => sent.map((report) => report.information?.leftOut);
    const { sent, fixture, publisher } = start({ information });
    await expect.poll(told).toEqual([0]);
    publisher.mark();
    await expect.poll(told).toEqual([0, undefined]);
    fixture.information = { ...information, leftOut: 1 };
    publisher.mark();
    await expect.poll(told).toEqual([0, undefined, 1]);
    fixture.answer = () => ({ ...ANSWER, epoch: 'two' });
    publisher.mark();
    await expect.poll(told).toEqual([0, undefined, 1, undefined, 1]);
  });

  it('sends it again where the coordinator has not taken it', async () => {
    const information = { interfaces: [], routes: [], tunnels: [], wans: [], leftOut: 0 };
    const { sent, fixture, publisher } = start();
    await expect.poll(() => sent.length).toBe(1);
    fixture.answer = ({ repeats }) => ({ ...ANSWER, wantsFull: repeats !== undefined });
    fixture.information = information;
    publisher.mark();
    await expect
      .poll(() => sent.map((report) => report.information?.leftOut))
      .toEqual([undefined, 0, 0]);
  });

  it('sends counters with a report that goes out anyway, once, where a CNFDeployment has the pod', async () => {
    const countersOf = (packets: number): Counters => ({
      interfaces: [],
      denied: [{ policy: 'edge/web', direction: 'ingress', packets }],
    });
    const told = () => sent.map(({ counters }) => counters?.denied[0]?.packets);
    const { sent, fixture, publisher } = start({ counters: countersOf(1) });
    const next = async (): Promise<void> => {
      const before = sent.length;
      publisher.mark();
      await expect.poll(() => sent.length).toBe(before + 1);
    };
    await expect.poll(told).toEqual([undefined]);
    const fleet: FleetOrder = { distance: 0, nextReportMs: 60_000, peers: [] };
    const answer: ReportAnswer = { ...ANSWER, leaseTransitions: 4, fleet };
    fixture.answer = () => answer;
    await next();
    await next();
    await next();
    expect(told()).toEqual([undefined, undefined, 1, undefined]);
    fixture.counters = countersOf(2);
    await next();
    fixture.answer = () => ({ ...answer, epoch: 'two' });
    publisher.mark();
    // The first is what the new coordinator did not know, and the second all of it.
    await expect.poll(() => sent.length).toBe(7);
    await next();
    expect(told().slice(4)).toEqual([2, undefined, 2, undefined]);
  });

  it('reports when changes have come to OpenWRT once, to a coordinator that wants it, as many at a time as a report may have', async () => {
    const many = Array.from({ length: MAX_CHANGES_TIMED + 1 }, (_, at) => ({
      uid: `uid-${at}`,
      generation: 1,
      seenAt: 1,
      begunAt: 2,
      compiledAt: 3,
      appliedAt: 4,
    }));
    const told = () => sent.map(({ times }) => times?.length ?? 0);
    const { sent, wanted, fixture, publisher } = start({ changed: many });
    await expect.poll(() => sent.length).toBe(1);
    expect(wanted).toEqual([]);
    fixture.answer = () => ({ ...ANSWER, wantsTimes: true, leaseTransitions: 4 });
    publisher.mark();
    await expect.poll(told).toEqual([0, 0, MAX_CHANGES_TIMED, 1]);
    expect(wanted.length).toBeGreaterThan(1);
    fixture.answer = () => ({ ...ANSWER, wantsTimes: true, leaseTransitions: 3 });
    fixture.changed = many.slice(0, 1);
    publisher.mark();
    await expect.poll(told).toEqual([0, 0, MAX_CHANGES_TIMED, 1, 1]);
    publisher.mark();
    await expect.poll(() => sent.length).toBe(6);
    expect(fixture.changed).toHaveLength(1);
  });

  it('takes an order of the one that leads, reports as often as that asks for, and says what is in force', async () => {
    const order: FleetOrder = { distance: 0, nextReportMs: 100, peers: [] };
    const { sent, orders, fixture } = start({
      answer: () => ({ ...ANSWER, leaseTransitions: 4, fleet: order }),
    });
    await expect.poll(() => sent.length).toBeGreaterThan(4);
    expect(orders[0]).toEqual(order);
    expect(sent[0]?.fleet).toEqual({ distance: 1 });
    const known = orders.length;
    fixture.answer = () => ({
      ...ANSWER,
      leaseTransitions: 3,
      fleet: { ...order, distance: 7 },
    });
    const before = sent.length;
    await expect.poll(() => sent.length).toBeGreaterThan(before);
    expect(orders.slice(known).filter(({ distance }) => distance === 7)).toEqual([]);
  });

  it('takes no order for none: where no CNFDeployment asks for anything any more, the last one stays', async () => {
    const leads = { ...ANSWER, leaseTransitions: 4 };
    const order: FleetOrder = { distance: 0, nextReportMs: 100_000, peers: [] };
    const { sent, orders, fixture, publisher } = start({
      answer: () => ({ ...leads, fleet: order }),
    });
    await expect.poll(() => orders).toEqual([order]);
    fixture.answer = () => leads;
    for (const more of [2, 3]) {
      publisher.mark();
      await expect.poll(() => sent.length).toBe(more);
    }
    expect(orders).toHaveLength(1);
  });

  it('reports which comments were lost until the one that leads has received it', async () => {
    const { sent, commentsReported, fixture, publisher } = start({
      commentsLost: ['firewall', 'mwan3'],
    });
    await expect.poll(() => sent.length).toBe(1);
    expect(commentsReported).toEqual([]);
    fixture.answer = () => ({ ...ANSWER, leaseTransitions: 4 });
    publisher.mark();
    await expect.poll(() => commentsReported).toEqual(['firewall', 'mwan3']);
    publisher.mark();
    await expect.poll(() => sent.length).toBe(3);
    const both = ['firewall', 'mwan3'];
    expect(sent.map(({ commentsLost }) => commentsLost)).toEqual([both, both, undefined]);
  });

  it.each<[string, Partial<ReportAnswer>]>([
    ['has led before', { leaseTransitions: 3 }],
    ['wants all of the report first', { leaseTransitions: 4, wantsFull: true }],
  ])('takes it for received by none that %s', async (_, answer) => {
    const { sent, commentsReported, fixture, publisher } = start({
      answer: () => ({ ...ANSWER, leaseTransitions: 4 }),
    });
    await expect.poll(() => sent.length).toBe(1);
    fixture.answer = () => ({ ...ANSWER, ...answer });
    fixture.commentsLost = ['firewall'];
    publisher.mark();
    await expect.poll(() => sent.at(-1)?.commentsLost).toEqual(['firewall']);
    expect(commentsReported).toEqual([]);
  });

  it('says in each report what holds of the agent itself', async () => {
    const unreadOthers = [{ package: 'network', sections: 'lan (no network)' }];
    const { sent } = start({ stateFolder: 'ledger.json: EROFS', unreadOthers });
    await expect.poll(() => sent.length).toBe(1);
    expect(sent[0]).toMatchObject({
      version: REPORT_VERSION,
      clock: { startedAt: STARTED_AT, verified: VERIFIED },
      doubt: 'no answer',
      fleet: { distance: 1 },
      stateFolder: 'ledger.json: EROFS',
      unreadOthers,
    });
    expect(Math.abs((sent[0]?.clock.sentAt ?? 0) - Date.now())).toBeLessThan(5_000);
  });

  it('sends what has changed since the report that was answered last, and what is gone', async () => {
    const { sent, outcomes, fixture, publisher } = start({ rules: ['a', 'b', 'c'].map(rule) });
    await expect.poll(() => outcomes).toEqual(['full']);
    const failed: RuleReport = { ...rule('b'), state: 'Failed', reason: 'InvalidSpec' };
    fixture.rules = [rule('a'), failed, rule('d')];
    publisher.mark();
    await expect.poll(() => outcomes).toEqual(['full', 'changes']);
    expect(sent[1]).toMatchObject({ repeats: 1, rules: [failed, rule('d')], gone: ['uid-c'] });
    fixture.rules = [rule('a'), failed];
    fixture.answer = () => {
      throw new Error('the answer is lost');
    };
    publisher.mark();
    await expect.poll(() => outcomes).toEqual(['full', 'changes', 'failed']);
    fixture.answer = () => ANSWER;
    await expect.poll(() => outcomes.at(-1)).toBe('changes');
    const lost = { repeats: 2, rules: [], gone: ['uid-d'] };
    expect(sent.slice(2)).toMatchObject([lost, lost]);
    publisher.mark();
    await expect.poll(() => outcomes.at(-1)).toBe('heartbeat');
    expect(sent.at(-1)).toMatchObject({ repeats: 4, rules: [] });
  });

  it('sends it once in a report of several pages', async () => {
    const { sent, outcomes, commentsReported, fixture, publisher } = start({
      answer: () => ({ ...ANSWER, leaseTransitions: 4 }),
    });
    await expect.poll(() => outcomes).toEqual(['full']);
    fixture.rules = Array.from({ length: 1_500 }, (_, at) => rule(`r${at}`));
    fixture.commentsLost = ['firewall'];
    publisher.mark();
    await expect.poll(() => outcomes.slice(0, 2)).toEqual(['full', 'full']);
    expect(commentsReported).toEqual(['firewall']);
    expect(sent.filter(({ commentsLost }) => commentsLost !== undefined)).toHaveLength(1);
  });

  it('makes one report of many changes', async () => {
    const { sent, outcomes, fixture, publisher } = start();
    await expect.poll(() => outcomes).toEqual(['full']);
    for (let at = 0; at < 50; at += 1) {
      fixture.rules = [rule(`b${at}`)];
      publisher.mark();
    }
    await expect.poll(() => outcomes).toEqual(['full', 'changes']);
    expect(sent.at(-1)?.rules[0]?.name).toBe('b49');
  });

  it('reports in full at once when the coordinator has restarted', async () => {
    const { outcomes, fixture, publisher } = start();
    await expect.poll(() => outcomes).toEqual(['full']);
    fixture.answer = () => ({ ...ANSWER, epoch: 'two' });
    publisher.mark();
    await expect.poll(() => outcomes).toEqual(['full', 'full']);
    publisher.mark();
    await expect.poll(() => outcomes).toEqual(['full', 'full', 'heartbeat']);
  });

  it('reports in full at once when the coordinator does not have the report that is repeated', async () => {
    const { sent, outcomes, fixture, publisher } = start();
    await expect.poll(() => outcomes).toEqual(['full']);
    fixture.answer = ({ repeats }) => ({ ...ANSWER, wantsFull: repeats !== undefined });
    publisher.mark();
    await expect.poll(() => outcomes).toEqual(['full', 'full']);
    expect(sent.at(-1)?.rules).toHaveLength(1);
  });

  it('starts again when the coordinator restarts between two pages', async () => {
    const { sent, outcomes } = start({
      rules: Array.from({ length: 1_500 }, (_, at) => rule(`r${at}`)),
      answer: ({ sequence, page }) => ({
        ...ANSWER,
        epoch: sequence === 1 && page === 0 ? 'old' : 'new',
      }),
    });
    await expect.poll(() => outcomes).toEqual(['failed', 'full']);
    expect(sent.map(({ sequence, page }) => [sequence, page])).toEqual([
      [1, 0],
      [1, 1],
      [2, 0],
      [2, 1],
    ]);
  });

  it('starts a new boot with a full report when another client has reported in its place, and keeps it', async () => {
    const { sent, outcomes, fixture, publisher } = start();
    await expect.poll(() => outcomes).toEqual(['full']);
    const [first] = sent;
    fixture.answer = ({ bootId }) => {
      if (bootId === first?.bootId)
        throw new ReportRefused(409, '{"error":{"code":"old-boot","message":"later"}}');
      return ANSWER;
    };
    publisher.mark();
    await expect.poll(() => outcomes).toEqual(['full', 'failed', 'full']);
    publisher.mark();
    await expect.poll(() => outcomes.at(-1)).toBe('heartbeat');
    expect(new Set(sent.slice(2).map(({ bootId }) => bootId)).size).toBe(1);
  });

  it.each([['not a word of its own'], ['{"error":{"code":"pod-gone"}}']])(
    'keeps its boot when it is refused for another reason: %s',
    async (text) => {
      let refused = false;
      const { sent, outcomes } = start({
        answer: () => {
          if (refused) return ANSWER;
          refused = true;
          throw new ReportRefused(409, text);
        },
      });
      await expect.poll(() => outcomes).toEqual(['failed', 'full']);
      expect(new Set(sent.map(({ bootId }) => bootId)).size).toBe(1);
    },
  );

  it('keeps trying while the coordinator is down', async () => {
    let failures = 2;
    const { outcomes } = start({
      answer: () => {
        failures -= 1;
        if (failures >= 0) throw new Error('connection refused');
        return ANSWER;
      },
    });
    await expect.poll(() => outcomes).toEqual(['failed', 'failed', 'full']);
  });
});

it('heartbeats are due at the same times on all pods, and none later than by their jitter', () => {
  for (const now of [0, 1, 4_321, 1_795_983_388_549]) {
    const inMs = heartbeatIn(8_000, now);
    expect((now + inMs) % 1_000).toBeCloseTo(0, 3);
    expect(inMs).toBeGreaterThan(5_000);
    expect(inMs).toBeLessThanOrEqual(10_000);
  }
});
