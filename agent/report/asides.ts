/**
 * Fields of a report beside the rules, sent only to a coordinator that has announced that it accepts them: one of version 1 would refuse
 * the whole report for a field that it does not know.
 */
import {
  MAX_CHANGES_TIMED,
  REPORT_VERSION,
  type ChangeTimes,
  type FleetOrder,
  type Report,
  type ReportAnswer,
  type RuleReport,
} from '#shared/protocol/report.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { ChangeLog } from './change-times.ts';
import type { Snapshot } from './status.ts';

/** Of what is known, what only later versions take. */
export type Apart = Pick<
  Snapshot,
  'information' | 'commentsLost' | 'doubt' | 'drifts' | 'fleet' | 'stateFolder' | 'verified'
>;

/** Six heartbeats. */
const FORGOTTEN_MS = 60_000;

export type Aside = {
  /** Fields for the report that is sent next. */
  fields: (report: Report, apart: Apart) => object;
  /** Takes in the answer to it. True when there is more to report. */
  answered: (answer: ReportAnswer) => Promise<boolean>;
};

/** What came with later versions than 1, in every report to a coordinator that knows them. `rulesFor`: as the next report may have them. */
export const createVersionAside = (
  clock: Pick<Clock, 'now'>,
  startedAt: number,
): Aside & { rulesFor: (rules: readonly RuleReport[]) => readonly RuleReport[] } => {
  let version = 1;
  let spoken = 1;
  return {
    rulesFor: (rules) =>
      version < 2 ? rules.map(({ generationInForce: _later, ...rule }) => rule) : rules,
    fields: ({ page }, { doubt, drifts, fleet, stateFolder, verified }) => {
      spoken = version;
      // Where no answer comes, the next one may be an older coordinator's.
      version = 1;
      if (spoken < 2) return {};
      const times = { startedAt, sentAt: clock.now(), ...(verified && { verified }) };
      const drifted = page === 0 && drifts.length > 0 && { drifts: [...drifts] };
      const ofFolder = stateFolder && { stateFolder };
      return { version: spoken, clock: times, doubt, fleet, ...drifted, ...ofFolder };
    },
    answered: async (answer) => {
      version = Math.min(REPORT_VERSION, answer.version ?? 1);
      return version > spoken;
    },
  };
};

/** Instructions of an earlier leader are ignored. Where the API server was set back, the numbers of terms begin anew: a number is forgotten in time. */
export const createOrders = (
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

/** What OpenWRT is like: again to each coordinator, and whenever it changes. */
export const createInformationAside = (): Aside => {
  /** By the epoch of the coordinator that takes it: the last that it has, as JSON; undefined: none yet. */
  let taker: { epoch: string; has: string | undefined } | undefined;
  let text: string | undefined;
  let isNews = false;
  return {
    fields: (_report, { information }) => {
      text = information && JSON.stringify(information);
      isNews = taker !== undefined && text !== taker.has;
      return isNews ? { information } : {};
    },
    answered: async ({ epoch, takesInformation, wantsFull }) => {
      if (takesInformation !== true) taker = undefined;
      else if (taker?.epoch !== epoch) taker = { epoch, has: undefined };
      else if (isNews && wantsFull !== true) taker = { epoch, has: text };
      return taker !== undefined && taker.has !== text;
    },
  };
};

/** Which comments were lost. `onReported`: a coordinator has received it, and none needs it again. */
export const createCommentsAside = (
  onReported: (packages: readonly string[]) => Promise<void>,
  isOrder: (answer: ReportAnswer) => boolean,
): Aside => {
  let takes = false;
  let unreported: readonly string[] = [];
  let sent: readonly string[] = [];
  return {
    fields: ({ page }, { commentsLost = [] }) => {
      unreported = commentsLost;
      sent = takes && page === 0 ? unreported : [];
      // Where no answer comes, the next one may be an older coordinator's.
      takes = false;
      return sent.length > 0 ? { commentsLost: [...sent] } : {};
    },
    answered: async (answer) => {
      takes = answer.takesCommentsLost === true && isOrder(answer);
      const isReported = takes && sent.length > 0 && answer.wantsFull !== true;
      if (isReported) await onReported(sent);
      return takes && !isReported && unreported.length > 0;
    },
  };
};

/** When changes have come to OpenWRT. */
export const createTimesAside = (
  { want, settled, reported }: Pick<ChangeLog, 'want' | 'settled' | 'reported'>,
  isOrder: (answer: ReportAnswer) => boolean,
): Aside => {
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

/** What a CNFDeployment wants of the pod. `nextReportMs`: as the last answer of this coordinator has it; undefined: it has none. */
export const createOrderAside = (
  onOrder: (order: FleetOrder) => void,
  isOrder: (answer: ReportAnswer) => boolean,
): Aside & { nextReportMs: () => number | undefined } => {
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
