/** Which pods are meant by the name of a CNF, or of one of its pods. Pure. */
import { AGENT_CONTAINER } from '#shared/names.ts';
import { cnfNamed } from '../cluster/scope.ts';
import { purposeOf, type AgentPod, type ClusterFacts } from '../../views/cluster-facts.ts';
import { UsageError } from '../../views/usage-error.ts';

/**
 * Where pods may not be listed, those that CNFStatus names. A pod of that name comes before a CNF.
 * @throws UsageError when there is neither, or it has no pod with an agent
 */
export const agentPodsOf = (
  facts: ClusterFacts,
  name: string,
  namespace: string | undefined,
): AgentPod[] => {
  const all = podsIn(facts);
  const named = all.filter((pod) => pod.name === name);
  if (new Set(named.map((pod) => pod.namespace)).size > 1)
    throw new UsageError(
      `several pods have the name ${name}, in namespaces ${named.map((pod) => pod.namespace).join(', ')}: specify one with --namespace`,
    );
  const found = named.length > 0 ? named : podsOfCnf(all, facts, { name, namespace });
  const withAgent = found.filter(({ hasAgent }) => hasAgent);
  if (withAgent.length === 0)
    throw new UsageError(
      named.length > 0
        ? `pod ${name} has no container ${AGENT_CONTAINER}`
        : `no pod of ${name} has an agent`,
    );
  return withAgent.map(({ hasAgent: _hasAgent, ...pod }) => pod);
};

type Candidate = AgentPod & { hasAgent: boolean };

const podsIn = ({ pods, cnfs }: ClusterFacts): Candidate[] =>
  pods
    ? pods.map(({ namespace, name, purpose, agentImage }) => ({
        namespace,
        name,
        purpose,
        hasAgent: agentImage !== undefined,
      }))
    : cnfs.flatMap(({ status, purpose }) =>
        (status?.information ?? []).map(({ namespace, name }) => ({
          namespace,
          name,
          purpose,
          hasAgent: true,
        })),
      );

const podsOfCnf = (
  pods: readonly Candidate[],
  facts: ClusterFacts,
  { name, namespace }: { name: string; namespace: string | undefined },
): Candidate[] => {
  const cnf = cnfNamed(facts, name, namespace);
  return pods.filter((pod) => pod.purpose === cnf.purpose && pod.namespace === cnf.namespace);
};

/** Rules of a CNF that statuses do not call in sync on a pod. */
export const rulesOf = (facts: ClusterFacts, { namespace, purpose }: AgentPod) =>
  facts.rules.filter(
    (rule) => rule.metadata.namespace === namespace && purposeOf(rule) === purpose,
  );
