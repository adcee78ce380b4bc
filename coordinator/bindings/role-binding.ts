/** Brings one RoleBinding of a namespace to what it has to be. Touches only bindings of our two names. */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { objectSchema } from '#shared/kube/objects.ts';
import { find, keep, type Desired, type WriteOutcome } from '#shared/kube/owned.ts';
import { MANAGED_BY } from '#shared/names.ts';
import { rbacResources } from '../admission/buckets/bindings.ts';
import type { DesiredBinding } from './desired.ts';
import { bindingFields } from './fields.ts';

const roleBindings = {
  ...rbacResources.roleBindings,
  schema: objectSchema.extend({ roleRef: z.unknown() }),
};

/** @throws KubeError */
export const keepRoleBinding = async (
  client: KubeClient,
  namespace: string,
  binding: DesiredBinding,
  signal: AbortSignal,
): Promise<WriteOutcome> => {
  const owned = { client, resource: roleBindings, signal };
  const present = await find(client, roleBindings, { namespace, name: binding.name }, { signal });
  const desired = binding.accounts.length > 0 ? objectOf(namespace, binding) : undefined;
  // A binding's role cannot be changed.
  const isOfAnother = !isDeepStrictEqual(present?.roleRef, desired?.fields['roleRef']);
  const removed = present && desired && isOfAnother && (await keep(owned, undefined, present));
  if (removed && removed.outcome !== 'deleted') return removed.outcome;
  const { outcome } = await keep(owned, desired, removed ? undefined : present);
  return outcome;
};

const objectOf = (namespace: string, { name, accounts }: DesiredBinding): Desired => ({
  metadata: { namespace, name, labels: MANAGED_BY },
  fields: bindingFields(name, namespace, accounts),
});
