/**
 * Reports to the coordinator: at once (coalesced) when something changed, and a heartbeat when
 * nothing did. The coordinator may be down for as long as it likes: nothing waits for it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Counters } from '#shared/protocol/counters.ts';
import {
  MAX_RULES_PER_PAGE,
  REPORT_VERSION,
  REPORTED_AFTER,
  type FleetOrder,
  type Report,
  type ReportAnswer,
  type RuleReport,
} from '#shared/protocol/report.ts';
import { jittered } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { untilCommonTime } from '#shared/runtime/common-times.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { createTrigger } from '#shared/runtime/trigger.ts';
import {
  createCommentsField,
  createCountersField,
  createInformationField,
  createOrderField,
  createTimesField,
  type Apart,
} from './answered-fields.ts';
import type { Boot } from './boot.ts';
import type { ChangeLog } from './change-times.ts';
import { ReportRefused, type ReportClient } from './client.ts';
import { pagesOf } from './pages.ts';
import type { Snapshot } from './status.ts';

export type PublisherDeps = {
  snapshot: () => Snapshot;
  client: Pick<ReportClient, 'post'>;
  boot: Boot;
  /** When this agent started, wall-clock milliseconds. */
  startedAt: number;
  /** Grows with each call; all publishers of a boot have one. */
  nextSequence: () => number;
  purpose: string;
  heartbeatMs: number;
  clock: Clock;
  /** Whether to do what an answer asks for. */
  isOrder: (answer: ReportAnswer) => boolean;
  /** The coordinator has received that these packages have lost their comments. */
  onCommentsReported: (packages: readonly string[]) => Promise<void>;
  changes: Pick<ChangeLog, 'want' | 'settled' | 'reported'>;
  /** The last that were read. */
  counters: () => Counters | undefined;
  /** What the coordinator that leads wants of the pod. */
  onOrder: (order: FleetOrder) => void;
  onSent: (kind: 'full' | 'changes' | 'heartbeat' | 'failed') => void;
  log: Logger;
};

export type Publisher = {
  /** Something that a report holds may have changed. */
  mark: () => void;
  run: (signal: AbortSignal) => Promise<void>;
};

/**
 * A pass changes what is reported twice, before and after it writes: most passes are over within
 * this time, and become one report.
 */
const COALESCE_MS = 50;
const JITTER = 0.25;
/** The coordinator's code for a report of a boot that is over. */
const OLD_BOOT = 'old-boot';
const BACKOFF = { baseMs: 500, maxMs: 15_000 };

export const createPublisher = (deps: PublisherDeps): Publisher => {
  const { snapshot, client, boot, purpose, heartbeatMs, clock, onSent, log } = deps;
  /** What the coordinator has received: of this boot the last report with news, and its answer. */
  let received:
    | { bootId: string; sequence: number; epoch: string; rules: readonly RuleReport[] }
    | undefined;
  const order = createOrderField(deps.onOrder, deps.isOrder);
  const answeredFields = [
    order,
    createInformationField(),
    createCountersField(deps.counters, () => order.nextReportMs() !== undefined),
    createCommentsField(deps.onCommentsReported, deps.isOrder),
    createTimesField(deps.changes, deps.isOrder),
  ];
  let failing = false;

  const postWith = async (
    report: Report,
    apart: Apart,
    signal: AbortSignal,
  ): Promise<ReportAnswer> => {
    const fields = answeredFields.map((field) => field.fields(report, apart));
    const answer = await client
      .post(Object.assign({}, report, ...fields), signal)
      .catch((error: unknown) => {
        // There is one agent in a pod, and this is it: another client with a token of the pod has
        // reported in its place.
        if (error instanceof ReportRefused && error.code === OLD_BOOT)
          boot.supersede(report.bootId);
        throw error;
      });
    for (const field of answeredFields) if (await field.answered(answer)) trigger.mark();
    return answer;
  };

  const send = async (signal: AbortSignal): Promise<'full' | 'changes' | 'heartbeat'> => {
    const { rules, information, commentsLost, ...known } = snapshot();
    const apart = { information, ...(commentsLost && { commentsLost }) };
    const bootId = boot.id();
    const sequence = deps.nextSequence();
    const pageOf = (part: Part): Report => {
      const times = { startedAt: deps.startedAt, sentAt: clock.now() };
      return pageWith(known, { bootId, sequence, purpose, clock: times, ...part });
    };
    const post = (report: Report): Promise<ReportAnswer> => postWith(report, apart, signal);
    const news = received?.bootId === bootId ? changesSince(received.rules, rules) : undefined;
    if (received && news) {
      const changes = { page: 0, pages: 1, repeats: received.sequence, ...news };
      const { epoch, wantsFull } = await post(pageOf(changes));
      if (epoch === received.epoch && wantsFull !== true) {
        if (isEmpty(news)) return 'heartbeat';
        received = { bootId, sequence, epoch, rules };
        return 'changes';
      }
      received = undefined;
      return send(signal);
    }
    const pages = pagesOf(rules);
    const epochs = new Set<string>();
    for (const [page, part] of pages.entries()) {
      const report = pageOf({ page, pages: pages.length, rules: part });
      epochs.add((await post(report)).epoch);
    }
    const [epoch, ...others] = epochs;
    // It restarted between two pages, or there are several behind one address: each has only some
    // of them.
    if (epoch === undefined || others.length > 0)
      throw new Error('the pages of a report came to several coordinators');
    received = { bootId, sequence, epoch, rules };
    return 'full';
  };

  const trigger = createTrigger({
    delayMs: COALESCE_MS,
    backoff: BACKOFF,
    clock,
    run: async (signal) => {
      onSent(await send(signal));
      if (failing) log.info('reports reach the coordinator again');
      failing = false;
      const dueMs = order.nextReportMs();
      return dueMs === undefined ? heartbeatIn(heartbeatMs, clock.now()) : dueMs * REPORTED_AFTER;
    },
    onError: (error) => {
      onSent('failed');
      // Once per outage: what the coordinator misses, it gets when it is back.
      if (!failing) log.warn({ reason: messageOf(error) }, 'reports do not reach the coordinator');
      failing = true;
    },
  });

  return {
    mark: () => trigger.mark(),
    run: (signal) => {
      trigger.mark(0);
      return trigger.start(signal);
    },
  };
};

/**
 * Milliseconds, at most a jittered interval: what comes together with the reports of other agents,
 * whose clocks agree, costs the coordinator half of what one alone does (docs/performance.md).
 */
export const heartbeatIn = (heartbeatMs: number, now: number): number =>
  untilCommonTime(jittered(heartbeatMs, JITTER), heartbeatMs, now);

type Part = Pick<Report, 'page' | 'pages' | 'rules' | 'repeats' | 'gone'>;

type Changes = Pick<Report, 'rules' | 'gone'>;

const isEmpty = ({ rules, gone = [] }: Changes): boolean => rules.length + gone.length === 0;

/** Undefined where it is more than a page. */
const changesSince = (
  before: readonly RuleReport[],
  now: readonly RuleReport[],
): Changes | undefined => {
  const known = new Map(before.map((rule) => [rule.uid, rule]));
  const rules = now.filter((rule) => !isDeepStrictEqual(known.get(rule.uid), rule));
  for (const { uid } of now) known.delete(uid);
  const gone = [...known.keys()];
  if (pagesOf(rules).length > 1 || gone.length > MAX_RULES_PER_PAGE) return undefined;
  return { rules, ...(gone.length > 0 && { gone }) };
};

const pageWith = (
  {
    drifts,
    stateFolder,
    unreadOthers = [],
    verified,
    ...known
  }: Omit<Snapshot, 'rules' | 'information' | 'commentsLost'>,
  page: Part & Pick<Report, 'bootId' | 'sequence' | 'purpose' | 'clock'>,
): Report => ({
  version: REPORT_VERSION,
  ...known,
  ...(stateFolder && { stateFolder }),
  ...(unreadOthers.length > 0 && { unreadOthers: [...unreadOthers] }),
  ...(page.page === 0 && drifts.length > 0 && { drifts: [...drifts] }),
  ...page,
  clock: { ...page.clock, ...(verified && { verified }) },
});
