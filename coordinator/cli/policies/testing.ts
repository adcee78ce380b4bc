/** For tests of what commands say of policies. */
import type { PolicyPod } from '#shared/policy/groups.ts';

/** With label `app`, its name. */
export const shopPod = (
  name: string,
  address: string,
  more: Partial<PolicyPod> = {},
): PolicyPod => ({
  namespace: 'shop',
  name,
  uid: name,
  labels: { app: name },
  creationTimestamp: '2026-01-01T00:00:00Z',
  addresses: [address],
  ports: [],
  isHostNetwork: false,
  isFinished: false,
  ...more,
});
