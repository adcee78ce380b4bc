/** Brings one RoleBinding of a namespace to what it has to be. Touches only bindings of our two names. */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { rbacResources } from '../admission/buckets/bindings.ts';
import { MANAGED_BY } from './managed-by.ts';
import type { DesiredBinding } from './desired.ts';

const roleBindingSchema = objectSchema.extend({
  roleRef: z.looseObject({ apiGroup: z.string(), kind: z.string(), name: z.string() }),
  subjects: z.array(z.looseObject({ kind: z.string(), name: z.string() })).optional(),
});
type RoleBinding = z.infer<typeof roleBindingSchema>;

const roleBindings: ResourceType<RoleBinding> = {
  ...rbacResources.roleBindings,
  schema: roleBindingSchema,
};

type Client = Pick<KubeClient, 'get' | 'create' | 'replace' | 'delete'>;

/** True when it had to change something. @throws KubeError, also when somebody else wrote meanwhile */
export const keepRoleBinding = async (
  client: Client,
  namespace: string,
  { name, accounts }: DesiredBinding,
  signal: AbortSignal,
): Promise<boolean> => {
  const present = await find(client, { namespace, name }, signal);
  if (accounts.length === 0) {
    if (present) await remove(client, present, signal);
    return present !== undefined;
  }
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const subjects = accounts.map((account) => ({
    kind: 'ServiceAccount',
    name: account,
    namespace,
  }));
  if (present && isDeepStrictEqual(present.roleRef, roleRef)) {
    if (isDeepStrictEqual(present.subjects, subjects)) return false;
    const body: RoleBinding = { ...present, subjects };
    await client.replace(roleBindings, body, { signal });
    return true;
  }
  // A binding's role cannot be changed.
  if (present) await remove(client, present, signal);
  const metadata = { name, namespace, labels: MANAGED_BY };
  const body = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata,
    roleRef,
    subjects,
  };
  await client.create(roleBindings, body, { signal });
  return true;
};

const find = async (
  client: Client,
  key: { namespace: string; name: string },
  signal: AbortSignal,
): Promise<RoleBinding | undefined> => {
  try {
    return await client.get(roleBindings, key, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

const remove = async (
  client: Client,
  { metadata }: RoleBinding,
  signal: AbortSignal,
): Promise<void> => {
  const { namespace, name, uid, resourceVersion } = metadata;
  const preconditions = { uid, resourceVersion };
  await client
    .delete(roleBindings, { namespace, name }, { preconditions, signal })
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
};
