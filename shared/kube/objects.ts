/**
 * The shapes of Kubernetes objects that this product reads and writes; only the parts that it uses.
 * What comes from the API server is parsed by them.
 */
import * as z from 'zod';
import { MANAGED_BY, PREFIX } from '../names.ts';
import { own } from '../util/own.ts';

const texts = z.record(z.string(), z.string());

const ownerReferenceSchema = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().exactOptional(),
  blockOwnerDeletion: z.boolean().exactOptional(),
});
export type OwnerReference = z.infer<typeof ownerReferenceSchema>;

/** All else is left out: `managedFields` alone can be larger than the object. */
const metadataSchema = z.object({
  name: z.string(),
  /** Empty for cluster-scoped objects. */
  namespace: z.string().default(''),
  uid: z.string(),
  /** Empty of what a dry run would have created. */
  resourceVersion: z.string().default(''),
  /** Counts changes of `spec`; absent on kinds without it. */
  generation: z.int().exactOptional(),
  /** RFC 3339, whole seconds. */
  creationTimestamp: z.string(),
  deletionTimestamp: z.string().exactOptional(),
  labels: texts.exactOptional(),
  annotations: texts.exactOptional(),
  finalizers: z.array(z.string()).exactOptional(),
  ownerReferences: z.array(ownerReferenceSchema).exactOptional(),
});
export type ObjectMeta = z.infer<typeof metadataSchema>;

/** What every object has; the rest stays as it came. Callers add the fields that they read. */
export const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: metadataSchema,
});

/** An object of ours. A status that is not ours, or of an older form, counts as none. */
export const objectOf = <Spec extends z.ZodType, Status extends z.ZodType>(
  spec: Spec,
  status: Status,
) => objectSchema.extend({ spec, status: status.optional().catch(undefined) });

export type KubeObject = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
};

/** ConfigMaps and, in base64, Secrets. */
export const dataObjectSchema = objectSchema.extend({ data: texts.optional() });

/** An object without its labels, annotations and all else that a watch need not keep of many. */
export const identityOf = ({ apiVersion, kind, metadata }: KubeObject): KubeObject => {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
  };
};

/** The coordinator made it. */
export const isManaged = ({ metadata: { labels = {} } }: Pick<KubeObject, 'metadata'>): boolean =>
  Object.entries(MANAGED_BY).every(([label, value]) => own(labels, label) === value);

/** A rule CR as it came from the API server: its spec has passed the CRD's schema, not yet ours. */
export type RuleObject = KubeObject & {
  spec?: unknown;
  status?: unknown;
};

/**
 * What a watch keeps of a rule. Annotations of others, such as kubectl's copy of the whole object,
 * can be larger than all else, and a user with the right to write a rule can write them.
 */
export const keptRuleSchema = objectSchema.transform(
  ({ apiVersion, kind, metadata: { annotations, ...metadata }, spec, status }): RuleObject => ({
    apiVersion,
    kind,
    metadata: { ...metadata, ...(annotations && { annotations: oursIn(annotations) }) },
    ...(spec !== undefined && { spec }),
    ...(status !== undefined && { status }),
  }),
);

const oursIn = (annotations: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).filter(([name]) => name.startsWith(PREFIX)));

/** What is needed to address a resource on the API server, and to read its objects. */
export type ResourceType<T extends object = RuleObject> = {
  /** '' for the core group. */
  group: string;
  version: string;
  plural: string;
  kind: string;
  /** Makes a `T` of each object that the API server answers with, e.g. `objectSchema`. */
  schema: z.ZodType<T, object>;
};

/** A resource of version v1. Without a schema only what every object has is read. */
export function resourceV1(group: string, plural: string, kind: string): ResourceType;
export function resourceV1<T extends object>(
  group: string,
  plural: string,
  kind: string,
  schema: z.ZodType<T, object>,
): ResourceType<T>;
export function resourceV1(
  group: string,
  plural: string,
  kind: string,
  schema: z.ZodType<object, object> = objectSchema,
): ResourceType<object> {
  return { group, version: 'v1', plural, kind, schema };
}

/** Compares versions of one object. They grow; those of custom resources are etcd's revisions. */
export const isLater = (
  { metadata: one }: { metadata: { resourceVersion?: string | undefined } },
  { metadata: other }: { metadata: { resourceVersion?: string | undefined } },
): boolean => BigInt(one.resourceVersion ?? 0) > BigInt(other.resourceVersion ?? 0);
