import { describe, expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { createReviews } from './reviews.ts';

const token = (claims: object): string =>
  `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;

const asking = (status: object) => {
  const asked: unknown[] = [];
  const client = {
    create: async (resource: { plural: string }, body: { spec?: unknown }) => {
      asked.push([resource.plural, body.spec]);
      return { status };
    },
  } as unknown as KubeClient;
  return { asked, reviews: createReviews(client) };
};

const user = { username: 'ann', uid: 'u1', groups: ['viewers'], extra: { scopes: ['some'] } };

describe('a token', () => {
  it('is reviewed for the dashboard when it was made for that, and good for nothing else', async () => {
    const given = token({ aud: 'sdewan-dashboard' });
    const { asked, reviews } = asking({
      authenticated: true,
      audiences: ['sdewan-dashboard'],
      user,
    });
    expect(await reviews.identify(given)).toEqual({ user, endsAt: undefined });
    expect(asked).toEqual([['tokenreviews', { token: given, audiences: ['sdewan-dashboard'] }]]);
    const unaware = asking({ authenticated: true, audiences: [], user });
    expect(await unaware.reviews.identify(given)).toBeUndefined();
  });

  it.each([
    ['is not known', { authenticated: false }],
    ['has no user', { authenticated: true, user: {} }],
  ])('is refused when it %s', async (_, status) => {
    expect(await asking(status).reviews.identify('opaque')).toBeUndefined();
  });
});

it('asks for a right with all that the API server knows of the user', async () => {
  const { asked, reviews } = asking({ allowed: true });
  const access = { group: 'g', resource: 'firewallrules', namespace: 'edge' };
  expect(await reviews.mayList(user, access)).toBe(true);
  expect(await reviews.mayList(user, { ...access, namespace: undefined })).toBe(true);
  const attributes = { group: 'g', resource: 'firewallrules', verb: 'list' };
  const { username, ...rest } = user;
  expect(asked).toEqual([
    [
      'subjectaccessreviews',
      { user: username, ...rest, resourceAttributes: { ...attributes, namespace: 'edge' } },
    ],
    ['subjectaccessreviews', { user: username, ...rest, resourceAttributes: attributes }],
  ]);
  expect(await asking({ allowed: false }).reviews.mayList(user, access)).toBe(false);
});
