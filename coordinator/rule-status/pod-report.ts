/** The last report of a pod's agent, as roll-up and finalizers see it. */
import type {
  FleetWord,
  Drift,
  OpenwrtState,
  ReportClock,
  RuleReport,
} from '#shared/protocol/report.ts';

export type RuleWord = RuleReport & {
  /** When this state of this revision was first reported in this boot, wall-clock milliseconds. */
  since: number;
};

export type PodReport = {
  bootId: string;
  clock: ReportClock;
  /** Why what is reported of OpenWRT may not hold any more; '' when it does. */
  doubt: string;
  /** When the last report came, also a heartbeat. `monotonic` for durations, `wall` for people. */
  receivedAt: { monotonic: number; wall: number };
  openwrt: OpenwrtState;
  unwatchedKinds: readonly string[];
  /** What the agent has put back lately. */
  drifts: readonly Drift[];
  fleet: FleetWord;
  /** By the CR's uid. */
  rules: ReadonlyMap<string, RuleWord>;
};
