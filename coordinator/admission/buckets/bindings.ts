/** Which Roles and ClusterRoles a user has in a namespace, as the API server's RBAC authorizer decides it. */
import * as z from 'zod';
import {
  identityOf,
  objectSchema,
  type KubeObject,
  type ResourceType,
} from '#shared/kube/objects.ts';
import { BUCKET_PERMISSION_ANNOTATION } from '#shared/names.ts';
import { policyRuleSchema, rulesOfUse } from './use.ts';
import type { BucketGrant, User } from '../checks/check.ts';

const rbac = (plural: string, kind: string): ResourceType => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
  kind,
  schema: objectSchema,
});
export const rbacResources = {
  roles: rbac('roles', 'Role'),
  roleBindings: rbac('rolebindings', 'RoleBinding'),
  clusterRoles: rbac('clusterroles', 'ClusterRole'),
  clusterRoleBindings: rbac('clusterrolebindings', 'ClusterRoleBinding'),
};

const subjectSchema = z.looseObject({
  kind: z.string(),
  name: z.string(),
  namespace: z.string().optional(),
});

export const bindingSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  roleRef: z.looseObject({ kind: z.string(), name: z.string() }),
  subjects: z.array(subjectSchema).nullish(),
});
export type Binding = z.infer<typeof bindingSchema>;

export const roleSchema = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  rules: z.array(policyRuleSchema).nullish(),
});
export type Role = z.infer<typeof roleSchema>;

export type KeptRole = KubeObject & { role: Role };
export type KeptBinding = KubeObject & { binding: Binding };

/** Of a role only its name, our annotation and its rules about bucket types are kept. */
const keptRoleSchema = objectSchema.transform((object): KeptRole => {
  const { name, annotations } = object.metadata;
  const permission = annotations?.[BUCKET_PERMISSION_ANNOTATION];
  const kept = permission !== undefined && {
    annotations: { [BUCKET_PERMISSION_ANNOTATION]: permission },
  };
  // Of no use without the annotation.
  const rules = permission === undefined ? [] : (roleSchema.parse(object).rules ?? []);
  return { ...identityOf(object), role: { metadata: { name, ...kept }, rules: rulesOfUse(rules) } };
});

const keptBindingSchema = objectSchema.transform((object): KeptBinding => {
  const { metadata, roleRef, subjects } = bindingSchema.parse(object);
  return {
    ...identityOf(object),
    binding: { metadata: { name: metadata.name }, roleRef, subjects },
  };
});

/** For watches and lists. */
export const keptRbac = {
  roles: { ...rbacResources.roles, schema: keptRoleSchema },
  roleBindings: { ...rbacResources.roleBindings, schema: keptBindingSchema },
  clusterRoles: { ...rbacResources.clusterRoles, schema: keptRoleSchema },
  clusterRoleBindings: { ...rbacResources.clusterRoleBindings, schema: keptBindingSchema },
};

export type RbacObjects = {
  /** Of one namespace. */
  roles: readonly Role[];
  roleBindings: readonly Binding[];
  clusterRoles: readonly Role[];
  clusterRoleBindings: readonly Binding[];
};

/** Only roles that carry the bucket annotation; the others grant no bucket type, so nobody needs to know of them. */
export const grantsOf = (user: User, namespace: string, rbac: RbacObjects): BucketGrant[] => {
  const bound = (bindings: readonly Binding[], bindingNamespace: string): Binding[] =>
    bindings.filter(({ subjects }) =>
      subjects?.some((subject) => isUser(subject, user, bindingNamespace)),
    );
  const inNamespace = bound(rbac.roleBindings, namespace).map(({ roleRef }) => roleRef);
  const inCluster = bound(rbac.clusterRoleBindings, '').map(({ roleRef }) => roleRef);
  const roleNames = namesOf(inNamespace, 'Role');
  const clusterRoleNames = namesOf([...inNamespace, ...inCluster], 'ClusterRole');
  return [
    ...annotated(rbac.roles, roleNames, 'Role'),
    ...annotated(rbac.clusterRoles, clusterRoleNames, 'ClusterRole'),
  ];
};

const isUser = (
  subject: z.infer<typeof subjectSchema>,
  user: User,
  bindingNamespace: string,
): boolean => {
  switch (subject.kind) {
    case 'User':
      return subject.name === user.username;
    case 'Group':
      return user.groups.includes(subject.name);
    case 'ServiceAccount': {
      const namespace = subject.namespace || bindingNamespace;
      return (
        namespace !== '' && user.username === `system:serviceaccount:${namespace}:${subject.name}`
      );
    }
    default:
      return false;
  }
};

const namesOf = (refs: readonly Binding['roleRef'][], kind: string): Set<string> =>
  new Set(refs.filter((ref) => ref.kind === kind).map(({ name }) => name));

const annotated = (
  roles: readonly Role[],
  names: ReadonlySet<string>,
  kind: string,
): BucketGrant[] =>
  roles.flatMap(({ metadata, rules }) => {
    const annotation = metadata.annotations?.[BUCKET_PERMISSION_ANNOTATION];
    return annotation !== undefined && names.has(metadata.name)
      ? [{ role: `${kind} ${metadata.name}`, annotation, rules: rules ?? [] }]
      : [];
  });
