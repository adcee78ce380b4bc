/** What the coordinator tells Prometheus of policies. */
import { exposeGauge, type Registry } from '#shared/metrics/prometheus.ts';
import type { LiveGroups } from './live-groups.ts';

export type PolicyMetrics = {
  /** Read when the metrics are scraped. */
  exposeGroups: (size: LiveGroups['size']) => void;
};

export const createPolicyMetrics = (registry: Registry): PolicyMetrics => {
  let sizeOf: LiveGroups['size'] = () => ({ groups: 0, members: 0 });
  exposeGauge(registry, {
    name: 'sdewan_coordinator_policy_groups',
    help: 'Selectors of policies that CNFs or Neutron enforce, as groups of pods.',
    read: () => sizeOf().groups,
  });
  exposeGauge(registry, {
    name: 'sdewan_coordinator_policy_members',
    help: 'Addresses, or addresses with a port, in all groups together.',
    read: () => sizeOf().members,
  });
  return {
    exposeGroups: (size) => {
      sizeOf = size;
    },
  };
};
