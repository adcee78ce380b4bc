/** Roles that list bucket types in their annotation, and whose rules do not grant to use them: the annotation will not count. Pure. */
import { BUCKET_PERMISSION_ANNOTATION } from '#shared/names.ts';
import type { Role } from '../../admission/buckets/bindings.ts';
import { grantsBucket } from '../../admission/buckets/permission.ts';
import {
  BUCKET_TYPES_GROUP,
  BUCKET_TYPES_RESOURCE,
  USE,
  grantsUse,
} from '../../admission/buckets/use.ts';

export type LackingRole = {
  /** Such as `Role edge/editor`. */
  role: string;
  /** As YAML, to be added to its rules: as wide as its annotation. */
  rules: string[];
};

export const lackingRoles = (
  roles: readonly { kind: string; role: Role }[],
  { plurals, types }: { plurals: readonly string[]; types: readonly string[] },
): LackingRole[] =>
  roles.flatMap(({ kind, role }) => {
    const { name, namespace, annotations } = role.metadata;
    const annotation = annotations?.[BUCKET_PERMISSION_ANNOTATION];
    if (annotation === undefined) return [];
    const listed = plurals.map((plural) => ({
      plural,
      types: types.filter((type) => grantsBucket(annotation, plural, type)),
    }));
    const lacking = listed.filter(({ plural, types: some }) =>
      some.some((type) => !grantsUse(role.rules ?? [], plural, type)),
    );
    if (lacking.length === 0) return [];
    const place = namespace === undefined ? name : `${namespace}/${name}`;
    return [{ role: `${kind} ${place}`, rules: rulesFor(listed.filter(hasTypes), plurals.length) }];
  });

const hasTypes = ({ types }: { types: readonly string[] }): boolean => types.length > 0;

/** One rule for all kinds where they have the same types, else one for each set of types. */
const rulesFor = (
  listed: readonly { plural: string; types: readonly string[] }[],
  all: number,
): string[] => {
  const plurals = new Map<string, string[]>();
  for (const { plural, types } of listed) {
    const key = types.join(', ');
    plurals.set(key, [...(plurals.get(key) ?? []), plural]);
  }
  return [...plurals].map(([types, some]) => {
    const resources =
      some.length === all
        ? BUCKET_TYPES_RESOURCE
        : some.map((plural) => `${BUCKET_TYPES_RESOURCE}/${plural}`).join(', ');
    return `- { apiGroups: [${BUCKET_TYPES_GROUP}], resources: [${resources}], resourceNames: [${types}], verbs: [${USE}] }`;
  });
};
