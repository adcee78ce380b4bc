/** The agent's own figures for Prometheus; `/metrics` shows them. */
import {
  Counter,
  exposeGauge,
  Gauge,
  Histogram,
  type Registry,
} from '#shared/metrics/prometheus.ts';
import { ruleStates } from '#shared/protocol/report.ts';
import type { Driver } from './openwrt/driver.ts';
import type { Denials } from './network-policy/denials.ts';
import type { AgentStatus } from './report/status.ts';

export type AgentMetrics = {
  passes: Counter<'outcome'>;
  passSeconds: Histogram;
  transactions: Counter<'outcome'>;
  policySeconds: Histogram;
  drift: Counter<'package'>;
  keptWrong: Counter;
  restarts: Counter<'service'>;
  reports: Counter<'outcome'>;
  /** Unix times. */
  lastPass: Gauge;
  lastReport: Gauge;
};

/** From a read that finds nothing to do to a reload of 10,000 rules. */
const PASS_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const POLICY_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 60];

type Readings = Pick<AgentStatus, 'snapshot' | 'leftOvers' | 'isPaused'> &
  Pick<Driver, 'firewallWays'> & { denied: Denials['all'] };

export const createAgentMetrics = (registry: Registry, readings: Readings): AgentMetrics => {
  exposeReadings(registry, readings);
  const registers = [registry];
  const counter = <Label extends string>(
    name: string,
    help: string,
    label: Label,
  ): Counter<Label> => new Counter({ name, help, labelNames: [label], registers });
  return {
    passes: counter(
      'sdewan_agent_passes_total',
      'Passes by outcome: passed, hindered, unanswered.',
      'outcome',
    ),
    passSeconds: new Histogram({
      name: 'sdewan_agent_pass_seconds',
      help: 'Duration of completed passes.',
      buckets: PASS_SECONDS,
      registers,
    }),
    transactions: counter(
      'sdewan_agent_transactions_total',
      'Changes of OpenWRT, by outcome: done, rejected.',
      'outcome',
    ),
    policySeconds: new Histogram({
      name: 'sdewan_agent_policy_seconds',
      help: 'From when the agent saw a change of policies or of their groups until it read it back from the kernel.',
      buckets: POLICY_SECONDS,
      registers,
    }),
    drift: counter(
      'sdewan_agent_drift_repairs_total',
      'Repaired differences that no change of the rules explains.',
      'package',
    ),
    keptWrong: new Counter({
      name: 'sdewan_agent_kept_differences_total',
      help: 'Plans that were others with all rules compiled anew: faults of the agent, which keeps nothing from pass to pass from then on.',
      registers,
    }),
    restarts: counter(
      'sdewan_agent_service_restarts_total',
      'Services of OpenWRT that users have had restarted.',
      'service',
    ),
    reports: counter(
      'sdewan_agent_reports_total',
      'Reports to the coordinator: full, changes (what has changed since the last one), heartbeat, failed.',
      'outcome',
    ),
    lastPass: new Gauge({
      name: 'sdewan_agent_last_pass_timestamp_seconds',
      help: 'When a full pass last ended: all of OpenWRT read, and what differed put right. Unix time; 0: never.',
      registers,
    }),
    lastReport: new Gauge({
      name: 'sdewan_agent_last_report_timestamp_seconds',
      help: 'When the coordinator last took a report. Unix time; 0: never.',
      registers,
    }),
  };
};

/** What other parts know is read when it is asked for. */
const exposeReadings = (
  registry: Registry,
  { snapshot, leftOvers, isPaused, firewallWays = () => undefined, denied }: Readings,
): void => {
  const registers = [registry];
  const rules: Gauge = new Gauge({
    name: 'sdewan_agent_rules',
    help: 'Rules of the last pass, by state: Applied, Pending, Failed, Removed.',
    labelNames: ['state'],
    registers,
    collect: () => {
      const states = snapshot().rules.map(({ state }) => state);
      for (const state of ruleStates) {
        rules.set({ state }, states.filter((other) => other === state).length);
      }
    },
  });
  exposeGauge(registry, {
    name: 'sdewan_agent_openwrt_reachable',
    help: '1 while OpenWRT answers.',
    read: () => Number(snapshot().openwrt.reachable),
  });
  exposeGauge(registry, {
    name: 'sdewan_agent_paused',
    help: '1 while an annotation of the pod keeps the agent from changing OpenWRT.',
    read: () => Number(isPaused()),
  });
  const left: Gauge = new Gauge({
    name: 'sdewan_agent_left_overs',
    help: "Sections that ICN's controller made for rules that do not exist.",
    labelNames: ['package'],
    registers,
    collect: () => {
      for (const [name, count] of leftOvers()) left.set({ package: name }, count);
    },
  });
  const firewall: Counter = new Counter({
    name: 'sdewan_agent_firewall_changes_total',
    help: 'Changes of the firewall, by way: amended (without a reload), reloaded; different counts amended tables that a reload would have made otherwise.',
    labelNames: ['way'],
    registers,
    collect: () => {
      firewall.reset();
      for (const [way, count] of Object.entries(firewallWays() ?? {})) firewall.inc({ way }, count);
    },
  });
  const deniedPackets: Counter = new Counter({
    name: 'sdewan_agent_policy_denied_packets_total',
    help: 'Packets that NetworkPolicies have denied, by policy and direction: each counts for all policies of its pod in that direction. Policies that are too many are counted together, as other.',
    labelNames: ['policy', 'direction'],
    registers,
    collect: () => {
      deniedPackets.reset();
      for (const { packets, ...labels } of denied()) deniedPackets.inc(labels, packets);
    },
  });
};
