/**
 * Keeps objects that this program makes: one call brings an object from what was seen to what it
 * should be, whatever that takes. A write can only hit the object and version that was seen, and
 * none takes over an object of the same name. Labels, annotations and owners of others stay.
 * Finalizers and statuses are written elsewhere (`fenced.ts`); of finalizers only the first are
 * given here, at creation.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CallOptions, KubeClient, Patch } from './client.ts';
import { isConflict, isNotFound, isOutdated } from './errors.ts';
import type { KubeObject, OwnerReference, ResourceType, RuleObject } from './objects.ts';
import { apiVersionOf, type ObjectKey } from './path.ts';
import { given } from '../util/given.ts';
import { own } from '../util/own.ts';

/** Undefined: has to be absent. */
type Marks = Readonly<Record<string, string | undefined>>;

/** What an object should be. */
export type Desired = {
  metadata: ObjectKey & {
    labels?: Marks;
    annotations?: Marks;
    ownerReferences?: readonly OwnerReference[];
    /** For a new object; an object that is there keeps its own. */
    finalizers?: readonly string[];
  };
  /** Fields of the object that are ours as a whole, e.g. `spec`. */
  fields: Readonly<Record<string, unknown>>;
  /**
   * No other client writes it: the API server need not keep which client set which field, a third
   * of what a small write costs it (measured).
   */
  isUnmanaged?: boolean;
};

export type WriteOutcome =
  | 'unchanged'
  | 'created'
  | 'updated'
  | 'deleted'
  /** Nothing was created: there is an object of that name that was not seen. */
  | 'exists'
  /** Nothing was written: the object is gone, or another than was seen. */
  | 'changed';

/** `object`: as it is now, where that is known. */
export type Kept<T> = { outcome: WriteOutcome; object?: T };

/** The object has that controller. */
export const isControlledBy = (
  { metadata }: Pick<KubeObject, 'metadata'>,
  owner: Pick<KubeObject, 'metadata'> | undefined,
): boolean =>
  metadata.ownerReferences?.some(
    ({ uid, controller }) => controller === true && uid === owner?.metadata.uid,
  ) ?? false;

/** What was seen was not what is there: look again. */
export const isOvertaken = (outcome: WriteOutcome): boolean =>
  outcome === 'exists' || outcome === 'changed';

export type Owned<T extends KubeObject> = CallOptions & {
  client: Pick<KubeClient, 'create' | 'patch' | 'delete'>;
  resource: ResourceType<T>;
};

/**
 * `desired` undefined: there is to be none. `present`: as it was seen. @throws KubeError other than
 * NotFound and conflicts
 */
export const keep = async <T extends KubeObject = RuleObject>(
  owned: Owned<T>,
  desired: Desired | undefined,
  present: T | undefined,
): Promise<Kept<T>> => {
  if (desired === undefined) return present ? remove(owned, present) : { outcome: 'unchanged' };
  if (present === undefined) return create(owned, desired);
  const ours = partOf(present, desired);
  const wanted = wantedOf(desired);
  if (isDeepStrictEqual(ours, wanted)) return { outcome: 'unchanged', object: present };
  return update(owned, present, patchFor(present, ours, wanted, desired));
};

/** Undefined when there is none. @throws KubeError */
export const find = async <T extends object = RuleObject>(
  client: Pick<KubeClient, 'get'>,
  resource: ResourceType<T>,
  key: ObjectKey,
  call?: CallOptions,
): Promise<T | undefined> => {
  try {
    return await client.get(resource, key, call);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

/** A plain POST: server-side apply would take over an object that has the name already. */
const create = async <T extends KubeObject>(
  { client, resource, ...call }: Owned<T>,
  { metadata, fields }: Desired,
): Promise<Kept<T>> => {
  const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, ...fields };
  try {
    return { outcome: 'created', object: await client.create(resource, body, call) };
  } catch (error) {
    if (isConflict(error)) return { outcome: 'exists' };
    throw error;
  }
};

const update = async <T extends KubeObject>(
  { client, resource, ...call }: Owned<T>,
  { metadata: { namespace, name } }: T,
  patch: Patch,
): Promise<Kept<T>> => {
  try {
    const object = await client.patch(resource, { namespace, name }, { ...call, patch });
    return { outcome: 'updated', object };
  } catch (error) {
    return unlessChanged(error);
  }
};

const remove = async <T extends KubeObject>(
  { client, resource, ...call }: Owned<T>,
  { metadata: { namespace, name, uid, resourceVersion } }: T,
): Promise<Kept<T>> => {
  const preconditions = { uid, resourceVersion };
  try {
    await client.delete(resource, { namespace, name }, { ...call, preconditions });
    return { outcome: 'deleted' };
  } catch (error) {
    return unlessChanged(error);
  }
};

const unlessChanged = (error: unknown): { outcome: 'changed' } => {
  if (isOutdated(error)) return { outcome: 'changed' };
  throw error;
};

type Fields = Readonly<Record<string, unknown>>;
/** What of an object we decide on. */
type Part = {
  metadata: { labels: Fields; annotations: Fields; ownerReferences: readonly OwnerReference[] };
  fields: Fields;
};

const wantedOf = ({ metadata, fields }: Desired): Part => ({
  metadata: {
    labels: defined(metadata.labels),
    annotations: defined(metadata.annotations),
    ownerReferences: metadata.ownerReferences ?? [],
  },
  fields: defined(fields),
});

/** Only those labels, annotations and owners that we name; our fields whole. */
const partOf = (present: KubeObject, { metadata, fields }: Desired): Part => ({
  metadata: {
    labels: named(present.metadata.labels, metadata.labels),
    annotations: named(present.metadata.annotations, metadata.annotations),
    ownerReferences: present.metadata.ownerReferences?.filter(isAmong(metadata)) ?? [],
  },
  fields: named(present, fields),
});

/**
 * A merge patch, which leaves what it does not name and makes null of what has to go. Server-side
 * apply would remove nothing that anybody else has set, our own POST included, and takes the API
 * server longer: it is merged field by field, by the schema.
 */
const patchFor = (
  { metadata }: KubeObject,
  ours: Part,
  wanted: Part,
  { isUnmanaged }: Desired,
): Patch => {
  const { name, namespace, uid, resourceVersion, ownerReferences = [] } = metadata;
  const identity = { name, namespace, uid, resourceVersion };
  const others = ownerReferences.filter((owner) => !isAmong(wanted.metadata)(owner));
  const marks = {
    labels: withNulls(ours.metadata.labels, wanted.metadata.labels),
    annotations: withNulls(ours.metadata.annotations, wanted.metadata.annotations),
    ownerReferences: [...others, ...wanted.metadata.ownerReferences],
  };
  const fields = withNulls(ours.fields, wanted.fields);
  const cleared = isUnmanaged && { managedFields: NO_MANAGED_FIELDS };
  return { type: 'merge', body: { metadata: { ...marks, ...identity, ...cleared }, ...fields } };
};

/** An empty list would leave them. */
const NO_MANAGED_FIELDS = [{}];

const isAmong =
  ({ ownerReferences = [] }: { ownerReferences?: readonly OwnerReference[] }) =>
  ({ uid }: OwnerReference): boolean =>
    ownerReferences.some((owner) => owner.uid === uid);

const defined = (fields: Fields = {}): Fields => given(fields);

const named = (fields: object = {}, names: Fields = {}): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => Object.hasOwn(names, name)));

const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A merge patch keeps what it does not name. */
const withNulls = (present: Fields, wanted: Fields): Fields => {
  const nulls = Object.keys(present).map((name) => [name, null] as const);
  const values = Object.entries(wanted).map(([name, value]) => {
    const there = own(present, name);
    return [name, isRecord(there) && isRecord(value) ? withNulls(there, value) : value] as const;
  });
  return Object.fromEntries([...nulls, ...values]);
};
