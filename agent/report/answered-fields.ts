/** Fields of a report beside the rules that depend on the coordinator's answer to the last. */
import type { Counters } from '#shared/protocol/counters.ts';
import {
  MAX_CHANGES_TIMED,
  type ChangeTimes,
  type FleetOrder,
  type Report,
  type ReportAnswer,
} from '#shared/protocol/report.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { ChangeLog } from './change-times.ts';
import type { Snapshot } from './status.ts';

export type Apart = Pick<Snapshot, 'information' | 'commentsLost'>;

/** Six heartbeats. */
const FORGOTTEN_MS = 60_000;

export type AnsweredField = {
  /** Fields for the report that is sent next. */
  fields: (report: Report, apart: Apart) => object;
  /** Takes in the answer to it. True when there is more to report. */
  answered: (answer: ReportAnswer) => Promise<boolean>;
};

/**
 * Instructions of an earlier leader are ignored. Where the API server was set back, the numbers of
 * terms begin anew: a number is forgotten in time.
 */
export const createOrderCheck = (
  clock: Pick<Clock, 'monotonic'>,
): ((answer: ReportAnswer) => boolean) => {
  let highest = { number: 0, at: 0 };
  return ({ leaseTransitions: number = 0 }) => {
    const at = clock.monotonic();
    const isLate = number < highest.number && at - highest.at < FORGOTTEN_MS;
    if (!isLate && number > 0) highest = { number, at };
    return !isLate;
  };
};

/** What is told to each coordinator, and again whenever it is another. */
const createTold = <Value>() => {
  /** The last that a coordinator has, and the epoch of that one. */
  let has: { epoch: string; value: Value } | undefined;
  let sent: Value | undefined;
  return {
    /** The value, where the coordinator lacks it. */
    toSend: (value: Value | undefined): Value | undefined => {
      sent = value === has?.value ? undefined : value;
      return sent;
    },
    /** Whether it has one. */
    answered: ({ epoch, wantsFull }: ReportAnswer): boolean => {
      if (sent !== undefined && wantsFull !== true) has = { epoch, value: sent };
      else if (has?.epoch !== epoch) has = undefined;
      return has !== undefined;
    },
  };
};

/** What OpenWRT is like. */
export const createInformationField = (): AnsweredField => {
  const told = createTold<string>();
  let text: string | undefined;
  return {
    fields: (_report, { information }) => {
      text = information && JSON.stringify(information);
      return told.toSend(text) === undefined ? {} : { information };
    },
    answered: async (answer) => !told.answered(answer) && text !== undefined,
  };
};

/**
 * Counters, in reports that go out anyway. `isWanted`: the pod is one of a CNFDeployment, as this
 * coordinator has it.
 */
export const createCountersField = (
  current: () => Counters | undefined,
  isWanted: () => boolean,
): AnsweredField => {
  const told = createTold<Counters>();
  return {
    fields: ({ page }) => {
      const counters = told.toSend(isWanted() && page === 0 ? current() : undefined);
      return counters ? { counters } : {};
    },
    answered: async (answer) => {
      told.answered(answer);
      return false;
    },
  };
};

/**
 * Which comments were lost. `onReported`: the coordinator that leads, which writes Events, has
 * received it, and none needs it again.
 */
export const createCommentsField = (
  onReported: (packages: readonly string[]) => Promise<void>,
  isOrder: (answer: ReportAnswer) => boolean,
): AnsweredField => {
  let sent: readonly string[] = [];
  return {
    fields: ({ page }, { commentsLost = [] }) => {
      sent = page === 0 ? commentsLost : [];
      return sent.length > 0 ? { commentsLost: [...sent] } : {};
    },
    answered: async (answer) => {
      const leads = answer.leaseTransitions !== undefined && isOrder(answer);
      if (leads && sent.length > 0 && answer.wantsFull !== true) await onReported(sent);
      return false;
    },
  };
};

/** When changes have come to OpenWRT. */
export const createTimesField = (
  { want, settled, reported }: Pick<ChangeLog, 'want' | 'settled' | 'reported'>,
  isOrder: (answer: ReportAnswer) => boolean,
): AnsweredField => {
  let wants = false;
  let sent: readonly ChangeTimes[] = [];
  return {
    fields: ({ page }) => {
      sent = wants && page === 0 ? settled().slice(0, MAX_CHANGES_TIMED) : [];
      // Where no answer comes, the next one may be another coordinator's.
      wants = false;
      return sent.length > 0 ? { times: [...sent] } : {};
    },
    answered: async (answer) => {
      wants = answer.wantsTimes === true && isOrder(answer);
      if (!wants) return false;
      want();
      reported(sent);
      return settled().length > 0;
    },
  };
};

/**
 * What a CNFDeployment wants of the pod. `nextReportMs`: as the last answer of this coordinator has
 * it; undefined: it has none.
 */
export const createOrderField = (
  onOrder: (order: FleetOrder) => void,
  isOrder: (answer: ReportAnswer) => boolean,
): AnsweredField & { nextReportMs: () => number | undefined } => {
  let nextReportMs: number | undefined;
  return {
    nextReportMs: () => nextReportMs,
    fields: () => ({}),
    answered: async (answer) => {
      const order = isOrder(answer) ? answer.fleet : undefined;
      nextReportMs = order?.nextReportMs;
      if (order) onOrder(order);
      return false;
    },
  };
};
