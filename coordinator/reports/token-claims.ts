/**
 * The unverified claims of a token, which anybody could have written: used only to refuse, without
 * a request to the API server, what it would refuse.
 */
import * as z from 'zod';
import { REPORT_AUDIENCE } from '#shared/names.ts';
import { claimsIn } from '#shared/util/json.ts';
import { Refusal } from './refusal-codes.ts';

/** The pod that a token is bound to. Whether it still lives is another question. */
export type TokenClaims = { namespace: string; pod: string; podUid: string };

/** A service account with long names and several audiences has 2 KiB. */
const MAX_TOKEN_LENGTH = 8_192;

const payloadSchema = z.object({
  aud: z.union([z.string().transform((one) => [one]), z.array(z.string())]),
  'kubernetes.io': z
    .object({
      namespace: z.string(),
      pod: z.object({ name: z.string(), uid: z.string() }).optional(),
    })
    .optional(),
});

/** @throws Refusal when no token for us can say this */
export const claimedBy = (token: string): TokenClaims => {
  const { aud, 'kubernetes.io': bound } = payloadOf(token);
  if (!aud.includes(REPORT_AUDIENCE)) throw new Refusal('bad-token');
  if (bound?.pod === undefined) throw new Refusal('unbound-token');
  return { namespace: bound.namespace, pod: bound.pod.name, podUid: bound.pod.uid };
};

const payloadOf = (token: string): z.infer<typeof payloadSchema> => {
  if (token.length > MAX_TOKEN_LENGTH) throw new Refusal('bad-token');
  const [, , signature, ...more] = token.split('.');
  if (!signature || more.length > 0) throw new Refusal('bad-token');
  const { data } = payloadSchema.safeParse(claimsIn(token));
  if (!data) throw new Refusal('bad-token');
  return data;
};
