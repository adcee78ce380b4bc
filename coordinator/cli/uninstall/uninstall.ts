/**
 * Takes the product out of a cluster in the one order that leaves nothing stuck in Terminating: webhooks, which would hold pods and deletions up once
 * nobody answers them; rules, while agents and coordinator are there to clean the CNFs and let them go; the coordinator, before
 * it makes anew what goes next; then what it left in namespaces, the CRDs, and the rest.
 */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isConflict, isNotFound } from '#shared/kube/errors.ts';
import { removeFinalizers } from '#shared/kube/fenced.ts';
import { objectSchema, type ResourceType, type RuleObject } from '#shared/kube/objects.ts';
import { AGENTS_FINALIZER, ICN_FINALIZERS } from '#shared/names.ts';
import { ruleStatusSchema } from '#shared/protocol/status.ts';
import { resources } from '#shared/resources/resources.ts';
import { MANAGED_BY } from '../../bindings/managed-by.ts';
import { clear, findAll, obstaclesOf, type Found, type RemovalDeps } from './removal.ts';

export type UninstallOptions = RemovalDeps & {
  client: KubeClient;
  /** Rules that are not confirmed in time go unconfirmed. */
  force: boolean;
  /** For each step. */
  timeoutMs: number;
  signal: AbortSignal;
};

const resource = (group: string, plural: string, kind: string): ResourceType => ({
  group,
  version: 'v1',
  plural,
  kind,
  schema: objectSchema,
});
const admission = (plural: string, kind: string): ResourceType =>
  resource('admissionregistration.k8s.io', plural, kind);
const rbac = (plural: string, kind: string): ResourceType =>
  resource('rbac.authorization.k8s.io', plural, kind);

const webhooks = [
  admission('validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'),
  admission('mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'),
  // That of deploy/1.36: a rule that is made from now on would wait for agents that nobody hears.
  admission('mutatingadmissionpolicybindings', 'MutatingAdmissionPolicyBinding'),
  admission('mutatingadmissionpolicies', 'MutatingAdmissionPolicy'),
];
const deployments = [resource('apps', 'deployments', 'Deployment')];
const leftInNamespaces = [
  rbac('rolebindings', 'RoleBinding'),
  resource('', 'configmaps', 'ConfigMap'),
];
const crds = [
  resource('apiextensions.k8s.io', 'customresourcedefinitions', 'CustomResourceDefinition'),
];
const ofTheCluster = [
  admission('validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding'),
  admission('validatingadmissionpolicies', 'ValidatingAdmissionPolicy'),
  rbac('clusterrolebindings', 'ClusterRoleBinding'),
  rbac('clusterroles', 'ClusterRole'),
];
const namespaces = [resource('', 'namespaces', 'Namespace')];

/** Of everything in deploy/. */
const PART_OF = 'app.kubernetes.io/part-of=sdewan';
const KEPT_BY_COORDINATOR = Object.entries(MANAGED_BY)
  .map((pair) => pair.join('='))
  .join(',');

/** True when nothing is left. Can be run again wherever it stopped. @throws KubeError, or the signal's reason */
export const uninstall = async (options: UninstallOptions): Promise<boolean> => {
  const { client, signal } = options;
  const labelled = (resources: ResourceType[], labelSelector: string) => (): Promise<Found[]> =>
    findAll(client, resources, { labelSelector, signal });
  const step = async (what: string, find: () => Promise<Found[]>): Promise<boolean> => {
    const left = await clear(options, { ...options, what, find });
    for (const one of left) {
      const why = obstaclesOf(one).map(({ message }) => message);
      options.say(`  remaining: ${[nameOf(one), ...why].join(': ')}`);
    }
    return left.length === 0;
  };
  return (
    (await step('webhooks', labelled(webhooks, PART_OF))) &&
    (await removeRules(options)) &&
    (await step('coordinator', labelled(deployments, PART_OF))) &&
    (await step('rights and CAs in namespaces', labelled(leftInNamespaces, KEPT_BY_COORDINATOR))) &&
    (await step('CRDs', () => crdsTriedAgain(options))) &&
    (await step('policies and roles', labelled(ofTheCluster, PART_OF))) &&
    (await step('namespace of the coordinator', labelled(namespaces, PART_OF)))
  );
};

const crdSchema = z.looseObject({
  spec: z.looseObject({
    group: z.string(),
    names: z.looseObject({ plural: z.string(), kind: z.string() }),
    versions: z.array(z.looseObject({ name: z.string(), served: z.boolean() })),
  }),
});

const specOf = ({ object }: Found) => crdSchema.parse(object).spec;

const ownGroups = new Set(resources.map(({ group }) => group));

/** By their groups: an older version may have had kinds that this one does not know. */
const ownCrds = async ({ client, signal }: UninstallOptions): Promise<Found[]> =>
  (await findAll(client, crds, { signal })).filter((crd) => ownGroups.has(specOf(crd).group));

const hasFailed = (crd: Found): boolean =>
  obstaclesOf(crd).some(({ reason }) => reason === 'InstanceDeletionFailed');

/**
 * The API server waits longer and longer before it tries again to delete the objects of a kind, minutes in the end. That is easily met
 * with kinds that are younger than some seconds (measured, 1.36: "storage is (re)initializing"). Any change makes it try at once.
 */
const crdsTriedAgain = async (options: UninstallOptions): Promise<Found[]> => {
  const { client, clock, signal } = options;
  const found = await ownCrds(options);
  for (const { resource, object } of found.filter((crd) => isDeleting(crd) && hasFailed(crd))) {
    const { name, uid } = object.metadata;
    const annotations = { [TRIED_AGAIN_ANNOTATION]: new Date(clock.now()).toISOString() };
    const patch = { type: 'merge', body: { metadata: { uid, annotations } } } as const;
    await client.patch(resource, { name }, { patch, signal }).catch(unlessOvertaken);
  }
  return found;
};

const TRIED_AGAIN_ANNOTATION = 'sdewan.akraino.org/deletion-tried-again';

const findRules = async (options: UninstallOptions): Promise<Found[]> => {
  const served = (await ownCrds(options)).flatMap((crd) => {
    const { group, names, versions } = specOf(crd);
    const version = versions.find(({ served }) => served)?.name;
    return version === undefined
      ? []
      : [{ group, version, plural: names.plural, kind: names.kind, schema: objectSchema }];
  });
  return findAll(options.client, served, { signal: options.signal });
};

const removeRules = async (options: UninstallOptions): Promise<boolean> => {
  const { client, force, say, signal } = options;
  const find = (): Promise<Found[]> => findRules(options);
  const timeoutMs = (await coordinatorIsThere(options)) ? options.timeoutMs : 0;
  const clearing = { what: 'rules', find, signal };
  const left = await clear(options, { ...clearing, timeoutMs });
  if (left.length === 0) return true;
  say(
    timeoutMs === 0
      ? 'rules: no coordinator runs, so no agent can report'
      : 'rules: not every CNF has confirmed that they are removed',
  );
  for (const one of left.slice(0, MAX_NAMED)) say(`  ${nameOf(one)}: ${messageOf(one)}`);
  if (left.length > MAX_NAMED) say(`  and ${left.length - MAX_NAMED} more`);
  if (!force) {
    say(
      'Fix the cause and run the command again, or remove their finalizers with --force: their configuration then',
    );
    say(
      'stays on OpenWRT until the pod is re-created. `kubectl apply -k deploy` restores what was removed.',
    );
    return false;
  }
  const letGo = async (): Promise<Found[]> => {
    const found = await find();
    for (const { resource, object } of found.filter(isDeleting))
      await removeFinalizers({ client, resource, object }, OURS, { signal }).catch(unlessOvertaken);
    return found;
  };
  return (
    (await clear(options, { ...clearing, find: letGo, timeoutMs: options.timeoutMs })).length === 0
  );
};

const MAX_NAMED = 20;
const OURS = [AGENTS_FINALIZER, ...ICN_FINALIZERS];

/** The next look tells what became of it. */
const unlessOvertaken = (error: unknown): void => {
  if (!isNotFound(error) && !isConflict(error)) throw error;
};

const deploymentSchema = z.looseObject({
  status: z.looseObject({ availableReplicas: z.number().default(0) }).optional(),
});

const coordinatorIsThere = async ({ client, signal }: UninstallOptions): Promise<boolean> => {
  const found = await findAll(client, deployments, { labelSelector: PART_OF, signal });
  return found.some(
    ({ object }) => (deploymentSchema.parse(object).status?.availableReplicas ?? 0) > 0,
  );
};

const isDeleting = ({ object }: Found): boolean => object.metadata.deletionTimestamp !== undefined;

const nameOf = ({ object: { kind, metadata } }: Found): string =>
  `${kind} ${metadata.namespace === '' ? '' : `${metadata.namespace}/`}${metadata.name}`;

const messageOf = ({ object }: Found): string => {
  const { status }: RuleObject = object;
  const parsed = ruleStatusSchema.safeParse(status);
  return (parsed.success && parsed.data.message) || 'the coordinator has not written a status';
};
