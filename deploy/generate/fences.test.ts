import * as z from 'zod';
import { describe, expect, it } from 'vitest';
import { objectSchema } from '#shared/kube/objects.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { FLEET_GROUP } from '#shared/names.ts';
import { kinds } from '#shared/resources/registry.ts';
import { resources } from '#shared/resources/resources.ts';
import { fenceBlocks } from './fences.ts';

const wholeCluster: KindDefinition = {
  group: 'example.org',
  version: 'v1',
  scope: 'Cluster',
  kind: 'Example',
  plural: 'examples',
  singular: 'example',
  shortNames: [],
  description: 'An example.',
  schema: objectSchema,
  spec: z.strictObject({}),
};
const [firewallZone] = kinds as [KindDefinition];
const elsewhere: KindDefinition = { ...firewallZone, group: 'example.org', plural: 'zones' };
const GROUP = firewallZone.group;

const blocksOf = (others: KindDefinition[], rules: KindDefinition[] = []) =>
  fenceBlocks([...resources, ...rules, ...others], [...kinds, ...rules]);

describe('a resource of the whole cluster, in another group', () => {
  const blocks = blocksOf([wholeCluster]);

  it('is in the rules of webhooks and policies, under its own scope', () => {
    const any = {
      apiVersions: ['*'],
      resources: ['*'],
      operations: ['CREATE', 'UPDATE', 'DELETE'],
    };
    expect(blocks['resources-changed']).toEqual([
      {
        ...any,
        apiGroups: [GROUP, FLEET_GROUP, 'network.sdewan.akraino.org'],
        scope: 'Namespaced',
      },
      { ...any, apiGroups: ['example.org'], scope: 'Cluster' },
    ]);
  });

  it('has its status fenced under its own scope', () => {
    expect(blocks['statuses-written']).toEqual([
      expect.objectContaining({ resources: ['*/status'], scope: 'Namespaced' }),
      expect.objectContaining({
        apiGroups: ['example.org'],
        resources: ['*/status'],
        scope: 'Cluster',
      }),
    ]);
  });

  it('needs nothing that only rules need', () => {
    for (const block of ['rules-written', 'rules-changed'])
      expect(blocks[block]).toEqual([expect.objectContaining({ apiGroups: [GROUP] })]);
    expect(blocks['ties-rules-to-a-cnf']).toEqual(blocksOf([])['ties-rules-to-a-cnf']);
  });

  it('is read by the coordinator, which creates and deletes only what it makes itself', () => {
    expect(blocks['rights-on-resources']).toContainEqual({
      apiGroups: ['example.org'],
      resources: ['examples'],
      verbs: ['get', 'list', 'watch'],
    });
    const creating = (given: typeof blocks) =>
      given['rights-on-resources']?.filter((right) => JSON.stringify(right).includes('"create"'));
    expect(creating(blocks)).toEqual(creating(blocksOf([])));
    expect(creating(blocksOf([{ ...wholeCluster, isMadeByCoordinator: true }]))).toContainEqual({
      apiGroups: ['example.org'],
      resources: ['examples'],
      verbs: ['create', 'delete'],
    });
  });
});

it('has rules of webhooks for a second group, too', () => {
  expect(blocksOf([], [elsewhere])['rules-written']).toEqual([
    expect.objectContaining({ apiGroups: [GROUP, 'example.org'], scope: 'Namespaced' }),
  ]);
});

it('requires no purpose for a resource that is no rule but shares a group with rules', () => {
  const sharing = { ...wholeCluster, group: GROUP };
  const [condition] = blocksOf([sharing])['ties-rules-to-a-cnf'] ?? [];
  expect(condition).toMatchObject({
    expression:
      "request.resource.resource != 'cnfstatuses' && request.resource.resource != 'examples'",
  });
});
