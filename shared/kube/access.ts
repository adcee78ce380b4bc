/** Whether this client's user may do something, as the API server says. */
import * as z from 'zod';
import type { KubeClient } from './client.ts';
import { resourceV1 } from './objects.ts';

/** As RBAC has them; all namespaces, and all names, where none is given. */
export type AskedAccess = {
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
};

const accessReviews = resourceV1(
  'authorization.k8s.io',
  'selfsubjectaccessreviews',
  'SelfSubjectAccessReview',
  z.looseObject({ status: z.looseObject({ allowed: z.boolean() }) }),
);

/** @throws KubeError */
export const isAllowed = async (
  client: Pick<KubeClient, 'create'>,
  resourceAttributes: AskedAccess,
  signal: AbortSignal,
): Promise<boolean> => {
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  };
  return (await client.create(accessReviews, body, { signal })).status.allowed;
};
