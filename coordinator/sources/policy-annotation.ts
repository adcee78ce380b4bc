/** Pods of CNFs that say that their CNF enforces policies. Pure. */
import type { KubeObject } from '#shared/kube/objects.ts';
import { POLICY_NETWORKS_ANNOTATION } from '#shared/names.ts';
import type { CnfPod } from './cnf-pod.ts';
import type { TemplateFacts } from './workload.ts';

/** With those of its annotations that are about policies. */
export type PolicyAnnotations = {
  object: KubeObject;
  namespace: string;
  purpose: string;
  annotations: Readonly<Record<string, string>>;
};

/** Those that may run, and whose agent would carry policies out. */
export const policyAnnotationsAmong = (
  pods: readonly (KubeObject & { pod: CnfPod } & Pick<TemplateFacts, 'aboutPolicies'>)[],
): PolicyAnnotations[] =>
  pods.flatMap((object) => {
    const { aboutPolicies: annotations, pod } = object;
    const { agent, finished, namespace, purpose } = pod;
    const isAsking = annotations[POLICY_NETWORKS_ANNOTATION] !== undefined;
    return isAsking && !finished && agent.state !== 'missing' && purpose !== undefined
      ? [{ object, namespace, purpose, annotations }]
      : [];
  });
