/** The shapes of Kubernetes objects that this product reads and writes; only the parts that it uses. */

export type ObjectMeta = {
  name: string;
  namespace: string;
  uid: string;
  resourceVersion: string;
  /** Counts changes of `spec`; absent on kinds without it. */
  generation?: number;
  /** RFC 3339, whole seconds. */
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
};

export type OwnerReference = {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
};

export type KubeObject = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
};

/** A rule CR as it came from the API server: its spec has passed the CRD's schema, not yet ours. */
export type RuleObject = KubeObject & {
  spec?: unknown;
  status?: unknown;
};

/** What is needed to address a resource on the API server. */
export type ResourceType = {
  /** '' for the core group. */
  group: string;
  version: string;
  plural: string;
  kind: string;
};
