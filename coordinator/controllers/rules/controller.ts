/**
 * Watches rules, CNF pods and what agents report; owns the status of rules and our finalizer on
 * them; writes both, and Events. What it writes is decided in rule-status/, on the facts of the
 * moment; each write is fenced to the version that was looked at.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import {
  againIn,
  createController,
  type Controller,
  type ControllerDeps,
  type Outcome,
} from '#shared/kube/controller.ts';
import { isConflict, isNotFound } from '#shared/kube/errors.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { replaceStatus } from '#shared/kube/fenced.ts';
import { find } from '#shared/kube/owned.ts';
import type { RuleStatus } from '#shared/protocol/status.ts';
import type { Counter, Histogram } from '#shared/metrics/prometheus.ts';
import { addOurFinalizer, hasOurFinalizers, removeOurFinalizers } from './finalizer.ts';
import type { Reports } from '../../reports/reports.ts';
import type { RuleInSync } from '../../tracing/spans.ts';
import type { Rule } from '../../sources/rule.ts';
import type { Rules, RuleVersion } from '../../sources/rules.ts';
import type { CnfPod } from '../../sources/cnf-pod.ts';
import { Announcer, tunnelsLeftUp, Waiting, type Announcement } from './events.ts';
import { ownFieldsOf } from './own-fields.ts';
import { Progress } from './progress.ts';
import { isOfRule } from '../../rule-status/wording.ts';
import { SyncTimes } from './sync-times.ts';
import { StatusPace } from './status-pace.ts';
import type { RuleFacts } from './facts.ts';

export type RuleMetrics = {
  statusWrites: Counter<'result'>;
  finalizersRemoved: Counter;
  /** Time from the deletion of a rule to the removal of the finalizer. */
  removalSeconds: Histogram;
  /** Time from a change of a rule to in sync. */
  syncSeconds: Histogram;
};

export type RulesControllerDeps = Omit<ControllerDeps, 'metrics'> & {
  client: KubeClient;
  rules: Pick<Rules, 'get' | 'learn' | 'uids' | 'uidsOfPurpose'>;
  reports: Reports;
  /** Undefined until the pods are known. */
  facts: () => RuleFacts | undefined;
  record: (event: RecordedEvent) => void;
  /** Called when the status of a rule that has changed says that all pods have it. */
  onInSync: (rule: Rule, times: RuleInSync) => void;
  metrics: RuleMetrics & ControllerDeps['metrics'];
};

/** What comes within this time, e.g. the reports of all pods on one rule, becomes one status. */
const COALESCE_MS = 100;
/** Requests to the API server in flight; more would only wait in its own queues. */
const CONCURRENCY = 16;
/** Tries on fresh versions before a rule that others keep changing has to wait. */
const MAX_ATTEMPTS = 3;
/** Between looks past the watch while it and the API server disagree about pods. */
const LOOK_AGAIN_MS = 2_000;
/** A deletion that takes longer is worth an Event: all the rest was in time. */
const BLOCKED_AFTER_MS = 15_000;

export class RulesController {
  readonly #deps: RulesControllerDeps;
  readonly #controller: Controller;
  readonly #progress = new Progress();
  readonly #pace = new StatusPace();
  readonly #announcer = new Announcer();
  readonly #waiting = new Waiting();
  readonly #syncTimes = new SyncTimes();

  constructor(deps: RulesControllerDeps) {
    const { clock, facts, leadership, log, metrics, rules } = deps;
    this.#deps = deps;
    this.#controller = createController({
      name: 'rules',
      metrics,
      leadership,
      clock,
      log,
      facts,
      markAll: () => this.markAll(),
      reconcile: (uid, facts, signal) => this.#reconcile(uid, facts, signal),
      coalesceMs: COALESCE_MS,
      concurrency: CONCURRENCY,
      groupOf: (uid) => turnOf(rules.get(uid)?.rule),
      fieldsOf: (uid) => {
        const rule = rules.get(uid)?.rule;
        return { uid, rule: rule && nameOf(rule) };
      },
    });
  }

  get queued(): number {
    return this.#controller.queued();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#controller.run(signal);
  }

  markRule(uid: string): void {
    const version = this.#deps.rules.get(uid);
    this.#syncTimes.see(uid, version?.rule, this.#deps.clock.monotonic());
    // Until it has our finalizer, a rule can disappear while pods have it.
    const urgent = version !== undefined && needsFinalizer(version.rule);
    this.#controller.mark(uid, urgent ? 0 : (version?.resource.coalesceMs ?? COALESCE_MS));
  }

  markRules(uids: Iterable<string>): void {
    for (const uid of uids) this.markRule(uid);
  }

  /** All rules that the pod has a part in: its purpose's, and those that it still reports. */
  markPod({ namespace, purpose, uid }: CnfPod): void {
    const { rules, reports } = this.#deps;
    if (purpose !== undefined) this.markRules(rules.uidsOfPurpose(namespace, purpose));
    for (const spokenOf of reports.of(uid)?.rules.keys() ?? [])
      if (rules.get(spokenOf)) this.markRule(spokenOf);
  }

  /** Those of which it is time to tell what they wait for. */
  markWaiting(): void {
    this.markRules(this.#waiting.due(this.#deps.clock.monotonic()));
  }

  markAll(): void {
    this.markRules(this.#deps.rules.uids());
  }

  async #reconcile(uid: string, facts: RuleFacts, signal: AbortSignal): Promise<Outcome> {
    for (let attempt = 1; ; attempt += 1) {
      const version = this.#deps.rules.get(uid);
      if (!version) {
        this.#progress.settle(uid);
        this.#pace.forget(uid);
        this.#announcer.forget(uid);
        this.#waiting.forget(uid);
        return 'done';
      }
      try {
        return await this.#reconcileLive(version, facts, signal);
      } catch (error) {
        if (isNotFound(error)) return 'done';
        if (!isConflict(error) || attempt === MAX_ATTEMPTS) throw error;
        if (!(await this.#readAnew(version, signal))) return 'done';
      }
    }
  }

  /** False when the rule is gone; the watch will show that, too. */
  async #readAnew({ resource, rule }: RuleVersion, signal: AbortSignal): Promise<boolean> {
    const { client, rules } = this.#deps;
    const fresh = await find(client, resource, rule, { signal });
    return fresh?.metadata.uid === rule.uid && rules.learn(fresh) !== undefined;
  }

  async #reconcileLive(
    version: RuleVersion,
    facts: RuleFacts,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { rule } = version;
    if (rule.deletedAt !== undefined)
      return this.#reconcileDeleted(version, rule.deletedAt, facts, signal);
    if (needsFinalizer(rule)) {
      await addOurFinalizer(this.#deps.client, version, signal);
      // The watch brings the version that has it, and marks the rule again.
      return 'done';
    }
    return againIn(await this.#writeStatus(version, facts, facts.podsOf(rule), signal));
  }

  async #reconcileDeleted(
    version: RuleVersion,
    deletedAt: number,
    facts: RuleFacts,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { rule } = version;
    let pods = facts.podsOf(rule);
    let decision = facts.decide(rule, pods);
    let lookAgain = false;
    if (decision.remove && hasOurFinalizers(version)) {
      pods = await facts.lookForPods(rule);
      decision = facts.decide(rule, pods);
      if (decision.remove) {
        await this.#removeFinalizer(version, deletedAt, signal);
        this.#recordEvent(version, tunnelsLeftUp(decision));
        return 'done';
      }
      lookAgain = true;
    }
    const waitMs = await this.#writeStatus(version, facts, pods, signal);
    const blockedInMs = deletedAt + BLOCKED_AFTER_MS - this.#deps.clock.now();
    if (decision.blockers.length > 0 && blockedInMs <= 0) {
      const written = this.#deps.rules.get(rule.uid)?.rule.status;
      this.#recordEvent(version, this.#announcer.blocked(rule.uid, written));
    }
    const times = [
      waitMs,
      decision.recheckInMs,
      lookAgain ? LOOK_AGAIN_MS : undefined,
      decision.blockers.length > 0 && blockedInMs > 0 ? blockedInMs : undefined,
    ];
    return againIn(Math.min(...times.map((ms) => ms ?? Infinity)));
  }

  async #removeFinalizer(
    version: RuleVersion,
    deletedAt: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, log, metrics } = this.#deps;
    const { rule } = version;
    await removeOurFinalizers(client, version, signal);
    metrics.finalizersRemoved.inc();
    metrics.removalSeconds.observe(Math.max(0, clock.now() - deletedAt) / 1_000);
    log.info({ rule: nameOf(rule), uid: rule.uid }, 'finalizer of a rule removed');
  }

  /** Milliseconds until the status is written after all, when it can wait. */
  async #writeStatus(
    version: RuleVersion,
    facts: RuleFacts,
    pods: readonly CnfPod[],
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { client, clock, metrics, rules } = this.#deps;
    const { resource, object, rule } = version;
    const status = { ...ownFieldsOf(version), ...facts.status(rule, pods) };
    const isNew = !isDeepStrictEqual(status, object.status);
    const change = { before: rule.status, now: status };
    const waits = [this.#progress, this.#pace].map((part) =>
      isNew ? part.waitMs(rule.uid, change, clock.monotonic()) : 0,
    );
    const waitMs = Math.max(...waits);
    if (waitMs > 0) return waitMs;
    this.#progress.settle(rule.uid);
    this.#recordWaiting(version, status);
    if (!isNew) return undefined;
    const changedAt = this.#syncTimes.begun(rule, status);
    const begunAt = clock.now();
    try {
      const written = await replaceStatus({ client, resource, object }, status, {
        signal,
      });
      rules.learn(written);
    } catch (error) {
      metrics.statusWrites.inc({ result: isConflict(error) ? 'conflict' : 'error' });
      throw error;
    }
    this.#pace.written(rule.uid, change, clock.monotonic());
    metrics.statusWrites.inc({ result: 'written' });
    if (changedAt !== undefined) {
      this.#syncTimes.settle(rule.uid);
      const lastedMs = clock.monotonic() - changedAt;
      metrics.syncSeconds.observe(lastedMs / 1_000);
      const writtenAt = clock.now();
      this.#deps.onInSync(rule, { changedAt: writtenAt - lastedMs, begunAt, writtenAt });
    }
    this.#announce(version, status, clock.now() - begunAt);
    return undefined;
  }

  #recordWaiting(version: RuleVersion, status: RuleStatus): void {
    const now = this.#deps.clock.monotonic();
    this.#recordEvent(version, this.#waiting.look(version.rule.uid, status, now).event);
  }

  #recordEvent({ object }: RuleVersion, announcement: Announcement | undefined): void {
    if (announcement) this.#deps.record({ object, ...announcement });
  }

  /** `tookMs`: the write. */
  #announce({ object, rule }: RuleVersion, status: RuleStatus, tookMs: number): void {
    const { log, record } = this.#deps;
    const { state, pods, message } = status;
    const said = this.#announcer.announcements(rule.uid, rule.status, status);
    // The trouble of a pod is told once, of the pod, and not for each of its rules.
    const isNews = said.length > 0 || hasNewReason(rule.status, status);
    const fields = { rule: nameOf(rule), state, pods: pods?.summary, reason: message, tookMs };
    log[isNews ? 'info' : 'debug'](fields, 'status of a rule changed');
    for (const each of said) record({ object, ...each });
  }
}

/** Another reason that is the rule's own. */
const hasNewReason = (before: RuleStatus | undefined, now: RuleStatus): boolean => {
  const reasonOf = (status: RuleStatus | undefined): string =>
    status?.conditions?.find(({ type }) => type === 'Ready')?.reason ?? 'InSync';
  return (
    isOfRule(reasonOf(now)) && reasonOf(now) !== reasonOf(before) && isOfRule(reasonOf(before))
  );
};

const needsFinalizer = ({ deletedAt, hasFinalizer, purpose }: Rule): boolean =>
  deletedAt === undefined && purpose !== undefined && !hasFinalizer;

/**
 * Namespaces take turns, and in each of them the finalizers, which cannot wait, and the statuses,
 * of which there may be thousands.
 */
const turnOf = (rule: Rule | undefined): string =>
  rule === undefined ? '' : `${rule.namespace}${needsFinalizer(rule) ? '/finalizer' : ''}`;

const nameOf = ({ kind, namespace, name }: Rule): string => `${kind} ${namespace}/${name}`;
