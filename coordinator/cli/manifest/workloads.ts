/** Where a manifest has pod templates: Pods, Deployments, StatefulSets, DaemonSets, in Lists. */
import * as z from 'zod';
import { own } from '#shared/util/own.ts';

/** `path`: from the document to the object that holds the pod's `metadata` and `spec`. */
export type Place = {
  path: readonly (string | number)[];
  kind: string;
  name: string;
  namespace: string | undefined;
};

const TEMPLATE = ['spec', 'template'];
const PATHS: Readonly<Record<string, readonly string[]>> = {
  'v1 Pod': [],
  'apps/v1 Deployment': TEMPLATE,
  'apps/v1 StatefulSet': TEMPLATE,
  'apps/v1 DaemonSet': TEMPLATE,
};

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z
    .looseObject({
      name: z.string().nullish(),
      generateName: z.string().nullish(),
      namespace: z.string().nullish(),
    })
    .nullish(),
  items: z.array(z.unknown()).nullish(),
});

/** In the order of the text; none in what is no Kubernetes object. */
export const workloadPlaces = (value: unknown): Place[] => {
  const object = objectSchema.safeParse(value);
  if (!object.success) return [];
  const { apiVersion, kind, metadata, items } = object.data;
  if (kind.endsWith('List') && items)
    return items.flatMap((item, index) =>
      workloadPlaces(item).map((place) => ({ ...place, path: ['items', index, ...place.path] })),
    );
  const path = own(PATHS, `${apiVersion} ${kind}`);
  if (!path) return [];
  const { name, generateName, namespace } = metadata ?? {};
  return [{ path, kind, name: name ?? generateName ?? '', namespace: namespace || undefined }];
};

export const valueAt = (value: unknown, path: readonly (string | number)[]): unknown => {
  const [key, ...rest] = path;
  return key === undefined ? value : valueAt(fieldsOf(value)[key], rest);
};

/** A copy with `part` at that path. */
export const withValueAt = (
  value: unknown,
  path: readonly (string | number)[],
  part: unknown,
): unknown => {
  const [key, ...rest] = path;
  if (key === undefined) return part;
  if (Array.isArray(value))
    return value.with(Number(key), withValueAt(value[Number(key)], rest, part));
  const fields = fieldsOf(value);
  return { ...fields, [key]: withValueAt(fields[key], rest, part) };
};

const fieldsOf = (value: unknown): Record<string | number, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};
