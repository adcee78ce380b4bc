/**
 * Writes that can only change the object that was judged: each carries its uid and resourceVersion,
 * so a successor of the same name, or a change in between, is a 409 (`isConflict`) and never
 * overwritten. The caller then looks at the new object and decides anew; repeating the write
 * blindly would undo the fence.
 */
import * as z from 'zod';
import type { CallOptions, KubeClient } from './client.ts';
import type { KubeObject, ResourceType } from './objects.ts';

export type Fence<T extends KubeObject = KubeObject> = {
  client: Pick<KubeClient, 'replace' | 'patch'>;
  resource: ResourceType<object>;
  object: T;
};

/**
 * Makes `status` the whole status, and touches nothing else. Needs the right to `update` the
 * subresource. A PUT, because a JSON patch answers a failed test with 422, as it answers an invalid
 * status (measured on 1.36). Resolves with the object as it is then. Its spec is what was judged,
 * so the server answers with the metadata only.
 * @throws KubeError; `isConflict`: another version or another object, `isNotFound`: gone
 */
export const replaceStatus = async <T extends KubeObject, Status extends object>(
  { client, resource, object }: Fence<T>,
  status: Status,
  call?: CallOptions,
): Promise<T & { status: Status }> => {
  const { apiVersion, kind } = object;
  const { namespace, name, uid, resourceVersion } = object.metadata;
  const metadata = { namespace, name, uid, resourceVersion };
  const body = { apiVersion, kind, metadata, status };
  const { metadata: written } = await client.replace(versionOf(resource), body, {
    ...call,
    subresource: 'status',
    answer: 'metadata',
  });
  return { ...object, metadata: { ...object.metadata, ...written }, status };
};

/**
 * Leaves all other finalizers in place. No request when none of the names is there. Needs the right
 * to `patch`. @throws as `replaceStatus`
 */
export const removeFinalizers = async (
  fence: Fence,
  names: readonly string[],
  call?: CallOptions,
): Promise<void> => {
  const present = fence.object.metadata.finalizers ?? [];
  const remaining = present.filter((name) => !names.includes(name));
  if (remaining.length < present.length) await writeFinalizers(fence, remaining, call);
};

/**
 * No request when it is there, or when the object is being deleted (the server forbids it then).
 * @throws as `replaceStatus`
 */
export const addFinalizer = async (
  fence: Fence,
  name: string,
  call?: CallOptions,
): Promise<void> => {
  const { finalizers = [], deletionTimestamp } = fence.object.metadata;
  if (deletionTimestamp !== undefined || finalizers.includes(name)) return;
  await writeFinalizers(fence, [...finalizers, name], call);
};

/** No server-side apply: it would re-create an object that has gone. */
const writeFinalizers = async (
  { client, resource, object }: Fence,
  finalizers: readonly string[],
  call?: CallOptions,
): Promise<void> => {
  const { namespace, name, uid, resourceVersion } = object.metadata;
  const body = { metadata: { uid, resourceVersion, finalizers } };
  const patch = { type: 'merge', body } as const;
  await client.patch(
    versionOf(resource),
    { namespace, name },
    { ...call, patch, answer: 'metadata' },
  );
};

/** Nothing but the version is read of what has been written. */
const versionSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const versionOf = (resource: ResourceType<object>) => ({ ...resource, schema: versionSchema });
