/** What policies are about, as the cluster has it now: CNFs that enforce them, the policies, pods and namespaces. */
import type { KubeClient } from '#shared/kube/client.ts';
import {
  identityOf,
  objectSchema,
  type KubeObject,
  type ResourceType,
} from '#shared/kube/objects.ts';
import type { Labels } from '#shared/kube/selector.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { PolicyPod } from '#shared/policy/groups.ts';
import { askingAmong } from '../../cnf/asking-pod.ts';
import { targetOf } from '../../cnf/target.ts';
import { controllerFactsOf, podFactsOf, podResource } from '../../cnf/workload.ts';
import { gatewaysOf, type Gateway } from '../../policy/places.ts';
import { PolicyShares } from '../../policy/policy-shares.ts';
import {
  multiNetworkPolicies,
  networkPolicies,
  watchedNamespaces,
  watchedPods,
  type AnyPolicy,
} from '../../policy/watched.ts';
import { LackingRightsError } from '../cluster/connect.ts';
import { createLook, listAll } from '../cluster/lists.ts';

/** `workload`: who made it, as people write it: `Deployment shop/web`; the pod itself where nobody did. */
export type WorkloadPod = PolicyPod & { workload: string };

/** `pods`: uids of its own. */
export type EnforcingCnf = { gateway: Gateway; pods: ReadonlySet<string> };

export type PoliciesNow = {
  cnfs: readonly EnforcingCnf[];
  policies: readonly AnyPolicy[];
  pods: readonly WorkloadPod[];
  labelsOf: (namespace: string) => Labels;
};

type SeenPod = ReturnType<typeof seenPodOf>;

const seenPodOf = (object: KubeObject) => ({
  ...identityOf(object),
  pod: { ...watchedPods.schema.parse(object).pod, workload: workloadOf(object) },
  target: targetOf(object),
  aboutPolicies: podFactsOf(object).aboutPolicies,
});

const seenPods: ResourceType<SeenPod> = {
  ...podResource,
  schema: objectSchema.transform(seenPodOf),
};

const TEMPLATE_HASH = 'pod-template-hash';

/** A ReplicaSet is its Deployment's, by whose hash its name ends. */
const workloadOf = (object: KubeObject): string => {
  const { labels = {}, name, namespace } = object.metadata;
  const { controller } = controllerFactsOf(object);
  if (controller === undefined) return `Pod ${namespace}/${name}`;
  const end = `-${labels[TEMPLATE_HASH]}`;
  return controller.kind === 'ReplicaSet' && controller.name.endsWith(end)
    ? `Deployment ${namespace}/${controller.name.slice(0, -end.length)}`
    : `${controller.kind} ${namespace}/${controller.name}`;
};

/** CNFs that enforce policies, in all namespaces. @throws LackingRightsError; KubeError */
export const gatewaysNow = async (client: KubeClient, signal: AbortSignal): Promise<Gateway[]> => {
  const pods = await listAll({ client, signal }, seenPods, { labelSelector: PURPOSE_LABEL });
  return gatewaysOf(askingAmong(pods)).gateways;
};

/** Of all namespaces, since selectors select in all of them. @throws LackingRightsError, which names all that is lacking; KubeError */
export const policiesNow = async (
  client: KubeClient,
  signal: AbortSignal,
): Promise<PoliciesNow> => {
  const { list, lacking } = createLook({ client, signal });
  const shares = new PolicyShares();
  const [policies = [], others = [], pods = [], namespaces = []] = await Promise.all([
    list(networkPolicies(shares)),
    list(multiNetworkPolicies(shares)),
    list(seenPods),
    list(watchedNamespaces),
  ]);
  if (lacking.length > 0) throw new LackingRightsError(lacking);
  const labels = new Map(namespaces.map((one) => [one.metadata.name, one.labels]));
  return {
    cnfs: gatewaysOf(askingAmong(pods)).gateways.map((gateway) => ({
      gateway,
      pods: new Set(
        pods
          .filter(
            ({ target }) =>
              target.namespace === gateway.namespace && target.purpose === gateway.purpose,
          )
          .map(({ metadata }) => metadata.uid),
      ),
    })),
    policies: [...policies, ...others].map(({ policy }) => policy),
    pods: pods.map(({ pod }) => pod),
    labelsOf: (namespace) => labels.get(namespace) ?? {},
  };
};
