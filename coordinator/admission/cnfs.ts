/** The networks of a CNF, as its workload or, where that bears no label, its pods say. */
import { parseNetworks } from '#shared/compile/networks.ts';

/**
 * Every network that any of these annotations names: during a roll-out old and new pods can differ. Undefined when there is none,
 * or none that can be read: then there is nothing to compare a spec with.
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
