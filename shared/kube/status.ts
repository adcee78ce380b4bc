/**
 * `Status` objects, by which the API server says what went wrong. A proxy before it may say
 * anything, so no field is relied on.
 */
import * as z from 'zod';

const statusSchema = z.object({
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.number().optional(),
  details: z.object({ retryAfterSeconds: z.number().optional() }).optional(),
});

/** Nothing known when this is no Status. */
export const readStatus = (value: unknown): z.infer<typeof statusSchema> =>
  statusSchema.safeParse(value).data ?? {};
