/** Addresses on the API server. */
import type { ResourceType } from './objects.ts';

/** The schema of its objects does not matter for the address. */
type Addressed = ResourceType<object>;

export type ObjectKey = {
  /** Absent or empty for cluster-scoped objects. */
  namespace?: string | undefined;
  name: string;
};

/** `v1` or `group/version`, as in `apiVersion`. */
export const apiVersionOf = ({ group, version }: Pick<Addressed, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

/** `pods`, `deployments.apps`: as people and RBAC messages write it. */
export const resourceName = ({ group, plural }: Addressed): string =>
  group === '' ? plural : `${plural}.${group}`;

/** All namespaces when none is given. */
export const collectionPath = (resource: Addressed, namespace?: string): string => {
  const root = resource.group === '' ? '/api' : '/apis';
  const scope = namespace === undefined ? '' : `/namespaces/${segment(namespace)}`;
  return `${root}/${apiVersionOf(resource)}${scope}/${resource.plural}`;
};

export const objectPath = (resource: Addressed, key: ObjectKey, subresource?: string): string => {
  const path = `${collectionPath(resource, key.namespace || undefined)}/${segment(key.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
};

/** @throws for a name that would lead elsewhere; no Kubernetes object can have it */
const segment = (name: string): string => {
  if (name === '' || name === '.' || name === '..')
    throw new Error(`no object can be named "${name}"`);
  return encodeURIComponent(name);
};

/** `?a=1&b=2`; values that are undefined are left out, empty when all are. */
export const queryString = (
  values: Readonly<Record<string, string | number | boolean | undefined>>,
): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) query.set(name, String(value));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
};
