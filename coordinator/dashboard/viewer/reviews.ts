/**
 * What the API server says of a viewer: who holds a token, and what a user may list. Nothing is
 * kept here, least of all the token.
 */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { resourceV1 } from '#shared/kube/objects.ts';
import { DASHBOARD_AUDIENCE } from '#shared/names.ts';
import { claimsIn } from '#shared/util/json.ts';

const userSchema = z.object({
  username: z.string().min(1),
  uid: z.string().optional(),
  groups: z.array(z.string()).default([]),
  extra: z.record(z.string(), z.array(z.string())).optional(),
});
export type SignedIn = z.infer<typeof userSchema>;

/** `group` and `resource` as in RBAC; `namespace` undefined: all. */
export type Access = { group: string; resource: string; namespace: string | undefined };

export type Reviews = {
  /** Undefined: the token is none. `endsAt`: by its claims, wall-clock ms. @throws KubeError */
  identify: (token: string) => Promise<{ user: SignedIn; endsAt: number | undefined } | undefined>;
  /** Whether the user may list it. @throws KubeError */
  mayList: (user: SignedIn, access: Access) => Promise<boolean>;
};

const identitySchema = z.object({
  status: z.object({
    authenticated: z.boolean().default(false),
    audiences: z.array(z.string()).default([]),
    user: z.unknown(),
  }),
});
const tokenReviews = resourceV1(
  'authentication.k8s.io',
  'tokenreviews',
  'TokenReview',
  identitySchema,
);

const accessSchema = z.object({ status: z.object({ allowed: z.boolean().default(false) }) });
const accessReviews = resourceV1(
  'authorization.k8s.io',
  'subjectaccessreviews',
  'SubjectAccessReview',
  accessSchema,
);

/** A user waits for the page. */
const TIMEOUT_MS = 5_000;

export const createReviews = (client: KubeClient): Reviews => ({
  identify: async (token) => {
    const claims = claimsOf(token);
    // One that was made for us is good for us alone; any other is one that the API server itself
    // takes.
    const isOurs = claims.aud.includes(DASHBOARD_AUDIENCE);
    const { status } = await client.create(
      tokenReviews,
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token, ...(isOurs && { audiences: [DASHBOARD_AUDIENCE] }) },
      },
      { timeoutMs: TIMEOUT_MS },
    );
    if (!status.authenticated) return undefined;
    if (isOurs && !status.audiences.includes(DASHBOARD_AUDIENCE)) return undefined;
    const user = userSchema.safeParse(status.user).data;
    return user && { user, endsAt: claims.exp === undefined ? undefined : claims.exp * 1_000 };
  },
  mayList: async (user, { group, resource, namespace }) => {
    const { status } = await client.create(
      accessReviews,
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: user.username,
          groups: user.groups,
          ...(user.uid !== undefined && { uid: user.uid }),
          ...(user.extra && { extra: user.extra }),
          resourceAttributes: {
            group,
            resource,
            verb: 'list',
            ...(namespace !== undefined && { namespace }),
          },
        },
      },
      { timeoutMs: TIMEOUT_MS },
    );
    return status.allowed;
  },
});

const claimsSchema = z.object({
  aud: z
    .union([z.array(z.string()), z.string().transform((one) => [one])])
    .default([])
    .catch([]),
  exp: z.number().optional().catch(undefined),
});

/** Before the API server has looked at it: only to know what to ask, and when to end. */
const claimsOf = (token: string): z.infer<typeof claimsSchema> =>
  claimsSchema.safeParse(claimsIn(token)).data ?? { aud: [], exp: undefined };
