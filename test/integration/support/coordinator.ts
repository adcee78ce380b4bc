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
import { Reports } from '../../../coordinator/reports/reports.ts';
import { listening } from '../../stack/listening.ts';

export type ListeningCoordinator = {
  url: string;
  reports: Report[];
  /** The states that were reported last. */
  rules: () => readonly RuleReport[];
  /** `Applied`, `Failed: NameTaken` …; undefined when it is not reported. */
  stateOf: (name: string) => string | undefined;
  /** As if it had restarted. */
  forget: () => void;
  stop: () => Promise<void>;
};

export const startCoordinator = async (): Promise<ListeningCoordinator> => {
  const reports: Report[] = [];
  let epoch = 1;
  let kept = new Reports({ silentAfterMs: Infinity });
  let pod = '';
  const rules = (): readonly RuleReport[] => [...(kept.of(pod)?.rules.values() ?? [])];
  const app = new Hono();
  app.post('/v1/namespaces/:namespace/pods/:pod/report', async (context) => {
    const report = reportSchema.parse(await context.req.json());
    reports.push(report);
    pod = context.req.param('pod');
    const at = { monotonic: performance.now(), wall: Date.now() };
    const { outcome } = kept.accept(pod, kept.completed(pod, report), at);
    return context.json({
      epoch: String(epoch),
      version: REPORT_VERSION,
      leaseTransitions: 1,
      wantsTimes: true,
      ...(outcome === 'unknown-base' && { wantsFull: true }),
    });
  });
  const server = await listening(app);
  return {
    url: server.url,
    reports,
    rules,
    stateOf: (name) => {
      const rule = rules().find((candidate) => candidate.name === name);
      if (rule === undefined) return undefined;
      const { state, reason } = rule;
      return state === reason || state === 'Applied' ? state : `${state}: ${reason}`;
    },
    forget: () => {
      epoch += 1;
      kept = new Reports({ silentAfterMs: Infinity });
    },
    stop: () => server.close(0),
  };
};
