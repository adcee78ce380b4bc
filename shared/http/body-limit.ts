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
 * made a stream, which costs more than to parse it. So what comes in chunks is refused: neither the
 * API server nor an agent sends any, and its bytes would be waited for here, without a deadline.
 */
export const bodyLimit = ({ maxSize, onError }: BodyLimit): MiddlewareHandler => {
  const counted = streamLimit({ maxSize, onError });
  return async (context, next) => {
    const length = context.req.header('content-length');
    if (context.req.header('transfer-encoding') !== undefined) {
      context.header('Connection', 'close');
      return context.text('a body must say how long it is, by Content-Length\n', 411);
    }
    // Over HTTP such a request has no body.
    if (length === undefined) return counted(context, next);
    return Number(length) > maxSize ? onError(context) : next();
  };
};
