/** The coordinator that leads, by its Lease, and faults of it. */
import * as z from 'zod';
import type { Cluster } from 'kind-test-harness';

const SYSTEM = 'sdewan-system';

const leaseSchema = z.object({
  spec: z.object({ holderIdentity: z.string(), leaseTransitions: z.number() }),
});
export type Term = { pod: string; number: number };

export const leadingTerm = async ({ api }: Cluster): Promise<Term> => {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM}/leases/sdewan-coordinator`;
  const { holderIdentity, leaseTransitions } = leaseSchema.parse(await api.find(path)).spec;
  return { pod: holderIdentity, number: leaseTransitions };
};

export const signalCoordinator = (
  cluster: Cluster,
  pod: string,
  signal: NodeJS.Signals,
): Promise<void> =>
  cluster.killContainer({ namespace: SYSTEM, pod, container: 'coordinator' }, signal);
