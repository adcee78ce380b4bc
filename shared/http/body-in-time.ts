/** Bounds the time in which the body of a request comes. */
import type { Context, MiddlewareHandler } from 'hono';
import { aborted } from '../runtime/aborted.ts';
import { withDeadline } from '../runtime/deadline.ts';

export type BodyInTime = { timeoutMs: number; onError: (context: Context) => Response };

/**
 * The body is text afterwards. For what holds room for it: else a few clients that send a byte now
 * and then have all of the room for as long as a request may take.
 */
export const bodyInTime = ({ timeoutMs, onError }: BodyInTime): MiddlewareHandler => {
  const read = (context: Context): Promise<boolean> =>
    withDeadline({ timeoutMs }, (signal) =>
      Promise.race([context.req.text().then(() => true), aborted(signal).then(() => false)]),
    );
  return async (context, next) => {
    if (await read(context)) return next();
    // What is left of the body is not read, so the connection is of no more use.
    context.header('Connection', 'close');
    return onError(context);
  };
};
