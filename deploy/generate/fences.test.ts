/** The rest is proven by test/deploy/guides/adding-a-kind.test.ts on a real API server. */
import * as z from 'zod';
import { describe, expect, it } from 'vitest';
import { objectSchema } from '#shared/kube/objects.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { FLEET_GROUP, RULE_GROUP } from '#shared/names.ts';
import { kinds } from '#shared/resources/registry.ts';
import { resources } from '#shared/resources/resources.ts';
import { fenceBlocks } from './fences.ts';

const wholeCluster: KindDefinition = {
  group: 'example.org',
  version: 'v1',
  scope: 'Cluster',
  kind: 'Example',
  plural: 'examples',
  shortNames: [],
  description: 'An example.',
  schema: objectSchema,
  spec: z.strictObject({}),
};

describe('a resource of the whole cluster, in another group', () => {
  const blocks = fenceBlocks([...resources, wholeCluster], kinds);

  it('is in the rules of webhooks and policies, under its own scope', () => {
    const any = {
      apiVersions: ['*'],
      resources: ['*'],
      operations: ['CREATE', 'UPDATE', 'DELETE'],
    };
    expect(blocks['resources-changed']).toEqual([
      {
        ...any,
        apiGroups: [RULE_GROUP, FLEET_GROUP, 'network.sdewan.akraino.org'],
        scope: 'Namespaced',
      },
      { ...any, apiGroups: ['network.sdewan.akraino.org', 'example.org'], scope: 'Cluster' },
    ]);
  });

  it('has a bound for what its schema does not bound, as each kind of each group of ours has', () => {
    const scopes = blocks['resources-written'] as { apiGroups: string[]; resources: string[] }[];
    const bounded = scopes.flatMap(({ apiGroups }) => apiGroups);
    expect(new Set(bounded)).toEqual(
      new Set([...resources, wholeCluster].map(({ group }) => group)),
    );
    expect(scopes.map((one) => one.resources)).toEqual([['*'], ['*']]);
  });

  it('has its status fenced under its own scope', () => {
    expect(blocks['statuses-written']).toEqual([
      expect.objectContaining({ resources: ['*/status'], scope: 'Namespaced' }),
      expect.objectContaining({
        apiGroups: ['network.sdewan.akraino.org', 'example.org'],
        resources: ['*/status'],
        scope: 'Cluster',
      }),
    ]);
  });
});
