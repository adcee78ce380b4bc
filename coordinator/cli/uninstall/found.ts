/** What of the product is in a cluster: by labels, by the groups of its kinds, by name. */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isManaged, objectSchema, resourceV1, type ResourceType } from '#shared/kube/objects.ts';
import { NETWORK_GROUP } from '#shared/names.ts';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { cnfStatusResource } from '#shared/resources/other-kinds/cnf-status.ts';
import { managedNetworkResource } from '#shared/resources/other-kinds/managed-network.ts';
import { networkPortPoolResource } from '#shared/resources/other-kinds/network-port-pool.ts';
import { networkPortResource } from '#shared/resources/other-kinds/network-port.ts';
import { resources } from '#shared/resources/resources.ts';
import { namespaces } from '../../sources/workload.ts';
import { findAll, deletionProblemsOf, type Found } from './removal.ts';

export type Finder = { client: KubeClient; signal: AbortSignal };

const admission = (plural: string, kind: string): ResourceType =>
  resourceV1('admissionregistration.k8s.io', plural, kind);
const rbac = (plural: string, kind: string): ResourceType =>
  resourceV1('rbac.authorization.k8s.io', plural, kind);

const configMaps = resourceV1('', 'configmaps', 'ConfigMap');
const roleBindings = rbac('rolebindings', 'RoleBinding');

export const webhookKinds = [
  admission('validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'),
  admission('mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'),
  // That of deploy/1.36: a rule that is created from now on would wait for agents whose reports
  // reach no coordinator.
  admission('mutatingadmissionpolicybindings', 'MutatingAdmissionPolicyBinding'),
  admission('mutatingadmissionpolicies', 'MutatingAdmissionPolicy'),
];
export const deploymentKinds = [resourceV1('apps', 'deployments', 'Deployment')];
export const keptKinds = [roleBindings, configMaps];
export const statusKinds: ResourceType[] = [{ ...cnfStatusResource, schema: objectSchema }];
export const cnfDeployments: ResourceType = { ...cnfDeploymentResource, schema: objectSchema };
export const clusterKinds = [
  admission('validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding'),
  admission('validatingadmissionpolicies', 'ValidatingAdmissionPolicy'),
  rbac('clusterrolebindings', 'ClusterRoleBinding'),
  rbac('clusterroles', 'ClusterRole'),
];
export const namespaceKinds = [namespaces];
/** In the namespace of the coordinator, with the label of everything in deploy/. */
export const coordinatorKinds = [
  resourceV1('', 'services', 'Service'),
  resourceV1('policy', 'poddisruptionbudgets', 'PodDisruptionBudget'),
  resourceV1('networking.k8s.io', 'networkpolicies', 'NetworkPolicy'),
  configMaps,
  roleBindings,
  rbac('roles', 'Role'),
  resourceV1('', 'serviceaccounts', 'ServiceAccount'),
];
export const definitionKinds = [
  resourceV1('apiextensions.k8s.io', 'customresourcedefinitions', 'CustomResourceDefinition'),
];

/** The label of everything in deploy/. */
export const PART_OF = 'app.kubernetes.io/part-of=sdewan';

export const labelled =
  ({ client, signal }: Finder, kinds: readonly ResourceType[], labelSelector: string) =>
  (): Promise<Found[]> =>
    findAll(client, kinds, { labelSelector, signal });

/**
 * What the coordinator makes in its own namespace and has no label. Each is asked for by its name:
 * no Secret of others is read.
 */
export const leaseAndSecret = async (
  finder: Finder,
  keptNamespace: string | undefined,
): Promise<Found[]> => {
  const { client, signal } = finder;
  const homes = (await labelled(finder, namespaceKinds, PART_OF)()).map(
    ({ object: { metadata } }) => metadata.name,
  );
  const places = new Set(keptNamespace === undefined ? homes : [...homes, keptNamespace]);
  const found = [...places].flatMap((namespace) =>
    unlabelledKinds.map(([kind, name]) =>
      findAll(client, [kind], {
        namespace,
        fieldSelector: `metadata.name=${name}`,
        signal,
      }),
    ),
  );
  return (await Promise.all(found)).flat();
};
export const unlabelledKinds: readonly [ResourceType, string][] = [
  [resourceV1('coordination.k8s.io', 'leases', 'Lease'), 'sdewan-coordinator'],
  [resourceV1('', 'secrets', 'Secret'), 'sdewan-coordinator-tls'],
];

const crdSchema = z.looseObject({
  spec: z.looseObject({
    group: z.string(),
    names: z.looseObject({ plural: z.string(), kind: z.string() }),
    versions: z.array(z.looseObject({ name: z.string(), served: z.boolean() })),
  }),
});

const specOf = ({ object }: Found) => crdSchema.parse(object).spec;

const ownGroups = new Set(resources.map(({ group }) => group));

/** By their groups: ICN's controller may have had kinds that are not ours. */
export const ownCrds = async ({ client, signal }: Finder): Promise<Found[]> =>
  (await findAll(client, definitionKinds, { signal })).filter((crd) =>
    ownGroups.has(specOf(crd).group),
  );

/** The coordinator claims anew what pods have: these go after it. */
const addressKinds = new Set(
  [managedNetworkResource, networkPortPoolResource, networkPortResource].map(
    ({ plural }) => plural,
  ),
);
const isOfAddresses = (crd: Found): boolean => addressKinds.has(specOf(crd).names.plural);

export const isOfNetworkPolicies = (crd: Found): boolean =>
  specOf(crd).group === NETWORK_GROUP && !isOfAddresses(crd);

/** Objects of all kinds of ours but those that go with their kinds. */
export const findRules = async (finder: Finder): Promise<Found[]> =>
  findAllOf(
    finder,
    (await ownCrds(finder)).filter((crd) => !isOfAddresses(crd)),
  );

const findAllOf = (finder: Finder, crds: readonly Found[]): Promise<Found[]> => {
  const served = crds.flatMap((crd) => {
    const { group, names, versions } = specOf(crd);
    const version = versions.find(({ served }) => served)?.name;
    return version === undefined
      ? []
      : [{ group, version, plural: names.plural, kind: names.kind, schema: objectSchema }];
  });
  return findAll(finder.client, served, { signal: finder.signal });
};

const deploymentSchema = z.looseObject({
  status: z.looseObject({ availableReplicas: z.number().default(0) }).optional(),
});

/** Those of people: the coordinator makes the others of them. */
export const findUsersRules = async (finder: Finder): Promise<Found[]> =>
  (await findAllOf(finder, await ownCrds(finder))).filter(({ object }) => !isManaged(object));

/** Without it no agent can report, and no finalizer is removed. */
export const coordinatorIsThere = async ({ client, signal }: Finder): Promise<boolean> => {
  const found = await findAll(client, deploymentKinds, { labelSelector: PART_OF, signal });
  return found.some(
    ({ object }) => (deploymentSchema.parse(object).status?.availableReplicas ?? 0) > 0,
  );
};

export const isDeleting = ({ object }: Found): boolean =>
  object.metadata.deletionTimestamp !== undefined;

export const hasFailed = (crd: Found): boolean =>
  deletionProblemsOf(crd).some(({ reason }) => reason === 'InstanceDeletionFailed');

export const nameOf = ({ object: { kind, metadata } }: Found): string =>
  `${kind} ${metadata.namespace === '' ? '' : `${metadata.namespace}/`}${metadata.name}`;
