/** The addresses of a pod in the cluster's own network, as its status has them. */
import * as z from 'zod';

export const addressedStatusSchema = z.object({
  phase: z.string().optional(),
  podIP: z.string().optional(),
  podIPs: z.array(z.object({ ip: z.string() })).optional(),
});

export const addressesIn = ({
  podIP,
  podIPs,
}: Pick<z.infer<typeof addressedStatusSchema>, 'podIP' | 'podIPs'>): string[] =>
  podIPs?.map(({ ip }) => ip) ?? (podIP ? [podIP] : []);
