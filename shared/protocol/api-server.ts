/**
 * What a coordinator answers to `GET /v1/api-server`: whether the API server was away for it, too.
 * An agent asks that has not reached the API server for five seconds, before it undoes what it has
 * changed.
 */
import * as z from 'zod';

export const API_SERVER_PATH = '/v1/api-server';

export const apiServerAnswerSchema = z.object({
  /**
   * Within the last seven seconds there was a time at which the API server had answered nothing for
   * some seconds, though the coordinator asks it all the time.
   */
  wasAway: z.boolean(),
});
export type ApiServerAnswer = z.infer<typeof apiServerAnswerSchema>;
