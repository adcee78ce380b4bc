/** Bounds the body of a request. */
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit as streamLimit } from 'hono/body-limit';

export type BodyLimit = {
  /** Bytes. */
  maxSize: number;
  onError: (context: Context) => Response;
};

/**
 * Node reads no more than a request says that it has; to count what comes, the body must first be
 * made a stream, which costs more than to parse it. So only what does not say how long it is, is
 * counted.
 */
export const bodyLimit = ({ maxSize, onError }: BodyLimit): MiddlewareHandler => {
  const counted = streamLimit({ maxSize, onError });
  return async (context, next) => {
    const length = context.req.header('content-length');
    if (length === undefined || context.req.header('transfer-encoding') !== undefined)
      return counted(context, next);
    return Number(length) > maxSize ? onError(context) : next();
  };
};
