/** Rights that a user lacks, how they are told, and which role has them. Pure. */
import * as z from 'zod';
import { DEBUG_ROLE, VIEWER_ROLE } from '#shared/names.ts';
import { kinds } from '#shared/resources/registry.ts';
import { debugRules, READ, viewerRules, type RoleRule } from '#shared/resources/user-roles.ts';

/** `namespace`: undefined for all. */
export type Lacking = {
  verb: 'list' | 'get' | 'create' | 'patch';
  resource: string;
  namespace: string | undefined;
};

/** What to ask an administrator for, as few sentences as there are places and roles. */
export const rightsOf = (lacking: readonly Lacking[]): string[] => {
  const groups = Map.groupBy(lacking, ({ verb, resource, namespace }) => {
    const place = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`;
    return JSON.stringify([verb, place, roleWith(verb, resource)]);
  });
  const sentences = [...groups].map(([key, group]) => {
    const [verb, place, role] = keySchema.parse(JSON.parse(key));
    const resources = group.map(({ resource }) => resource).sort();
    const who = role === null ? '' : ` (ClusterRole ${role} may)`;
    return `you may not ${verb} ${resources.join(', ')} ${place}${who}`;
  });
  // What was refused first differs from run to run.
  return sentences.sort();
};

const keySchema = z.tuple([z.string(), z.string(), z.string().nullable()]);

/** By what is read, those with the least first. `view` is Kubernetes' own. */
const ROLES: readonly (readonly [role: string, rules: readonly RoleRule[]])[] = [
  [VIEWER_ROLE, viewerRules(kinds)],
  [
    'view',
    [
      { apiGroups: [''], resources: ['pods', 'namespaces', 'services'], verbs: READ },
      {
        apiGroups: ['apps'],
        resources: ['deployments', 'statefulsets', 'daemonsets'],
        verbs: READ,
      },
      { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: READ },
    ],
  ],
  [DEBUG_ROLE, debugRules],
];

/** Null: no role that is made for looking has it, as of kinds that hold keys. */
const roleWith = (verb: string, resource: string): string | null =>
  ROLES.find(([, rules]) =>
    rules.some(
      (rule) =>
        rule.verbs.includes(verb) &&
        rule.apiGroups.some((group) =>
          rule.resources.some(
            (plural) => resource === (group === '' ? plural : `${plural}.${group}`),
          ),
        ),
    ),
  )?.[0] ?? null;
