/** Which Roles and ClusterRoles a user has in a namespace, as the API server's RBAC decides. */
import * as z from 'zod';
import {
  identityOf,
  objectSchema,
  resourceV1,
  type KubeObject,
  type ResourceType,
} from '#shared/kube/objects.ts';
import { BUCKET_PERMISSION_ANNOTATION } from '#shared/names.ts';
import { policyRuleSchema, rulesOfUse } from './use.ts';
import type { BucketGrant, User } from '../checks/check.ts';

const rbac = (plural: string, kind: string): ResourceType =>
  resourceV1('rbac.authorization.k8s.io', plural, kind);
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
type Subject = { kind: string; name: string; namespace?: string | undefined };

export const bindingSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  roleRef: z.looseObject({ kind: z.string(), name: z.string() }),
  subjects: z.array(subjectSchema).nullish(),
});
export type Binding = {
  metadata: { name: string };
  roleRef: { kind: string; name: string };
  subjects?: readonly Subject[] | null | undefined;
};

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

/**
 * A longer one grants nothing: it would be kept of each role that a tenant writes. One for all
 * kinds and types has less than 2,000.
 */
const MAX_PERMISSION_LENGTH = 16_384;
/**
 * A watch keeps no more of a binding. What a user is refused for want of them is looked up once
 * more, on the API server.
 */
const MAX_SUBJECTS = 64;

/** Only the name of a role, our annotation and its rules about bucket types are kept. */
const keptRoleSchema = objectSchema.transform((object): KeptRole => {
  const { name, annotations } = object.metadata;
  const permission = annotations?.[BUCKET_PERMISSION_ANNOTATION] ?? '';
  const isRead = permission !== '' && permission.length <= MAX_PERMISSION_LENGTH;
  const kept = isRead && { annotations: { [BUCKET_PERMISSION_ANNOTATION]: permission } };
  // Rules are of no use without the annotation.
  const rules = !isRead ? [] : (roleSchema.parse(object).rules ?? []);
  return { ...identityOf(object), role: { metadata: { name, ...kept }, rules: rulesOfUse(rules) } };
});

type Keep = (subjects: readonly Subject[], namespace: string) => readonly Subject[];

const keptBindingSchema = (keep: Keep) =>
  objectSchema.transform((object): KeptBinding => {
    const { metadata, roleRef, subjects } = bindingSchema.parse(object);
    const { kind, name } = roleRef;
    const kept = keep(subjects ?? [], object.metadata.namespace);
    return {
      ...identityOf(object),
      binding: {
        metadata: { name: metadata.name },
        roleRef: { kind, name },
        subjects: kept.map(({ kind, name, namespace }) => ({ kind, name, namespace })),
      },
    };
  });

const rbacWith = (keep: Keep) => {
  const bindings = keptBindingSchema(keep);
  return {
    roles: { ...rbacResources.roles, schema: keptRoleSchema },
    roleBindings: { ...rbacResources.roleBindings, schema: bindings },
    clusterRoles: { ...rbacResources.clusterRoles, schema: keptRoleSchema },
    clusterRoleBindings: { ...rbacResources.clusterRoleBindings, schema: bindings },
  };
};

/** For watches. */
export const keptRbac = rbacWith((subjects) => subjects.slice(0, MAX_SUBJECTS));

/** For lists: of the subjects of a binding that user only. */
export const rbacOf = (user: User) =>
  rbacWith((subjects, namespace) => subjects.filter((subject) => isUser(subject, user, namespace)));

/** As watches and lists keep them. */
export type RbacObjects = {
  /** Those of one namespace. */
  roles: readonly Pick<KeptRole, 'role'>[];
  roleBindings: readonly Pick<KeptBinding, 'binding'>[];
  clusterRoles: readonly Pick<KeptRole, 'role'>[];
  clusterRoleBindings: readonly Pick<KeptBinding, 'binding'>[];
};

/** Only roles that carry the bucket annotation; the others grant no bucket type. */
export const grantsOf = (user: User, namespace: string, rbac: RbacObjects): BucketGrant[] => {
  const bound = (bindings: RbacObjects['roleBindings'], of: string): Binding['roleRef'][] =>
    bindings.flatMap(({ binding: { subjects, roleRef } }) =>
      subjects?.some((subject) => isUser(subject, user, of)) ? [roleRef] : [],
    );
  const inNamespace = bound(rbac.roleBindings, namespace);
  const inCluster = bound(rbac.clusterRoleBindings, '');
  const roleNames = namesOf(inNamespace, 'Role');
  const clusterRoleNames = namesOf([...inNamespace, ...inCluster], 'ClusterRole');
  return [
    ...annotated(rbac.roles, roleNames, 'Role'),
    ...annotated(rbac.clusterRoles, clusterRoleNames, 'ClusterRole'),
  ];
};

const isUser = (subject: Subject, user: User, bindingNamespace: string): boolean => {
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
  roles: RbacObjects['roles'],
  names: ReadonlySet<string>,
  kind: string,
): BucketGrant[] =>
  roles.flatMap(({ role: { metadata, rules } }) => {
    const annotation = metadata.annotations?.[BUCKET_PERMISSION_ANNOTATION];
    return annotation !== undefined && names.has(metadata.name)
      ? [{ role: `${kind} ${metadata.name}`, annotation, rules: rules ?? [] }]
      : [];
  });
