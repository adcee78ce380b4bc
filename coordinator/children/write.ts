/** Writes children. Every write can only hit the version that was planned on; a name that somebody else has is left alone. */
import { isDeepStrictEqual } from 'node:util';
import { kindOf } from '#shared/resources/registry.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { isConflict, isNotFound } from '#shared/kube/errors.ts';
import type { OwnerReference, RuleObject } from '#shared/kube/objects.ts';
import { apiVersionOf } from '#shared/kube/path.ts';
import {
  AGENTS_FINALIZER,
  BUCKET_TYPE_LABEL,
  ICN_FINALIZERS,
  ORDER_ANNOTATION,
  PURPOSE_LABEL,
} from '#shared/names.ts';
import { MANAGED_BY } from '../bindings/managed-by.ts';
import type { RuleVersion } from '../rules/rules.ts';
import type { Plan, Wanted } from './plan.ts';

export type Written = {
  /** Names that are somebody else's. */
  taken: readonly string[];
  /** What was planned on has changed, or a name is free only after a while: look again. */
  again: boolean;
};

/** @throws KubeError other than conflicts */
export const writeChildren = async (
  client: KubeClient,
  parent: RuleVersion,
  plan: Plan,
  signal: AbortSignal,
): Promise<Written> => {
  const taken: string[] = [];
  let again = false;
  // First what makes room: two rules for one destination would be in each other's way.
  for (const child of plan.remove) await remove(client, child, signal);
  for (const { present, wanted } of plan.update)
    again = (await update(client, parent, { present, wanted }, signal)) || again;
  for (const wanted of plan.create) {
    const outcome = await create(client, parent, wanted, signal);
    if (outcome === 'taken') taken.push(`${wanted.kind} ${wanted.name}`);
    if (outcome === 'again') again = true;
  }
  return { taken, again };
};

const create = async (
  client: KubeClient,
  parent: RuleVersion,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<'made' | 'taken' | 'again'> => {
  const resource = resourceOf(wanted.kind);
  const { namespace } = parent.object.metadata;
  const body = {
    apiVersion: apiVersionOf(resource),
    kind: wanted.kind,
    metadata: {
      name: wanted.name,
      namespace,
      finalizers: [AGENTS_FINALIZER],
      ...metadataFor(parent),
    },
    spec: wanted.spec,
  };
  try {
    await client.create(resource, body, { signal });
    return 'made';
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
  const present = await client
    .get(resource, { namespace, name: wanted.name }, { signal })
    .catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  if (!present || isOwnedBy(present, parent.object)) return 'again';
  if (present.metadata.deletionTimestamp !== undefined) return 'again';
  if (!isIcnChild(present, parent.object)) return 'taken';
  await update(client, parent, { present, wanted }, signal);
  return 'made';
};

/** True when it has changed meanwhile. */
const update = async (
  client: KubeClient,
  parent: RuleVersion,
  { present, wanted }: Plan['update'][number],
  signal: AbortSignal,
): Promise<boolean> => {
  const { namespace, name, uid, resourceVersion } = present.metadata;
  const metadata = metadataFor(parent);
  const isRight =
    isDeepStrictEqual(present.spec, wanted.spec) &&
    Object.entries(metadata.labels).every(
      ([label, value]) => present.metadata.labels?.[label] === value,
    ) &&
    present.metadata.annotations?.[ORDER_ANNOTATION] === metadata.annotations?.[ORDER_ANNOTATION] &&
    isOwnedBy(present, parent.object);
  if (isRight) return false;
  // A merge patch keeps what it does not name.
  const former = Object.keys(present.spec ?? {}).map((field) => [field, null] as const);
  const body = {
    metadata: {
      uid,
      resourceVersion,
      ...metadata,
      annotations: metadata.annotations ?? { [ORDER_ANNOTATION]: null },
    },
    spec: { ...Object.fromEntries(former), ...wanted.spec },
  };
  const patch = { type: 'merge', body } as const;
  try {
    await client.patch(resourceOf(wanted.kind), { namespace, name }, { patch, signal });
    return false;
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
    return true;
  }
};

const remove = async (
  client: KubeClient,
  { kind, metadata }: RuleObject,
  signal: AbortSignal,
): Promise<void> => {
  const { namespace, name, uid } = metadata;
  await client
    .delete(resourceOf(kind), { namespace, name }, { preconditions: { uid }, signal })
    .catch((error: unknown) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
};

const metadataFor = ({ object }: RuleVersion) => {
  const { labels, annotations } = object.metadata;
  const order = annotations?.[ORDER_ANNOTATION];
  const kept = [PURPOSE_LABEL, BUCKET_TYPE_LABEL].flatMap((label) => {
    const value = labels?.[label];
    return value === undefined ? [] : [[label, value] as const];
  });
  return {
    labels: { ...MANAGED_BY, ...Object.fromEntries(kept) },
    ...(order !== undefined && { annotations: { [ORDER_ANNOTATION]: order } }),
    ownerReferences: [ownerOf(object)],
  };
};

const ownerOf = ({ apiVersion, kind, metadata }: RuleObject): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});

export const isOwnedBy = (child: RuleObject, { metadata }: RuleObject): boolean =>
  child.metadata.ownerReferences?.some(
    ({ uid, controller }) => uid === metadata.uid && controller,
  ) ?? false;

/** Made by ICN's controller for this very CR: it knew no owners, but left its finalizers on both. */
const isIcnChild = (child: RuleObject, parent: RuleObject): boolean =>
  [child, parent].every(({ metadata }) =>
    metadata.finalizers?.some((name) => ICN_FINALIZERS.includes(name)),
  ) && child.metadata.ownerReferences === undefined;

const resourceOf = (kind: string) => {
  const definition = kindOf(kind);
  if (!definition) throw new Error(`no kind ${kind}`);
  return definition;
};
