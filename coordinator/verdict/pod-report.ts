/** The last word of a pod's agent, as roll-up and finalizers see it. */
import type { OpenwrtState, RuleReport } from '#shared/protocol/report.ts';

export type RuleWord = RuleReport & {
  /** When this state of this revision was first reported in this boot, wall-clock milliseconds. */
  since: number;
};

export type PodReport = {
  bootId: string;
  /** How often the agent's container had restarted when this boot first reported. */
  restarts: number;
  /** When the last report came, heartbeats included. `monotonic` for durations, `wall` for people. */
  receivedAt: { monotonic: number; wall: number };
  openwrt: OpenwrtState;
  unwatchedKinds: readonly string[];
  /** By the CR's uid. */
  rules: ReadonlyMap<string, RuleWord>;
};
