import * as z from 'zod';
import { objectSchema, resourceV1 } from '#shared/kube/objects.ts';

export const eventResource = resourceV1(
  '',
  'events',
  'Event',
  objectSchema.extend({
    type: z.string().default(''),
    reason: z.string().default(''),
    message: z.string().default(''),
    count: z.int().nullish(),
    lastTimestamp: z.string().nullish(),
    eventTime: z.string().nullish(),
    involvedObject: z.looseObject({
      kind: z.string().default(''),
      namespace: z.string().default(''),
      name: z.string().default(''),
      uid: z.string().default(''),
    }),
  }),
);
export type ClusterEvent = z.infer<(typeof eventResource)['schema']>;
