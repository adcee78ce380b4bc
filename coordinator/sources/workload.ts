/**
 * A CNF workload as admission and the namespace loop see it: the few facts of a Deployment,
 * StatefulSet or DaemonSet that count.
 */
import * as z from 'zod';
import { ifShort, networkTextsIn, type NetworkTexts } from '#shared/compile/networks.ts';
import {
  ACCEPTS_ANNOTATION,
  AGENT_CONTAINER,
  NETWORKS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  OVN_INTERFACES_ANNOTATION,
  POLICY_KINDS_ANNOTATION,
  POLICY_NETWORKS_ANNOTATION,
  PURPOSE_LABEL,
} from '#shared/names.ts';
import {
  identityOf,
  objectSchema,
  resourceV1,
  type KubeObject,
  type ResourceType,
} from '#shared/kube/objects.ts';
import { own } from '#shared/util/own.ts';
import { shortened } from '#shared/util/shortened.ts';

export type OwnerRef = { apiVersion: string; kind: string; name: string; uid: string };

export type Workload = {
  kind: string;
  namespace: string;
  name: string;
  uid: string;
  /** The purpose label of the workload itself. */
  purpose: string | undefined;
  /** That of its pods. */
  templatePurpose: string | undefined;
  controller: OwnerRef | undefined;
  deleting: boolean;
  serviceAccount: string;
  networks: NetworkTexts | undefined;
};

const apps = (plural: string, kind: string): ResourceType => resourceV1('apps', plural, kind);
export const deployments = apps('deployments', 'Deployment');
export const statefulSets = apps('statefulsets', 'StatefulSet');
export const daemonSets = apps('daemonsets', 'DaemonSet');
export const workloadResources: readonly ResourceType[] = [deployments, statefulSets, daemonSets];
export const podResource = resourceV1('', 'pods', 'Pod');
export const namespaces = resourceV1('', 'namespaces', 'Namespace');
export const replicaSets = apps('replicasets', 'ReplicaSet');

const ABOUT_POLICIES = [
  POLICY_NETWORKS_ANNOTATION,
  POLICY_KINDS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  NETWORKS_ANNOTATION,
  OVN_INTERFACES_ANNOTATION,
] as const;

const stringMap = z.record(z.string(), z.string()).nullish();

const ownerSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().nullish(),
});

const metadataSchema = z.looseObject({
  name: z.string().default(''),
  namespace: z.string().default(''),
  uid: z.string().default(''),
  labels: stringMap,
  annotations: stringMap,
  deletionTimestamp: z.string().nullish(),
  ownerReferences: z.array(ownerSchema).nullish(),
});

const podTemplateSchema = z.looseObject({
  metadata: z
    .looseObject({ namespace: z.string().optional(), labels: stringMap, annotations: stringMap })
    .nullish(),
  spec: z.looseObject({ serviceAccountName: z.string().nullish() }).nullish(),
});

const workloadSchema = z.looseObject({
  kind: z.string(),
  metadata: metadataSchema,
  spec: z.looseObject({ template: podTemplateSchema }),
});

/** What a pod without a service account runs as. */
export const DEFAULT_SERVICE_ACCOUNT = 'default';

/**
 * The length that is kept of a text that the object's author chooses. The longest names of
 * Kubernetes have 253 characters, kinds and versions less.
 */
const MAX_NAME_LENGTH = 253;
/** @throws ZodError when this is no workload as the API server writes it */
export const workloadOf = (object: unknown): Workload => {
  const { kind, metadata, spec } = workloadSchema.parse(object);
  const { template } = spec;
  return {
    kind,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    purpose: metadata.labels?.[PURPOSE_LABEL],
    templatePurpose: template.metadata?.labels?.[PURPOSE_LABEL],
    controller: controllerIn(metadata.ownerReferences),
    deleting: isSet(metadata.deletionTimestamp),
    serviceAccount: template.spec?.serviceAccountName || DEFAULT_SERVICE_ACCOUNT,
    networks: networkTextsIn(template.metadata?.annotations, metadata.namespace),
  };
};

export type KeptWorkload = KubeObject & { workload: Workload };

/** For watches and lists: the author of an object chooses the rest, such as long annotations. */
export const keptWorkloadSchema = objectSchema.transform((object): KeptWorkload => ({
  ...identityOf(object),
  workload: workloadOf(object),
}));

const listedPodSchema = objectSchema.transform((object) => ({
  ...identityOf(object),
  ...controllerFactsOf(object),
  purpose: object.metadata.labels?.[PURPOSE_LABEL],
  networks: networkTextsIn(object.metadata.annotations, object.metadata.namespace),
}));

/** As admission lists them. */
export const listedPods = { ...podResource, schema: listedPodSchema };
export const listedWorkloads: readonly ResourceType<KeptWorkload>[] = workloadResources.map(
  (resource) => ({ ...resource, schema: keptWorkloadSchema }),
);

export type TemplateFacts = {
  /** The service account that its containers run as. */
  account: string;
  /** Its annotations about networks. */
  networks: NetworkTexts | undefined;
  /** Its annotation `accepts-services-from`. */
  accepts: string | undefined;
  /** Those of its annotations that are about policies. */
  aboutPolicies: Readonly<Record<string, string>>;
};

const imagesSchema = z
  .array(z.looseObject({ name: z.string(), image: z.string().nullish() }))
  .nullish();

const placedSchema = z.looseObject({
  spec: z
    .looseObject({
      nodeName: z.string().nullish(),
      initContainers: imagesSchema,
      containers: imagesSchema,
    })
    .nullish(),
  status: z.looseObject({ podIP: z.string().nullish() }).nullish(),
});

/** Where a Pod runs, once it does, and the image of its agent. */
export type PodPlace = {
  node: string | undefined;
  ip: string | undefined;
  agentImage: string | undefined;
};

/** Longer than registries allow; the author of a pod writes it. */
const MAX_IMAGE_LENGTH = 512;

/** @throws ZodError when this is no Pod */
export const podPlaceOf = (object: unknown): PodPlace => {
  const { spec, status } = placedSchema.parse(object);
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const agent = containers.find(({ name }) => name === AGENT_CONTAINER);
  return {
    node: spec?.nodeName || undefined,
    ip: status?.podIP || undefined,
    agentImage: shortened(agent?.image ?? undefined, MAX_IMAGE_LENGTH),
  };
};

/**
 * What admission and the namespace loop want to know of a Pod. `namespace`: that of a template.
 * @throws ZodError when this is none
 */
export const templateFactsOf = (object: unknown, namespace = ''): TemplateFacts => {
  const { metadata, spec } = podTemplateSchema.parse(object);
  return {
    account: spec?.serviceAccountName || DEFAULT_SERVICE_ACCOUNT,
    networks: networkTextsIn(metadata?.annotations, metadata?.namespace ?? namespace),
    accepts: ifShort(metadata?.annotations?.[ACCEPTS_ANNOTATION]),
    aboutPolicies: aboutPoliciesIn(metadata?.annotations ?? {}),
  };
};

/** Nothing of a pod that is not asked for policies. */
const aboutPoliciesIn = (annotations: Readonly<Record<string, string>>): Record<string, string> =>
  own(annotations, POLICY_NETWORKS_ANNOTATION) === undefined
    ? {}
    : Object.fromEntries(
        ABOUT_POLICIES.flatMap((name) => {
          const value = ifShort(own(annotations, name));
          return value === undefined ? [] : [[name, value]];
        }),
      );

const ownedSchema = z.looseObject({ metadata: metadataSchema });

export type ControllerFacts = { controller: OwnerRef | undefined; deleting: boolean };

/** Which owner controls the object, and whether it is being deleted. @throws ZodError */
export const controllerFactsOf = (object: unknown): ControllerFacts => {
  const { metadata } = ownedSchema.parse(object);
  return {
    controller: controllerIn(metadata.ownerReferences),
    deleting: isSet(metadata.deletionTimestamp),
  };
};

export const controllerIn = (
  owners: readonly (OwnerRef & { controller?: boolean | null | undefined })[] | null | undefined,
): OwnerRef | undefined => {
  const owner = owners?.find(({ controller }) => controller === true);
  return owner && pick(owner);
};

/** The API server bounds no field of an owner reference; one that is cut off names nothing. */
const pick = ({ apiVersion, kind, name, uid }: OwnerRef): OwnerRef => ({
  apiVersion: shortened(apiVersion, MAX_NAME_LENGTH + 1),
  kind: shortened(kind, MAX_NAME_LENGTH + 1),
  name: shortened(name, MAX_NAME_LENGTH + 1),
  uid: shortened(uid, MAX_NAME_LENGTH + 1),
});

const isSet = (value: string | null | undefined): boolean => value !== undefined && value !== null;
