/** What a cluster could have. */
import { ruleOf } from '#shared/compile/testing.ts';
import type { ObjectMeta, RuleObject } from '#shared/kube/objects.ts';
import type { RuleStatus } from '#shared/protocol/status.ts';
import type { CnfStatus, PodStatus } from '#shared/resources/other-kinds/cnf-status.ts';
import type { VisibleCnf, ClusterFacts } from '../../views/cluster-facts.ts';

const SINCE = '2026-01-01T00:00:00Z';

export const ready = (inSync: boolean, reason: string, message = ''): RuleStatus => ({
  observedGeneration: 1,
  inSync,
  ...(message !== '' && { message }),
  pods: { live: 2, applied: inSync ? 2 : 1, summary: inSync ? '2/2' : '1/2' },
  conditions: [
    {
      type: 'Ready',
      status: inSync ? 'True' : 'False',
      reason,
      message,
      observedGeneration: 1,
      lastTransitionTime: SINCE,
    },
  ],
});

export const withStatus = (
  [kind, name]: readonly [string, string],
  status: RuleStatus | undefined,
  metadata: Partial<ObjectMeta> = {},
): RuleObject => ({ ...ruleOf(kind, name, {}, metadata), status });

export const cnf = (
  purpose: string,
  namespace = 'default',
  status: CnfStatus = {},
): VisibleCnf => ({
  namespace,
  purpose,
  status: {
    pods: { up: 2, total: 2, summary: '2/2' },
    information: ['a', 'b'].map((pod) => ({
      name: `${purpose}-${pod}`,
      namespace,
      purpose,
      status: 'Available',
    })),
    ...status,
  },
});

export const factsOf = (some: Partial<ClusterFacts>): ClusterFacts => ({
  rules: [],
  cnfs: [cnf('cnf-1')],
  pods: undefined,
  lacking: [],
  absent: [],
  ...some,
});

/** As the agent of a pod with two networks reports it. */
export const twoNetworks = {
  name: 'cnf-1-a',
  namespace: 'default',
  purpose: 'cnf-1',
  status: 'Available',
  interfaces: [
    { name: 'net1', device: 'eth1', up: true, addresses: ['10.0.1.1/24'] },
    { name: 'net2', device: 'eth2', up: true, addresses: ['192.0.2.1/24'] },
  ],
  routes: [{ target: '0.0.0.0/0', gateway: '192.0.2.254', interface: 'net2' }],
} satisfies PodStatus;

export const podWith = (networks: string): NonNullable<ClusterFacts['pods']>[number] => ({
  namespace: 'default',
  purpose: 'cnf-1',
  name: 'cnf-1-a',
  agentImage: 'a',
  optedOut: false,
  networks: { namespace: 'default', nodus: networks, selections: undefined, status: undefined },
});
