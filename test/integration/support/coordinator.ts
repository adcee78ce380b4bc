/**
 * A coordinator that only listens: checks each report against the schema and keeps the last one of
 * each rule.
 */
import { Hono } from 'hono';
import {
  REPORT_VERSION,
  reportSchema,
  type Report,
  type RuleReport,
} from '#shared/protocol/report.ts';
import { listening } from '../../stack/listening.ts';

export type ListeningCoordinator = {
  url: string;
  reports: Report[];
  /** The states of the last full report. */
  rules: () => readonly RuleReport[];
  /** `Applied`, `Failed: NameTaken` …; undefined when it is not in the last full report. */
  stateOf: (name: string) => string | undefined;
  /** As if it had restarted. */
  forget: () => void;
  stop: () => Promise<void>;
};

export const startCoordinator = async (): Promise<ListeningCoordinator> => {
  const reports: Report[] = [];
  let epoch = 1;
  let complete: { sequence: number; rules: RuleReport[] } | undefined;
  let pages: Report[] = [];
  const app = new Hono();
  app.post('/v1/namespaces/:namespace/pods/:pod/report', async (context) => {
    const report = reportSchema.parse(await context.req.json());
    reports.push(report);
    if (report.repeats !== undefined) {
      const wantsFull = report.repeats !== complete?.sequence;
      return context.json({
        epoch: String(epoch),
        version: REPORT_VERSION,
        leaseTransitions: 1,
        wantsTimes: true,
        ...(wantsFull && { wantsFull }),
      });
    }
    pages = [...pages.filter(({ sequence }) => sequence === report.sequence), report];
    if (pages.length === report.pages) {
      complete = { sequence: report.sequence, rules: pages.flatMap(({ rules }) => rules) };
    }
    return context.json({
      epoch: String(epoch),
      version: REPORT_VERSION,
      leaseTransitions: 1,
      wantsTimes: true,
    });
  });
  const server = await listening(app);
  return {
    url: server.url,
    reports,
    rules: () => complete?.rules ?? [],
    stateOf: (name) => {
      const rule = complete?.rules.find((candidate) => candidate.name === name);
      if (rule === undefined) return undefined;
      const { state, reason } = rule;
      return state === reason || state === 'Applied' ? state : `${state}: ${reason}`;
    },
    forget: () => {
      epoch += 1;
      complete = undefined;
    },
    stop: () => server.close(0),
  };
};
