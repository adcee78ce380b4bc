/** Where a policy is enforced, as commands print it. */
import * as z from 'zod';

export const placeFields = {
  namespace: z.string(),
  cnf: z.string(),
  place: z
    .string()
    .describe("By which addresses: cluster, the pods' own ones, or second networks."),
};
