/**
 * The rights of agents as RoleBindings in the manifest of their CNF, for pods that start before a
 * coordinator has given them any. Their names are not those of the coordinator's, and differ by
 * service account, so that applying one manifest takes no rights of others away.
 */
import * as z from 'zod';
import { AGENT_KEYS_ROLE, AGENT_ROLE } from '#shared/names.ts';
import { bindingFields, RBAC } from '../controllers/bindings/objects.ts';

export type AgentRights = {
  namespace: string;
  /** The service account of the pods. */
  account: string;
  readsKeys: boolean;
};

const ROLES = [AGENT_ROLE, AGENT_KEYS_ROLE];
/** No service account has it in its name. */
const SEPARATOR = ':';

/** Each once, in the order of the CNFs. */
export const roleBindingsOf = (rights: readonly AgentRights[]): object[] => {
  const bindings = rights.flatMap(({ readsKeys, ...subject }) =>
    ROLES.filter((role) => readsKeys || role !== AGENT_KEYS_ROLE).map((role) =>
      roleBinding(role, subject),
    ),
  );
  return [...new Map(bindings.map((binding) => [nameOfRoleBinding(binding), binding])).values()];
};

const roleBinding = (
  role: string,
  { namespace, account }: Pick<AgentRights, 'namespace' | 'account'>,
): object => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'RoleBinding',
  metadata: { name: `${role}${SEPARATOR}${account}`, namespace },
  ...bindingFields(role, namespace, [account]),
});

const schema = z.looseObject({
  apiVersion: z.literal(`${RBAC}/v1`),
  kind: z.literal('RoleBinding'),
  metadata: z.looseObject({
    name: z.string().refine((name) => ROLES.some((role) => name.startsWith(role + SEPARATOR))),
    namespace: z.string(),
  }),
});

/** `namespace/name` of such a RoleBinding; undefined of anything else. */
export const nameOfRoleBinding = (value: unknown): string | undefined => {
  const { data } = schema.safeParse(value);
  return data && `${data.metadata.namespace}/${data.metadata.name}`;
};
