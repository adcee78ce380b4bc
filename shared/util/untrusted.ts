/**
 * What another program says, which may be hostile. zod makes an issue of about 1 KB of each element
 * that is wrong, so a list of zeros takes 500 times its size.
 */
import * as z from 'zod';

/**
 * As zod's `safeParse`, but ends at the first element that is wrong, as zod's `validate` does
 * without giving the value. It reads a `z.record` to its end: use `recordOf`.
 */
export const parseUntrusted = <T extends z.ZodType>(
  schema: T,
  value: unknown,
): z.ZodSafeParseResult<z.output<T>> => {
  const context: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };
  return schema.safeParse(value, context);
};

/** An object with any keys. */
export const recordOf = <T extends z.ZodType>(value: T) => z.object({}).catchall(value);
