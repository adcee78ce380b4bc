import { afterEach, describe, expect, it } from 'vitest';
import type { Information } from '#shared/protocol/information.ts';
import {
  type ChangeTimes,
  type FleetOrder,
  MAX_CHANGES_TIMED,
  REPORT_VERSION,
  type Report,
  type ReportAnswer,
  type RuleReport,
} from '#shared/protocol/report.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createOrders } from './asides.ts';
import { createBoot } from './boot.ts';
import { ReportRefused } from './client.ts';
import { createPublisher, type Publisher } from './publish.ts';

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
type World = {
  rules: RuleReport[];
  information?: Information;
  commentsLost?: readonly string[];
  stateFolder?: string;
  changed?: readonly ChangeTimes[];
  answer: (report: Report) => ReportAnswer;
};

const start = (given: Partial<World> = {}, heartbeatMs = 100_000) => {
  const sent: Report[] = [];
  const outcomes: string[] = [];
  let sequence = 0;
  const commentsReported: string[] = [];
  const orders: FleetOrder[] = [];
  const wanted: true[] = [];
  const world: World = { rules: [rule('a')], answer: () => ({ epoch: 'one' }), ...given };
  const publisher: Publisher = createPublisher({
    snapshot: () => ({
      openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
      unwatchedKinds: [],
      drifts: [],
      rules: world.rules,
      doubt: 'no answer',
      fleet: { distance: 1 },
      verified: VERIFIED,
      stateFolder: world.stateFolder ?? '',
      information: world.information,
      ...(world.commentsLost && { commentsLost: world.commentsLost }),
    }),
    client: {
      post: async (report) => {
        sent.push(report);
        return world.answer(report);
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
      delete world.commentsLost;
    },
    changes: {
      want: () => wanted.push(true),
      settled: () => world.changed ?? [],
      reported: (times) => {
        world.changed = world.changed?.filter((change) => !times.includes(change)) ?? [];
      },
    },
    isOrder: createOrders(systemClock),
    onSent: (outcome) => outcomes.push(outcome),
    log: silentLogger,
  });
  const controller = new AbortController();
  stopping.push(controller);
  void publisher.run(controller.signal);
  return { sent, outcomes, commentsReported, orders, wanted, world, publisher };
};

describe('publisher', () => {
  it('reports in full at the start, and repeats itself while nothing changes', async () => {
    const { sent, outcomes } = start({}, 20);
    await expect.poll(() => outcomes.length).toBeGreaterThan(2);
    expect(outcomes.slice(0, 3)).toEqual(['full', 'heartbeat', 'heartbeat']);
    expect(sent[0]?.rules).toHaveLength(1);
    expect(sent[1]).toMatchObject({ repeats: 1, rules: [], sequence: 2 });
  });

  it('sends information about OpenWRT once, to a coordinator that accepts it, and again after its restart', async () => {
    const information = { interfaces: [], routes: [], tunnels: [], wans: [], leftOut: 0 };
    const told = () => sent.map((report) => report.information?.leftOut);
    const { sent, outcomes, world, publisher } = start({ information });
    await expect.poll(() => outcomes).toEqual(['full']);
    expect(told()).toEqual([undefined]);
    world.answer = () => ({ epoch: 'one', takesInformation: true });
    publisher.mark();
    await expect.poll(told).toEqual([undefined, undefined, 0]);
    world.information = { ...information, leftOut: 1 };
    publisher.mark();
    await expect.poll(told).toEqual([undefined, undefined, 0, 1]);
    publisher.mark();
    await expect.poll(() => sent.length).toBe(5);
    world.answer = () => ({ epoch: 'two', takesInformation: true });
    publisher.mark();
    await expect.poll(() => told().at(-1)).toBe(1);
    expect(told().slice(4, 5)).toEqual([undefined]);
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
    const { sent, wanted, world, publisher } = start({ changed: many });
    await expect.poll(() => sent.length).toBe(1);
    expect(wanted).toEqual([]);
    world.answer = () => ({ epoch: 'one', wantsTimes: true, leaseTransitions: 4 });
    publisher.mark();
    await expect.poll(told).toEqual([0, 0, MAX_CHANGES_TIMED, 1]);
    expect(wanted.length).toBeGreaterThan(1);
    world.answer = () => ({ epoch: 'one', wantsTimes: true, leaseTransitions: 3 });
    world.changed = many.slice(0, 1);
    publisher.mark();
    await expect.poll(told).toEqual([0, 0, MAX_CHANGES_TIMED, 1, 1]);
    publisher.mark();
    await expect.poll(() => sent.length).toBe(6);
    expect(world.changed).toHaveLength(1);
  });

  it('speaks version 1 until the coordinator announces a later one, and from then on the lower one of both', async () => {
    const { sent, outcomes } = start({ answer: () => ({ epoch: 'one', version: 9 }) });
    await expect.poll(() => outcomes).toEqual(['full', 'heartbeat']);
    expect(sent.map(({ version }) => version)).toEqual([1, REPORT_VERSION]);
    expect(sent[0]).not.toHaveProperty('clock');
    const { clock } = sent[1] ?? {};
    expect(clock).toMatchObject({ startedAt: STARTED_AT, verified: VERIFIED });
    expect(sent.map(({ doubt }) => doubt)).toEqual([undefined, 'no answer']);
    expect(Math.abs((clock?.sentAt ?? 0) - Date.now())).toBeLessThan(5_000);
  });

  it('takes an order of the one that leads, reports as often as that asks for, and says what is in force', async () => {
    const order: FleetOrder = { distance: 0, nextReportMs: 100, peers: [] };
    const { sent, orders, world } = start({
      answer: () => ({ epoch: 'one', version: 2, leaseTransitions: 4, fleet: order }),
    });
    await expect.poll(() => sent.length).toBeGreaterThan(4);
    expect(orders[0]).toEqual(order);
    expect(sent.map(({ fleet }) => fleet).slice(0, 2)).toEqual([undefined, { distance: 1 }]);
    const known = orders.length;
    world.answer = () => ({
      epoch: 'one',
      version: 2,
      leaseTransitions: 3,
      fleet: { ...order, distance: 7 },
    });
    const before = sent.length;
    await expect.poll(() => sent.length).toBeGreaterThan(before);
    expect(orders.slice(known).filter(({ distance }) => distance === 7)).toEqual([]);
  });

  it('takes no order for none: where no CNFDeployment asks for anything any more, the last one stays', async () => {
    const leads = { epoch: 'one', version: 2, leaseTransitions: 4 };
    const order: FleetOrder = { distance: 0, nextReportMs: 100_000, peers: [] };
    const { sent, orders, world, publisher } = start({
      answer: () => ({ ...leads, fleet: order }),
    });
    await expect.poll(() => sent.length).toBe(2);
    const before = orders.length;
    expect(orders.at(-1)).toEqual(order);
    world.answer = () => leads;
    for (const more of [3, 4]) {
      publisher.mark();
      await expect.poll(() => sent.length).toBe(more);
    }
    expect(orders).toHaveLength(before);
  });

  it('says no distance to a coordinator that does not take it', async () => {
    const { sent } = start({ answer: () => ({ epoch: 'one' }) }, 20);
    await expect.poll(() => sent.length).toBeGreaterThan(2);
    expect(sent.every(({ fleet }) => fleet === undefined)).toBe(true);
  });

  it('tells which generation is in force once the coordinator takes it, and never before', async () => {
    const rules: RuleReport[] = [
      { ...rule('a'), state: 'Failed', reason: 'InvalidSpec', message: 'no', generationInForce: 1 },
    ];
    const { sent, outcomes } = start({ rules, answer: () => ({ epoch: 'one', version: 2 }) });
    await expect.poll(() => outcomes).toEqual(['full', 'full']);
    expect(sent.map((report) => report.rules[0]?.generationInForce)).toEqual([undefined, 1]);
  });

  it('speaks version 1 again after the coordinator was replaced by one that knows no other', async () => {
    const { sent, outcomes } = start({
      answer: ({ version, sequence }) => {
        if (version > 1) throw new Error('422');
        return { epoch: String(sequence === 1), ...(sequence === 1 && { version: 2 }) };
      },
    });
    await expect.poll(() => outcomes).toEqual(['full', 'failed', 'full']);
    expect(sent.map(({ version }) => version)).toEqual([1, 2, 1, 1]);
  });

  it('reports once which comments were lost, with the first report to a coordinator that accepts it', async () => {
    const { sent, commentsReported } = start({
      commentsLost: ['firewall', 'mwan3'],
      answer: () => ({ epoch: 'one', takesCommentsLost: true }),
    });
    await expect.poll(() => commentsReported).toEqual(['firewall', 'mwan3']);
    expect(sent.map(({ commentsLost }) => commentsLost)).toEqual([
      undefined,
      ['firewall', 'mwan3'],
    ]);
  });

  it('never sends it to an older coordinator, which would refuse the report', async () => {
    const { sent, outcomes, commentsReported } = start({ commentsLost: ['firewall'] }, 20);
    await expect.poll(() => outcomes.length).toBeGreaterThan(3);
    expect(sent.filter(({ commentsLost }) => commentsLost !== undefined)).toEqual([]);
    expect(commentsReported).toEqual([]);
  });

  it('stops sending it after one refused report when the coordinator was replaced by an older one', async () => {
    const { sent, outcomes, commentsReported } = start({
      commentsLost: ['firewall'],
      answer: ({ commentsLost, sequence }) => {
        if (commentsLost !== undefined) throw new Error('422');
        return { epoch: String(sequence === 1), takesCommentsLost: sequence === 1 };
      },
    });
    await expect.poll(() => outcomes).toEqual(['full', 'failed', 'full']);
    expect(sent.filter(({ commentsLost }) => commentsLost !== undefined)).toHaveLength(1);
    expect(commentsReported).toEqual([]);
  });

  it('says why the state folder cannot be written, to a coordinator of version 2 only', async () => {
    const stateFolder = 'ledger.json: EROFS';
    const older = start({ stateFolder }, 20);
    await expect.poll(() => older.outcomes.length).toBeGreaterThan(3);
    expect(older.sent.filter((each) => 'stateFolder' in each)).toEqual([]);
    const { sent } = start({ stateFolder, answer: () => ({ epoch: 'one', version: 2 }) }, 20);
    await expect.poll(() => sent.at(-1)?.stateFolder).toBe(stateFolder);
  });

  it('sends it once in a report of several pages', async () => {
    const { sent, outcomes, commentsReported, world, publisher } = start({
      answer: () => ({ epoch: 'one', takesCommentsLost: true }),
    });
    await expect.poll(() => outcomes).toEqual(['full']);
    world.rules = Array.from({ length: 1_500 }, (_, at) => rule(`r${at}`));
    world.commentsLost = ['firewall'];
    publisher.mark();
    await expect.poll(() => outcomes.slice(0, 2)).toEqual(['full', 'full']);
    expect(commentsReported).toEqual(['firewall']);
    expect(sent.filter(({ commentsLost }) => commentsLost !== undefined)).toHaveLength(1);
  });

  it('makes one report of many changes', async () => {
    const { sent, outcomes, world, publisher } = start();
    await expect.poll(() => outcomes).toEqual(['full']);
    for (let at = 0; at < 50; at += 1) {
      world.rules = [rule(`b${at}`)];
      publisher.mark();
    }
    await expect.poll(() => outcomes).toEqual(['full', 'full']);
    expect(sent.at(-1)?.rules[0]?.name).toBe('b49');
  });

  it('reports in full at once when the coordinator has restarted', async () => {
    const { outcomes, world, publisher } = start();
    await expect.poll(() => outcomes).toEqual(['full']);
    world.answer = () => ({ epoch: 'two' });
    publisher.mark();
    await expect.poll(() => outcomes).toEqual(['full', 'full']);
    publisher.mark();
    await expect.poll(() => outcomes).toEqual(['full', 'full', 'heartbeat']);
  });

  it('reports in full at once when the coordinator does not have the report that is repeated', async () => {
    const { sent, outcomes, world, publisher } = start();
    await expect.poll(() => outcomes).toEqual(['full']);
    world.answer = ({ repeats }) => ({ epoch: 'one', wantsFull: repeats !== undefined });
    publisher.mark();
    await expect.poll(() => outcomes).toEqual(['full', 'full']);
    expect(sent.at(-1)?.rules).toHaveLength(1);
  });

  it('starts again when the coordinator restarts between two pages', async () => {
    const { sent, outcomes } = start({
      rules: Array.from({ length: 1_500 }, (_, at) => rule(`r${at}`)),
      answer: ({ sequence, page }) => ({ epoch: sequence === 1 && page === 0 ? 'old' : 'new' }),
    });
    await expect.poll(() => outcomes).toEqual(['failed', 'full']);
    expect(sent.map(({ sequence, page }) => [sequence, page])).toEqual([
      [1, 0],
      [1, 1],
      [2, 0],
      [2, 1],
    ]);
  });

  it('starts a new boot with a full report when somebody else has reported in its place, and keeps it', async () => {
    const { sent, outcomes, world, publisher } = start();
    await expect.poll(() => outcomes).toEqual(['full']);
    const [first] = sent;
    world.answer = ({ bootId }) => {
      if (bootId === first?.bootId)
        throw new ReportRefused(409, '{"error":{"code":"old-boot","message":"later"}}');
      return { epoch: 'one' };
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
          if (refused) return { epoch: 'one' };
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
        return { epoch: 'one' };
      },
    });
    await expect.poll(() => outcomes).toEqual(['failed', 'failed', 'full']);
  });
});
