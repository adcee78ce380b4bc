/**
 * The entry in a rule's status about a CNF that the rule has cut off: the one thing in a status
 * that an agent looks at, and only to leave the rule out.
 */
import * as z from 'zod';
import { lostConnectivitySchema } from '#shared/protocol/status.ts';
import type { RuleObject } from '#shared/kube/objects.ts';

export type StatusEntry = z.infer<typeof lostConnectivitySchema>;

const statusSchema = z.object({ lostConnectivity: lostConnectivitySchema });

export const statusBlames = ({ status }: RuleObject): StatusEntry | undefined =>
  status === undefined ? undefined : statusSchema.safeParse(status).data?.lostConnectivity;

/** All that agents keep of a status. */
export const keptOfStatus = (status: unknown): { status?: unknown } => {
  const entry = statusSchema.safeParse(status).data;
  return entry === undefined ? {} : { status: entry };
};
