/**
 * What the coordinator does with a scenario of the tests, without the API server: what Neutron has
 * is read, and brought to what is wanted.
 */
import { applySteps } from '../../coordinator/controllers/security-groups/apply.ts';
import { createMembers } from '../../coordinator/controllers/security-groups/members.ts';
import { stepsFor, type NeutronStep } from '../../coordinator/controllers/security-groups/plan.ts';
import { readPresent } from '../../coordinator/controllers/security-groups/present.ts';
import {
  wantedOf,
  type WantedResult,
} from '../../coordinator/controllers/security-groups/wanted.ts';
import { followed } from '../../coordinator/controllers/security-groups/testing/followed.ts';
import type { Neutron } from '../../coordinator/neutron/neutron.ts';
import type { Scenario } from '../kernel/policy/evaluator.ts';
import { podsOf, policiesOf } from '../kernel/policy/product.ts';
import type { PodNetwork } from './network.ts';

export const NODE_ADDRESSES = ['192.0.2.1', '2001:db8::1'];

export type Brought = {
  result: WantedResult;
  steps: readonly NeutronStep[];
  /** What would be done next: nothing, where all is as it should be. */
  rest: readonly NeutronStep[];
};

export const bring = async (
  scenario: Scenario,
  { neutron, network, cluster }: { neutron: Neutron; network: PodNetwork; cluster: string },
): Promise<Brought> => {
  const { signal } = new AbortController();
  const pods = podsOf(scenario);
  const policies = policiesOf(scenario);
  const ports = pods.flatMap((pod) => {
    const port = network.ports.get(pod.uid);
    return port ? [{ id: port.id, pod: pod.uid, addresses: pod.addresses }] : [];
  });
  const wantedFrom = async () => {
    const present = await readPresent(neutron, cluster, signal);
    const result = wantedOf({
      cluster,
      policies,
      members: createMembers({
        ...followed({ policies, pods, labels: scenario.namespaces }),
        ports,
      }),
      ports: ports.map(({ id }) => id),
      passedOn: new Set(),
      nodeAddresses: NODE_ADDRESSES,
      present,
      quotas: await neutron.quotas(signal),
    });
    return { present, result, steps: stepsFor(result.wanted, present) };
  };
  const { present, result, steps } = await wantedFrom();
  await applySteps(steps, { neutron, present, signal });
  return { result, steps, rest: (await wantedFrom()).steps };
};
