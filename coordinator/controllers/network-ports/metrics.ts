/** What the coordinator tells Prometheus of managed networks. Labels: networks, up to a number. */
import { Gauge, Histogram, exposeGauge, type Registry } from '#shared/metrics/prometheus.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';

export type PortMetrics = {
  /** Both are read when the metrics are scraped: none on replicas that do not write. */
  expose: (networks: () => readonly ManagedNetwork[], waiting: () => number) => void;
  /** A pod has its addresses, so many seconds after it was made. */
  opened: (seconds: number) => void;
};

/** With series of their own, the oldest first. */
const MAX_NETWORKS = 100;
const OTHER = 'other';

const STATES = ['free', 'claimed', 'resting', 'foreign'] as const;

export const createPortMetrics = (registry: Registry): PortMetrics => {
  const registers = [registry];
  let networksNow: () => readonly ManagedNetwork[] = () => [];
  let waitingNow = (): number => 0;
  const addresses: Gauge<'network' | 'state'> = new Gauge({
    name: 'sdewan_coordinator_network_addresses',
    help: 'Addresses of ManagedNetworks, by network and state, as its status has them: free, claimed, resting, foreign. Networks that are too many are counted together, as network other; none on replicas that do not write.',
    labelNames: ['network', 'state'],
    registers,
    collect: () => {
      addresses.reset();
      for (const [at, { metadata, status = {} }] of networksNow().toSorted(older).entries())
        for (const state of STATES)
          addresses.inc(
            { network: at < MAX_NETWORKS ? metadata.name : OTHER, state },
            status[state] ?? 0,
          );
    },
  });
  exposeGauge(registry, {
    name: 'sdewan_coordinator_network_pods_waiting',
    help: 'Pods that wait for addresses of ManagedNetworks; 0 on replicas that do not write.',
    read: () => waitingNow(),
  });
  const seconds = new Histogram({
    name: 'sdewan_coordinator_network_assigned_seconds',
    help: 'Time from the creation of a pod, which is known to the second, until its addresses were written and its gate was opened.',
    buckets: [0.5, 1, 2, 5, 10, 30, 60, 300, 3_600],
    registers,
  });
  return {
    expose: (networks, waiting) => {
      networksNow = networks;
      waitingNow = waiting;
    },
    opened: (passed) => seconds.observe(passed),
  };
};

const older = ({ metadata: one }: ManagedNetwork, { metadata: other }: ManagedNetwork): number =>
  Date.parse(one.creationTimestamp) - Date.parse(other.creationTimestamp) ||
  (one.name < other.name ? -1 : 1);
