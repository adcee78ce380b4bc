/**
 * The coordinator as one piece: sources, reconciler and report intake wired to each other, without
 * servers, signals or environment. Holds no state that a restart would lose: everything comes back
 * from the API server and the agents, and for how long these have not reported, from the Lease.
 */
import type { HttpBindings } from '@hono/node-server';
import { randomUUID } from 'node:crypto';
import type { Registry } from '#shared/metrics/prometheus.ts';
import type { Counters } from '#shared/protocol/counters.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { EventRecorder, type RecordedEvent } from '#shared/kube/events.ts';
import type { Leadership } from '#shared/kube/leadership.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { Drift, Report } from '#shared/protocol/report.ts';
import { aborted } from '#shared/runtime/aborted.ts';
import { Rate } from '#shared/runtime/rate.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { devicesIn } from './controllers/fleet/distances.ts';
import { FleetOrders } from './controllers/fleet/distance-answers.ts';
import { standingOf, type ReportedRules } from './controllers/fleet/reported.ts';
import { reportedPodsOf } from './controllers/cnf-status/facts.ts';
import {
  createCnfStatusController,
  type ReportedPods,
} from './controllers/cnf-status/controller.ts';
import { Allowance } from './reports/memory-allowance.ts';
import { createIntake } from './reports/intake.ts';
import { newsOf } from './reports/news.ts';
import { createTokenReviewer } from './reports/token-reviewer.ts';
import { exposeSources } from './exposed.ts';
import type { Metrics } from './metrics.ts';
import type { MissingReports } from './controllers/rules/missing-reports.ts';
import { RuleFacts } from './controllers/rules/facts.ts';
import {
  agentMissing,
  commentsRemoved,
  driftRepaired,
  podNotReady,
  sectionsUnread,
  stateFolderUnwritable,
} from './controllers/rules/events.ts';
import { RulesController } from './controllers/rules/controller.ts';
import { UnreadPods } from './controllers/rules/unread-pods.ts';
import { agesOf, censusOf, rulesByState, stalledRules } from './controllers/rules/counts.ts';
import { createCatchUp } from './sources/catch-up.ts';
import { CnfPods, type CnfPodChange } from './sources/cnf-pods.ts';
import { Reports } from './reports/reports.ts';
import { Rules, type WatchedKind } from './sources/rules.ts';
import { isSilent } from './rule-status/pod-verdict.ts';
import type { PodReport } from './rule-status/pod-report.ts';
import type { CnfPod } from './sources/cnf-pod.ts';
import { spansOfReport, spansOfStatus, type Tracing } from './tracing/spans.ts';

export type CoordinatorOptions = {
  client: KubeClient;
  kinds: readonly WatchedKind[];
  revisionOf: (object: RuleObject) => string;
  /** By what else rules are looked up. `filter`: `filterOf` it. */
  indexKeysOf: (object: RuleObject, filter: unknown) => readonly string[];
  /** Whether the generators read the rules of a kind. */
  isRead: (kind: string) => boolean;
  /** The only one to look after; undefined: all. */
  namespace: string | undefined;
  silentAfterMs: number;
  /** The API server does not answer this replica. */
  wasApiServerAway: () => boolean;
  /** Name of this replica, in Events. */
  instance: string;
  /** Where ICN's CNFStatus is; undefined: it is not kept. */
  classicStatusNamespace: string | undefined;
  /** Called for each CNF pod that is added, changed or deleted, for what keeps objects with it. */
  onPod: (change: CnfPodChange) => void;
  /** Called when the agent of a pod has said something new of rules or OpenWRT. */
  onReport: (pod: CnfPod) => void;
  /** Called when it has counted something. */
  onCounters: (pod: CnfPod) => void;
  /** Called with the uid of every rule that was added, changed or deleted. */
  onRule: (uid: string) => void;
  registry: Registry;
  metrics: Metrics;
  leadership: Leadership;
  /** Handed over with the Lease of that leadership. */
  missingReports: MissingReports;
  tracing: Tracing;
  clock: Clock;
  log: Logger;
};

/** What is watched, for other parts to look things up in. */
export type Sources = {
  pods: CnfPods;
  /** Whether they are known well enough to write of them. */
  hasCaughtUp: () => boolean;
  rules: Rules;
  /** What is known of the pods of a CNF, and of their OpenWRTs. */
  reportedPods: ReportedPods;
  /** The last report of a pod's agent to this replica. */
  reportOf: (podUid: string) => PodReport | undefined;
  /** What agents have said of the rules of their pods; undefined until pods and rules are known. */
  standings: () => ((pod: CnfPod) => ReportedRules) | undefined;
  /** What pods of CNFDeployments are told. */
  orders: FleetOrders;
  /** As the agent of the pod has reported them last. */
  countersOf: (podUid: string) => Counters | undefined;
  /** Device -> addresses, as the agent of the pod has reported them last. */
  addressesOf: (podUid: string) => ReadonlyMap<string, readonly string[]>;
};

export type Coordinator = {
  /** The report intake, for a server. */
  fetch: (request: Request, connection?: HttpBindings) => Response | Promise<Response>;
  sources: Sources;
  /** Writes an Event in the background, while this replica leads. */
  record: (event: RecordedEvent) => void;
  /** What is not yet as it should be, one sentence each. */
  notReady: () => readonly string[];
  /** Works until the signal aborts. */
  run: (signal: AbortSignal) => Promise<void>;
};

/** Lookups of pods that report before the watch has shown them; beyond the limit they try again. */
const LOOKS = { perSecond: 10, atOnce: 50 };
/** An agent reports changes four times a second at most; a large report has twenty pages. */
const REPORTS_OF_A_POD = { perSecond: 10, atOnce: 60 };
/** The kubelet renews a token once an hour. */
const NEW_TOKENS_OF_A_POD = { perSecond: 2, atOnce: 20 };
/** Each makes four spans; 1,000 of one `kubectl apply`. */
const TRACED_CHANGES_OF_A_POD = { perSecond: 20, atOnce: 1_000 };
/** Between looks for agents that have become silent. */
const SILENCE_SWEEP_MS = 1_000;

// It only wires: each part names what it notifies.
// oxlint-disable-next-line max-lines-per-function
export const createCoordinator = (options: CoordinatorOptions): Coordinator => {
  const {
    missingReports,
    client,
    clock,
    instance,
    kinds,
    leadership,
    log,
    metrics,
    namespace,
    registry,
  } = options;
  const { silentAfterMs, tracing } = options;
  const recorder = new EventRecorder({
    client,
    component: 'sdewan-coordinator',
    instance,
    log,
    clock,
  });
  leadership.beforeRelease(() => recorder.flush());
  const reports = new Reports({ silentAfterMs });
  const allowance = new Allowance((uid) => rules.get(uid)?.rule.namespace);
  const unread = new UnreadPods(reports);
  const leads = (): boolean => leadership.term() !== undefined;

  const onPod = (change: CnfPodChange): void => {
    const { before, now } = change;
    options.onPod(change);
    for (const pod of [before, now]) {
      if (!pod) continue;
      ruleStatuses.markPod(pod);
      markStatus(pod);
    }
    if (before && !now) {
      reports.forget(before.uid);
      allowance.forget(before.uid);
      missingReports.settle(before.uid);
      unread.forget(before.uid);
    }
    if (now) unread.note(now);
    if (!before && now && lacksAgent(now)) record(agentMissing(now));
    if (now && isNewTrouble(before, now)) {
      record(podNotReady(now));
      log.warn({ pod: `${now.namespace}/${now.name}`, reason: now.notReady }, 'pod is not ready');
    }
  };
  const pods = new CnfPods({
    namespace,
    client,
    clock,
    log,
    onChange: onPod,
  });
  const catchUp = createCatchUp(pods, leadership);
  const rules = new Rules({
    namespace,
    kinds,
    revisionOf: options.revisionOf,
    indexKeysOf: options.indexKeysOf,
    isRead: options.isRead,
    client,
    clock,
    log,
    onChange: (uid) => {
      ruleStatuses.markRule(uid);
      options.onRule(uid);
    },
  });
  const podsKnownOf: ReportedPods = (of) =>
    reportedPodsOf(of, { pods, reports, monotonic: clock.monotonic(), silentAfterMs });
  const cnfStatuses = createCnfStatusController({
    client,
    pods: () => (catchUp.isDone() ? podsKnownOf : undefined),
    classicNamespace: options.classicStatusNamespace,
    namespace,
    metrics,
    leadership,
    clock,
    log,
  });
  const markStatus = ({ namespace: where, purpose }: CnfPod, haste = true): void => {
    if (purpose !== undefined) cnfStatuses.mark({ namespace: where, purpose }, haste);
  };
  const facts = new RuleFacts({ pods, reports, missingReports, silentAfterMs, clock });
  const record = (event: RecordedEvent): void => {
    if (leads()) recorder.record(event);
  };
  const ruleStatuses = new RulesController({
    client,
    rules,
    reports,
    facts: () => (catchUp.isDone() ? facts : undefined),
    record,
    onInSync: (rule, times) => tracing.add(spansOfStatus(rule, times)),
    metrics,
    leadership,
    clock,
    log,
  });

  const standing = (pod: CnfPod): ReportedRules => {
    const uids = rules.uidsOfPurpose(pod.namespace, pod.purpose ?? '');
    const known = [...uids].flatMap((uid) => rules.get(uid)?.rule ?? []);
    const monotonic = clock.monotonic();
    const context = {
      now: clock.now(),
      monotonic,
      silentAfterMs,
      missingReports: missingReports.uids,
    };
    return {
      ...standingOf(known, pod, reports.of(pod.uid), context),
      ...orders.hearing(pod, monotonic),
    };
  };
  const orders = new FleetOrders({
    reportOf: (uid) => reports.of(uid),
    pods: () => pods.all(),
    silentAfterMs,
  });
  const standings: Sources['standings'] = () =>
    catchUp.isDone() && rules.unknown.size === 0 ? standing : undefined;

  const reviewer = createTokenReviewer({
    client,
    clock,
    rate: new Rate({ ...NEW_TOKENS_OF_A_POD, clock }),
    onReview: (result) => metrics.tokenReviews.inc({ result }),
  });
  const tellDrift = (pod: CnfPod, drifts: readonly Drift[]): void => {
    const { namespace: of, purpose = '' } = pod;
    metrics.drifted({ namespace: of, purpose }, drifts.length);
    for (const event of driftRepaired(pod, drifts)) record(event);
  };
  const traced = new Rate({ ...TRACED_CHANGES_OF_A_POD, clock });
  const trace = (pod: CnfPod, { times = [], clock: told }: Report): void => {
    const report = { times: times.filter(() => traced.take(pod.uid)), clock: told };
    tracing.add(spansOfReport(report, pod, (uid) => rules.get(uid)?.rule));
  };
  const intake = createIntake({
    reviewer,
    pods,
    looks: new Rate({ ...LOOKS, clock }),
    rate: new Rate({ ...REPORTS_OF_A_POD, clock }),
    reports,
    allowance,
    epoch: randomUUID(),
    term: leadership.term,
    orderFor: (uid) => orders.answerTo(uid, clock.monotonic()),
    wasApiServerAway: options.wasApiServerAway,
    isReady: () => pods.state.listed,
    onPushedOut: (uid) => {
      reports.forget(uid);
      const pod = pods.byUid(uid);
      if (!pod) return;
      ruleStatuses.markPod(pod);
      markStatus(pod);
    },
    onReport: (pod, acceptance) => {
      if (acceptance.outcome === 'news') tellDrift(pod, acceptance.drifts);
      const news = newsOf(acceptance, unread.note(pod));
      if (news.of === 'nothing') return;
      missingReports.settle(pod.uid);
      options.onReport(pod);
      ruleStatuses.markRules(news.rules);
      if (news.of === 'rules') return;
      ruleStatuses.markPod(pod);
      markStatus(pod);
    },
    onInformation: (pod) => {
      markStatus(pod, false);
      options.onReport(pod);
    },
    onCounters: options.onCounters,
    onCommentsLost: (pod, packages) => {
      for (const name of packages) record(commentsRemoved(pod, name));
    },
    onStateFolder: (pod, cause) => record(stateFolderUnwritable(pod, cause)),
    onUnreadOthers: (pod, packages) => {
      for (const each of packages) record(sectionsUnread(pod, each));
    },
    onTimes: tracing.isOn ? trace : undefined,
    onResult: (result) => metrics.reports.inc({ result }),
    clock,
    log,
  });

  exposeSources(registry, {
    leads,
    rules: () => rulesByState(rules),
    stalled: () => stalledRules(rules),
    ages: () =>
      agesOf(rules, pods.all(), reports, { now: clock.now(), monotonic: clock.monotonic() }),
    pods: () =>
      censusOf(pods.all(), reports, {
        monotonic: clock.monotonic(),
        silentAfterMs,
        missingReports,
      }),
    queued: () => ruleStatuses.queued,
    droppedEvents: () => recorder.dropped,
  });

  const sweep = async (signal: AbortSignal): Promise<void> => {
    let sweptAt = clock.monotonic();
    while (!signal.aborted) {
      await clock.sleep(SILENCE_SWEEP_MS, signal).catch(() => undefined);
      const now = clock.monotonic();
      // One that was stopped for a while, and took no reports, does not lead any more.
      const overdue = leads() ? missingReports.listened(now - sweptAt) : [];
      sweptAt = now;
      ruleStatuses.markWaiting();
      for (const uid of [...reports.newlySilent(now), ...overdue]) {
        const pod = pods.byUid(uid);
        if (pod) {
          ruleStatuses.markPod(pod);
          markStatus(pod);
          options.onReport(pod);
        }
        // Without a label the watch does not tell when it goes.
        else {
          reports.forget(uid);
          allowance.forget(uid);
        }
      }
      for (const uid of orders.newlyLate(now)) {
        const pod = pods.byUid(uid);
        if (pod) options.onReport(pod);
      }
    }
  };

  /**
   * In each term, from the moment at which the pods are known. A replica that did not lead may not
   * have received all reports.
   */
  const awaitReports = async (signal: AbortSignal): Promise<void> => {
    const now = { monotonic: clock.monotonic(), silentAfterMs };
    const hasNotReported = ({ uid }: CnfPod): boolean => {
      const report = reports.of(uid);
      return report === undefined || isSilent(report, now);
    };
    for (const pod of pods.all()) if (lacksAgent(pod)) record(agentMissing(pod));
    missingReports.begin(pods.all().filter(hasNotReported));
    // From now on, however soon this replica ends.
    if (missingReports.uids.size > 0) leadership.renew();
    await aborted(signal);
    missingReports.end();
  };

  return {
    fetch: intake.fetch,
    sources: {
      pods,
      hasCaughtUp: catchUp.isDone,
      rules,
      reportedPods: podsKnownOf,
      reportOf: (podUid) => reports.of(podUid),
      standings,
      orders,
      countersOf: (uid) => reports.countersOf(uid),
      addressesOf: (uid) => devicesIn(reports.informationOf(uid)?.information),
    },
    record,
    notReady: () => [
      ...unansweredIn(options.client.unansweredForMs()),
      ...(pods.state.listed ? [] : [`pods: ${pods.state.message}`]),
      ...[...rules.unknown].map(([kind, { message }]) => `${kind}: ${message}`),
    ],
    run: async (signal) => {
      await Promise.all([
        pods.run(signal),
        rules.run(signal),
        leadership.lead((term) => recorder.run(term), signal),
        sweep(signal),
        catchUp.lead(awaitReports, signal),
        ruleStatuses.run(signal),
        cnfStatuses.run(signal),
      ]);
    },
  };
};

/** Longer than an API server takes to start anew. */
const UNANSWERED_MS = 30_000;

const unansweredIn = (forMs = 0): string[] =>
  forMs < UNANSWERED_MS
    ? []
    : [`the API server has answered no call for ${Math.round(forMs / 1_000)} s`];

const isNewTrouble = (before: CnfPod | undefined, { notReady, troubled, terminating }: CnfPod) =>
  troubled && !terminating && notReady !== before?.notReady;

const lacksAgent = ({ agent, finished, terminating }: CnfPod): boolean =>
  agent.state === 'missing' && !finished && !terminating;
