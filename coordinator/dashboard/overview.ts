/**
 * What the dashboard shows of rules and pods, from what the coordinator knows anyway. What a page
 * needs of many rules is made once for all viewers and for each change, and before anybody's rights
 * are looked at; no more than two CNFs are kept.
 */
import type { RuleObject } from '#shared/kube/objects.ts';
import type { Information } from '#shared/protocol/information.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { Recent } from '#shared/util/recent.ts';
import { sentenceOf } from '#shared/protocol/reasons.ts';
import { ruleStateWith, type RuleStateView } from '../views/rule-state.ts';
import { inConfiguration } from '../views/rules.ts';
import type { CnfPods } from '../sources/cnf-pods.ts';
import type { ReportedPod } from '../controllers/cnf-status/status.ts';
import type { PodReport } from '../rule-status/pod-report.ts';
import type { Rules, RuleVersion } from '../sources/rules.ts';
import { upKey } from '../reports/reports.ts';
import {
  cnfDeploymentResource,
  type CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { Rule } from '../sources/rule.ts';

/** `purpose` '': of rules that have none. */
export type Cnf = { namespace: string; purpose: string };

export type OverviewDeps = {
  /** Together all kinds. */
  rules: readonly Pick<Rules, 'get' | 'uids' | 'uidsOfPurpose'>[];
  /** CNFDeployments, by the purpose of their pods. */
  rollOuts: Pick<Rules, 'get' | 'uids' | 'uidsOfPurpose'>;
  pods: Pick<CnfPods, 'all' | 'ofPurpose' | 'placeOf'>;
  reportedPods: (of: Cnf) => readonly ReportedPod[];
  reportOf: (podUid: string) => PodReport | undefined;
  /** What is not listed yet. */
  notReady: () => readonly string[];
  silentAfterMs: number;
  clock: Clock;
};

/** Counts of the rules of one kind of a CNF. Times are RFC 3339, '' for none. */
export type Tally = {
  inSync: number;
  total: number;
  drifts: number;
  lastDrift: string;
  /** When the last one came in sync, of those that are. */
  inSyncSince: string;
  /** Since when the first one is not. */
  outSince: string;
};

export type PodRow = {
  name: string;
  node: string;
  ready: boolean;
  /** '' when nothing is wrong. */
  problem: string;
  driver: string;
  agentImage: string;
  driftRepairs: number;
  /** Its agent has reported to this replica. */
  hasReported: boolean;
  wans: readonly Wan[];
  tunnels: readonly Tunnel[];
};
/** `since`: as far as this coordinator has seen. */
type Seen = { since: string };
export type Wan = Information['wans'][number] & Seen;
type Tunnel = Information['tunnels'][number] & Seen;

export type RollOut = { name: string; status: CnfDeploymentStatus };

export type RuleRow = { object: RuleObject; state: RuleStateView };
/** `of`: what it was made of. */
type KeptRow = RuleRow & { of: RuleVersion };

const CNFS_KEPT = 2;

export class Overview {
  readonly #deps: OverviewDeps;
  readonly #startedAt: number;
  #version = 0;
  #tallies: { version: number; of: Tallies } | undefined;
  readonly #rows = new Recent<{ version: number; rows: readonly KeptRow[] }>({ most: CNFS_KEPT });

  constructor(deps: OverviewDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.monotonic();
  }

  /** Grows with each change. */
  get version(): number {
    return this.#version;
  }

  /** Something has changed. */
  mark(): void {
    this.#version += 1;
  }

  /** Not all rules and pods are known. */
  isIncomplete(): boolean {
    return this.#deps.notReady().length > 0;
  }

  /** An agent that lives has not had time for a report yet. */
  isYoung(): boolean {
    const { clock, silentAfterMs } = this.#deps;
    return clock.monotonic() - this.#startedAt < silentAfterMs;
  }

  /** By namespace, purpose and kind; a CNF without rules has no kind. */
  tallies(): Tallies {
    if (this.#tallies?.version !== this.#version)
      this.#tallies = { version: this.#version, of: this.#count() };
    return this.#tallies.of;
  }

  /** Rules that are not in sync. */
  *out(isWanted: (rule: Rule) => boolean): Iterable<RuleRow> {
    for (const version of this.#all())
      if (!isInSync(version.rule) && isWanted(version.rule)) yield rowOf(version);
  }

  rollOutsOf({ namespace, purpose }: Cnf): RollOut[] {
    const { rollOuts } = this.#deps;
    return [...rollOuts.uidsOfPurpose(namespace, purpose)].flatMap((uid) => {
      const { object } = rollOuts.get(uid) ?? {};
      const status = statusSchema.safeParse(object?.status).data;
      return object && status ? [{ name: object.metadata.name, status }] : [];
    });
  }

  /** In the order of OpenWRT's configuration. */
  rulesOf({ namespace, purpose }: Cnf): readonly RuleRow[] {
    const key = `${namespace}/${purpose}`;
    const known = this.#rows.get(key);
    if (known?.version === this.#version) return known.rows;
    // After most changes all but one are as before, and in the same order, which costs little to
    // sort.
    const fresh = new Set(this.#versions({ namespace, purpose }));
    const same = (known?.rows ?? []).filter(({ of }) => fresh.delete(of));
    const rows = [...same, ...[...fresh].map(rowOf)].sort((a, b) =>
      inConfiguration(a.object, b.object),
    );
    this.#rows.set(key, { version: this.#version, rows });
    return rows;
  }

  ruleNamed(namespace: string, kind: string, name: string): RuleRow | undefined {
    for (const { object, rule } of this.#all())
      if (rule.namespace === namespace && rule.kind === kind && rule.name === name)
        return { object, state: ruleStateWith(object, rule.status) };
    return undefined;
  }

  podsOf(cnf: Cnf): PodRow[] {
    const { pods, reportedPods, reportOf } = this.#deps;
    if (cnf.purpose === '') return [];
    const uids = new Map(
      pods.ofPurpose(cnf.namespace, cnf.purpose).map(({ name, uid }) => [name, uid]),
    );
    return reportedPods(cnf)
      .map((pod) => {
        const uid = uids.get(pod.name) ?? '';
        const report = reportOf(uid);
        return {
          name: pod.name,
          node: pod.node ?? '',
          ready: pod.ready,
          problem: this.#problemOf(pod, report),
          driver: report?.openwrt.driver ?? '',
          agentImage: pods.placeOf(uid).agentImage ?? '',
          driftRepairs: report?.openwrt.driftRepairs ?? 0,
          hasReported: report !== undefined,
          ...uplinksOf(pod),
        };
      })
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #problemOf({ notReady, problem = '' }: ReportedPod, report: PodReport | undefined): string {
    const waits =
      report === undefined && problem === sentenceOf('AgentStarting') && this.isYoung()
        ? 'has not reported to this coordinator yet, which has just started'
        : problem;
    return [notReady, waits].filter((text) => text !== '').join('; ');
  }

  *#all() {
    for (const rules of this.#deps.rules)
      for (const uid of rules.uids()) {
        const version = rules.get(uid);
        if (version) yield version;
      }
  }

  #versions({ namespace, purpose }: Cnf) {
    if (purpose === '')
      return [...this.#all()].filter(
        ({ rule }) => rule.namespace === namespace && rule.purpose === undefined,
      );
    return this.#deps.rules.flatMap((rules) =>
      [...rules.uidsOfPurpose(namespace, purpose)].flatMap((uid) => rules.get(uid) ?? []),
    );
  }

  #count(): Tallies {
    const all = new Map<string, Map<string, Map<string, Tally>>>();
    const ofCnf = ({ namespace, purpose }: Cnf) =>
      all.getOrInsert(namespace, new Map()).getOrInsert(purpose, new Map());
    for (const { namespace, purpose, finished } of this.#deps.pods.all())
      if (purpose !== undefined && !finished) ofCnf({ namespace, purpose });
    for (const { rule } of this.#all()) {
      const kinds = ofCnf({ namespace: rule.namespace, purpose: rule.purpose ?? '' });
      const before = kinds.get(rule.kind);
      kinds.set(rule.kind, before ? added(before, tallyOf(rule)) : tallyOf(rule));
    }
    return all;
  }
}

const statusSchema = cnfDeploymentResource.schema.shape.status.unwrap();

const uplinksOf = ({ reported }: ReportedPod): Pick<PodRow, 'wans' | 'tunnels'> => {
  const since = (key: string): string => new Date(reported?.upSince.get(key) ?? 0).toISOString();
  const { wans = [], tunnels = [] } = reported?.information ?? {};
  return {
    wans: wans.map((one) => ({ ...one, since: since(upKey('wan', one.interface, one.up)) })),
    tunnels: tunnels.map((one) => ({ ...one, since: since(upKey('tunnel', one.name, one.up)) })),
  };
};

const rowOf = (of: RuleVersion): KeptRow => ({
  of,
  object: of.object,
  state: ruleStateWith(of.object, of.rule.status),
});

export type Tallies = ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, Tally>>>;

const NONE: Tally = {
  inSync: 0,
  total: 0,
  drifts: 0,
  lastDrift: '',
  inSyncSince: '',
  outSince: '',
};

/** The sum over several kinds. */
export const sumOf = (tallies: readonly Tally[]): Tally => tallies.reduce(added, NONE);

const added = (one: Tally, other: Tally): Tally => ({
  inSync: one.inSync + other.inSync,
  total: one.total + other.total,
  drifts: one.drifts + other.drifts,
  lastDrift: later(one.lastDrift, other.lastDrift),
  inSyncSince: later(one.inSyncSince, other.inSyncSince),
  outSince: earlier(one.outSince, other.outSince),
});

const NO_DRIFT = { count: 0, lastTime: '' };

const isInSync = ({ deletedAt, generation, status = {} }: Rule): boolean =>
  deletedAt === undefined &&
  status.inSync === true &&
  (status.observedGeneration ?? 0) >= generation;

const tallyOf = (rule: Rule): Tally => {
  const { conditions = [], drift = NO_DRIFT } = rule.status ?? {};
  const isIn = isInSync(rule);
  const since = conditions.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '';
  return {
    inSync: Number(isIn),
    total: 1,
    drifts: drift.count,
    lastDrift: drift.lastTime,
    ...(isIn ? { inSyncSince: since, outSince: '' } : { inSyncSince: '', outSince: since }),
  };
};

const later = (a: string, b: string): string => (a > b ? a : b);
const earlier = (a: string, b: string): string => {
  if (a === '' || b === '') return a || b;
  return a < b ? a : b;
};
