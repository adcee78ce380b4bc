/** Deployments, as far as commands look at them. */
import * as z from 'zod';
import { objectSchema, resourceV1 } from '#shared/kube/objects.ts';

export const deployments = resourceV1(
  'apps',
  'deployments',
  'Deployment',
  objectSchema.extend({
    spec: z.looseObject({
      replicas: z.int().default(1),
      template: z.looseObject({
        spec: z.looseObject({
          containers: z.array(
            z.looseObject({
              image: z.string(),
              env: z.array(z.looseObject({ name: z.string() })).default([]),
            }),
          ),
        }),
      }),
    }),
    status: z.looseObject({ readyReplicas: z.int().default(0) }).optional(),
  }),
);
