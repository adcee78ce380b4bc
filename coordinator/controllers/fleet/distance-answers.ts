/**
 * What the pods of CNFDeployments are told in the answers to their reports, and whose silence
 * counts. In memory alone: who comes to lead tells what the status has, and promises of others are
 * no promises of its own.
 */
import { REPORTED_AFTER, type FleetOrder } from '#shared/protocol/report.ts';
import { untilCommonTime } from '#shared/runtime/common-times.ts';
import type { PodReport } from '../../rule-status/pod-report.ts';
import { isSilent } from '../../rule-status/pod-verdict.ts';
import type { CnfPod } from '../../sources/cnf-pod.ts';
import type { FleetPod } from './pod.ts';

/** Reports that an agent may miss. */
const MISSED = 3;
/** This coordinator itself did not run, or took no reports, for so long. */
const DEAF_MS = 3_000;

export type Hearing = Pick<FleetPod, 'actual' | 'unheard'>;

/**
 * Namespaces with agents in live pods of CNFs, and those of them of whose agents at least half
 * report to this replica: no tenant has more than one voice.
 */
export type AgentsHeard = { heard: number; known: number };

export type FleetOrdersDeps = {
  reportOf: (podUid: string) => PodReport | undefined;
  /** All pods of CNFs. */
  pods: () => readonly CnfPod[];
  silentAfterMs: number;
};

export class FleetOrders {
  readonly #deps: FleetOrdersDeps;
  /** By CNFDeployment. */
  readonly #given = new Map<string, ReadonlyMap<string, FleetOrder>>();
  readonly #ofPod = new Map<string, FleetOrder>();
  /** By the uid of the pod: how often its agent was asked to report. */
  readonly #promised = new Map<string, number>();
  readonly #knownLate = new Set<string>();
  #leadsSince = 0;
  #listensSince = -Infinity;
  #sweptAt = -Infinity;

  constructor(deps: FleetOrdersDeps) {
    this.#deps = deps;
  }

  /** A term begins: another coordinator may have given others since. `now`: wall-clock ms. */
  begin(now: number): void {
    this.#leadsSince = now;
    this.#given.clear();
    this.#ofPod.clear();
    this.#promised.clear();
  }

  /** By the uids of the pods of the CNFDeployment; all others of it have none any more. */
  give(cnf: string, orders: ReadonlyMap<string, FleetOrder>): void {
    for (const uid of this.#given.get(cnf)?.keys() ?? []) if (!orders.has(uid)) this.#forget(uid);
    if (orders.size === 0) this.#given.delete(cnf);
    else this.#given.set(cnf, orders);
    for (const [uid, order] of orders) {
      const isAtRest = order.nextReportMs >= SLOWEST_MS;
      const nextReportMs = orders.size === 1 && isAtRest ? this.#aloneMs : order.nextReportMs;
      this.#ofPod.set(uid, { ...order, nextReportMs });
    }
  }

  /** No other pod could take the traffic of one that is missed: it is as that of any CNF. */
  get #aloneMs(): number {
    return Math.max(SLOWEST_MS, Math.min(ALONE_MS, this.#deps.silentAfterMs / (MISSED + 1)));
  }

  /** For the answer that goes out now. */
  answerTo(podUid: string, monotonic: number): FleetOrder | undefined {
    const given = this.#ofPod.get(podUid);
    if (given === undefined) return undefined;
    const nextReportMs = untilTick(given.nextReportMs, monotonic);
    this.#promised.set(podUid, nextReportMs);
    return { ...given, nextReportMs };
  }

  hearing(pod: CnfPod, monotonic: number): Hearing {
    const report = this.#deps.reportOf(pod.uid);
    const isMissed = report !== undefined && !this.#isHeard(pod, monotonic);
    return {
      actual: report?.fleet.distance,
      unheard: isMissed && hearsEnough(this.agentsHeard(monotonic)),
    };
  }

  agentsHeard(monotonic: number): AgentsHeard {
    const counting = this.#deps.pods().filter((pod) => this.#counts(pod));
    const known = [...Map.groupBy(counting, ({ namespace }) => namespace).values()];
    const heard = known.filter(
      (pods) => 2 * pods.filter((pod) => this.#isHeard(pod, monotonic)).length >= pods.length,
    );
    return { heard: heard.length, known: known.length };
  }

  /** Uids of pods whose silence began to count since the last call. */
  newlyLate(monotonic: number): string[] {
    if (monotonic - this.#sweptAt > DEAF_MS) this.#listensSince = monotonic;
    this.#sweptAt = monotonic;
    const late = [...this.#promised.keys()].filter((uid) => !this.#isInTime(uid, monotonic));
    const isNew = (uid: string): boolean => !this.#knownLate.has(uid);
    const found = late.filter(isNew);
    this.#knownLate.clear();
    for (const uid of late) this.#knownLate.add(uid);
    return found;
  }

  /** Not what only has the name of an agent: it would have reported to the one that leads now. */
  #counts({ uid, agent, finished, terminating }: CnfPod): boolean {
    if (agent.state !== 'started' || finished || terminating) return false;
    const { startedAt = Infinity } = agent;
    return this.#deps.reportOf(uid) !== undefined || startedAt < this.#leadsSince;
  }

  #isHeard({ uid }: CnfPod, monotonic: number): boolean {
    const report = this.#deps.reportOf(uid);
    const { silentAfterMs } = this.#deps;
    if (report === undefined || isSilent(report, { monotonic, silentAfterMs })) return false;
    return this.#isInTime(uid, monotonic);
  }

  #isInTime(uid: string, monotonic: number): boolean {
    const everyMs = this.#promised.get(uid);
    const report = this.#deps.reportOf(uid);
    if (everyMs === undefined || report === undefined) return true;
    const heardAt = Math.max(report.receivedAt.monotonic, this.#listensSince);
    return monotonic - heardAt <= MISSED * Math.max(everyMs, SLOWEST_MS);
  }

  #forget(uid: string): void {
    this.#ofPod.delete(uid);
    this.#promised.delete(uid);
    this.#knownLate.delete(uid);
  }
}

/** At rest, so that reports come together: one alone costs twice as much (docs/performance.md). */
const untilTick = (nextReportMs: number, monotonic: number): number => {
  if (nextReportMs < SLOWEST_MS) return nextReportMs;
  const inMs = untilCommonTime(nextReportMs * REPORTED_AFTER, nextReportMs, monotonic);
  return Math.ceil(inMs / REPORTED_AFTER);
};

/** Else it is more likely that this coordinator is cut off than that they are gone. */
export const hearsEnough = ({ heard, known }: AgentsHeard): boolean => 2 * heard >= known;

/** How often agents report at rest. While distances move they are asked more often. */
export const SLOWEST_MS = 2_000;
/** The same of the only pod of a CNFDeployment; as often as other agents do. */
const ALONE_MS = 10_000;
/** While a roll-out waits for them. */
export const FASTEST_MS = 250;
