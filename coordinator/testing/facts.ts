/** Rules, pods and reports for unit tests, and arbitrary ones for properties. */
import * as fc from 'fast-check';
import { REPORT_VERSION, type Report, type ReportClock } from '#shared/protocol/report.ts';
import type { PodReport, RuleWord } from '../rule-status/pod-report.ts';
import type { Rule } from '../sources/rule.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import type { RollupContext } from '../rule-status/pod-verdict.ts';

export const NOW = Date.parse('2026-01-02T03:04:05Z');
export const UPTIME = 1_000_000;
export const SILENT_AFTER = 60_000;

/**
 * Runs of the agent's container, ten seconds each: when the kubelet says that one started, and the
 * clock of a report in it.
 */
export const startOfRun = (run: number): number => NOW - 600_000 + run * 10_000;
export const clockOfRun = (run: number): ReportClock => ({
  startedAt: startOfRun(run) + 300,
  sentAt: startOfRun(run) + 5_000,
});

export const context = (changes: Partial<RollupContext> = {}): RollupContext => ({
  now: NOW,
  monotonic: UPTIME,
  silentAfterMs: SILENT_AFTER,
  missingReports: new Set(),
  ...changes,
});

export const rule = (changes: Partial<Rule> = {}): Rule => ({
  kind: 'FirewallRule',
  namespace: 'edge',
  name: 'reject-80',
  uid: 'rule-1',
  generation: 2,
  revision: 'r2',
  purpose: 'cnf-1',
  deletedAt: undefined,
  hasFinalizer: true,
  status: undefined,
  ...changes,
});

export const cnfPod = (name: string, changes: Partial<CnfPod> = {}): CnfPod => ({
  namespace: 'edge',
  name,
  uid: `uid-${name}`,
  serves: 'cnf-1',
  purpose: 'cnf-1',
  owned: true,
  ready: true,
  notReady: '',
  troubled: false,
  terminating: false,
  finished: false,
  agent: { state: 'started', startedAt: startOfRun(0) },
  othersStartedAt: startOfRun(0),
  withoutKinds: [],
  weight: undefined,
  ...changes,
});

export const word = (changes: Partial<RuleWord> = {}): RuleWord => ({
  kind: 'FirewallRule',
  name: 'reject-80',
  uid: 'rule-1',
  generation: 2,
  revision: 'r2',
  state: 'Applied',
  reason: 'Applied',
  message: '',
  since: NOW - 5_000,
  ...changes,
});

export const report = (
  words: readonly RuleWord[],
  changes: Partial<PodReport> = {},
): PodReport => ({
  bootId: 'boot-0001',
  clock: clockOfRun(0),
  doubt: '',
  fleet: {},
  drifts: [],
  receivedAt: { monotonic: UPTIME - 1_000, wall: NOW - 1_000 },
  openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
  unwatchedKinds: [],
  rules: new Map(words.map((entry) => [entry.uid, entry])),
  ...changes,
});

/** As an agent sends it. */
export const sentReport = (changes: Partial<Report> = {}): Report => ({
  version: REPORT_VERSION,
  bootId: 'boot-0001',
  sequence: 1,
  page: 0,
  pages: 1,
  purpose: 'cnf-1',
  openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
  unwatchedKinds: [],
  clock: clockOfRun(0),
  doubt: '',
  fleet: {},
  rules: [],
  ...changes,
});

export const reportsOf = (
  entries: readonly (readonly [CnfPod, PodReport | undefined])[],
): ReadonlyMap<string, PodReport> =>
  new Map(entries.flatMap(([pod, said]) => (said ? [[pod.uid, said]] : [])));

/** What may be known of one pod: small values, so that coincidences are found. */
export type PodCase = { pod: CnfPod; report: PodReport | undefined; reportMissing: boolean };

const agents = fc.oneof(
  fc.constant({ state: 'missing' } as const),
  fc.record({ state: fc.constant('never-started' as const), scheduled: fc.boolean() }),
  fc.record({ state: fc.constant('started' as const), startedAt: fc.nat(2).map(startOfRun) }),
);

const words = fc.record({
  generation: fc.integer({ min: 1, max: 2 }),
  revision: fc.constantFrom('r1', 'r2'),
  state: fc.constantFrom('Applied', 'Pending', 'Failed', 'Removed'),
  since: fc.integer({ min: NOW - 9_000, max: NOW }),
});

const reports = fc
  .record({
    run: fc.nat(2),
    age: fc.constantFrom(0, 10_000, SILENT_AFTER, SILENT_AFTER + 1),
    reachable: fc.boolean(),
    unwatched: fc.boolean(),
    word: fc.option(words, { nil: undefined }),
  })
  .map((facts) =>
    report(facts.word ? [word({ ...facts.word, reason: facts.word.state })] : [], {
      clock: clockOfRun(facts.run),
      receivedAt: { monotonic: UPTIME - facts.age, wall: NOW - facts.age },
      openwrt: { reachable: facts.reachable, driver: 'ubus', message: '', driftRepairs: 0 },
      unwatchedKinds: facts.unwatched ? ['FirewallRule'] : [],
    }),
  );

export const podFacts: fc.Arbitrary<PodCase[]> = fc
  .uniqueArray(
    fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      ready: fc.boolean(),
      terminating: fc.boolean(),
      finished: fc.boolean(),
      agent: agents,
      report: fc.option(reports, { nil: undefined }),
      reportMissing: fc.boolean(),
    }),
    { selector: ({ name }) => name, maxLength: 4 },
  )
  .map((pods) =>
    pods.map(({ name, report: said, reportMissing, ...changes }) => ({
      pod: cnfPod(name, { ...changes, notReady: changes.ready ? '' : 'the pod is not ready' }),
      report: said,
      reportMissing,
    })),
  );

/** The facts' parts, as roll-up and decision take them. Default: pod `a`, without a report. */
export const factsOf = (
  given: readonly Partial<PodCase>[],
): {
  pods: readonly CnfPod[];
  reports: ReadonlyMap<string, PodReport>;
  missingReports: ReadonlySet<string>;
} => {
  const facts = given.map(({ pod = cnfPod('a'), ...rest }) => ({ pod, ...rest }));
  return {
    pods: facts.map(({ pod }) => pod),
    reports: reportsOf(facts.map(({ pod, report: said }) => [pod, said])),
    missingReports: new Set(
      facts.filter(({ reportMissing }) => reportMissing).map(({ pod }) => pod.uid),
    ),
  };
};

/** Not signed: what a token for reports says of itself. */
export const tokenSaying = (pod: Pick<CnfPod, 'namespace' | 'name' | 'uid'>): string => {
  const claims = {
    aud: ['sdewan-coordinator'],
    'kubernetes.io': { namespace: pod.namespace, pod: { name: pod.name, uid: pod.uid } },
  };
  return `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
};
