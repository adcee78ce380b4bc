/**
 * The annotation `k8s.plugin.opnfv.org/nfn-network` of CNF pods, which the Nodus CNI and we read:
 * what the pod is attached to.
 */
import * as z from 'zod';
import type { NetworkTable } from './types.ts';

const annotationSchema = z.looseObject({
  interface: z.array(z.looseObject({ name: z.string().min(1), interface: z.string().min(1) })),
});

/**
 * Network name -> interface name; the first entry of a name counts, as in ICN. Empty without an
 * annotation.
 * @throws Error when there is an annotation that cannot be read
 */
export const parseNetworks = (annotation: string | undefined): NetworkTable => {
  if (annotation === undefined || annotation.trim() === '') return new Map();
  const table = new Map<string, string>();
  for (const entry of annotationSchema.parse(JSON.parse(annotation)).interface)
    if (!table.has(entry.name)) table.set(entry.name, entry.interface);
  return table;
};
