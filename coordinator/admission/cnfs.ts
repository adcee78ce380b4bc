/** What a namespace's workloads, pod templates and pods say of its CNFs. */
import { parseNetworks } from '#shared/compile/networks.ts';

/**
 * Every network that any of these annotations names: during a roll-out old and new pods can differ.
 * Undefined when there is none, or none that can be read: then there is nothing to compare a spec
 * with.
 */
export const networkNames = (
  annotations: readonly (string | undefined)[],
): ReadonlySet<string> | undefined => {
  const tables = annotations.flatMap((annotation) => {
    if (annotation === undefined) return [];
    try {
      return [parseNetworks(annotation)];
    } catch {
      return [];
    }
  });
  return tables.length === 0 ? undefined : new Set(tables.flatMap((table) => [...table.keys()]));
};

/** Which CNFs there are, by the labels of all of them. */
export const purposesAmong = (labels: readonly (string | undefined)[]): ReadonlySet<string> =>
  new Set(labels.flatMap((label) => (label ? [label] : [])));
