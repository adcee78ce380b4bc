/**
 * Verb `use` on resource `buckettypes`, which exists for RBAC alone: who writes or binds a role
 * that grants it needs it himself, by RBAC's own check against escalation. RBAC does not check
 * annotations of a role.
 */
import * as z from 'zod';

export const BUCKET_TYPES_GROUP = 'permissions.sdewan.akraino.org';
export const BUCKET_TYPES_RESOURCE = 'buckettypes';
export const USE = 'use';

export const policyRuleSchema = z.looseObject({
  verbs: z.array(z.string()).default([]),
  apiGroups: z.array(z.string()).nullish(),
  resources: z.array(z.string()).nullish(),
  resourceNames: z.array(z.string()).nullish(),
});
export type PolicyRule = z.infer<typeof policyRuleSchema>;

/** Whether such a rule grants that type of rules of that plural, as RBAC's authorizer reads it. */
export const grantsUse = (rules: readonly PolicyRule[], plural: string, type: string): boolean => {
  const resources = [
    '*',
    BUCKET_TYPES_RESOURCE,
    `${BUCKET_TYPES_RESOURCE}/${plural}`,
    `*/${plural}`,
  ];
  return rules.some(
    (rule) =>
      hasOne(rule.verbs, ['*', USE]) &&
      hasOne(rule.apiGroups, ['*', BUCKET_TYPES_GROUP]) &&
      hasOne(rule.resources, resources) &&
      (!rule.resourceNames?.length || rule.resourceNames.includes(type)),
  );
};

/** Those that can matter for it. */
export const rulesOfUse = (rules: readonly PolicyRule[]): PolicyRule[] =>
  rules
    .filter(
      ({ verbs, apiGroups }) =>
        hasOne(verbs, ['*', USE]) && hasOne(apiGroups, ['*', BUCKET_TYPES_GROUP]),
    )
    .map(({ verbs, apiGroups, resources, resourceNames }) => ({
      verbs,
      apiGroups,
      resources,
      resourceNames,
    }));

const hasOne = (given: readonly string[] | null | undefined, wanted: readonly string[]): boolean =>
  given?.some((one) => wanted.includes(one)) ?? false;
