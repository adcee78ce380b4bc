/**
 * Who may write the rules of a namespace with `resources: ["*"]`, which includes each status, writes what agents have not said: a rule in force that is on
 * no CNF, a CNF without a problem, a roll-out that is done, and a rule that pods which start leave out, because it has cut them off. In each way to
 * write, with a coordinator and without.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeClient, Patch } from '#shared/kube/client.ts';
import { isConflict } from '#shared/kube/errors.ts';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { cnfDeploymentResource } from '#shared/resources/cnf-deployment.ts';
import { cnfStatusResource } from '#shared/resources/cnf-status.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { createWorld, type World } from '../integration/admission/world.ts';

const TENANT = 'tenant';
const RELEASER = 'releaser';
const GROUPS = ['batch', 'fleet', 'network'].map((group) => `${group}.sdewan.akraino.org`);

let world: World;
let namespace: string;
let tenant: KubeClient;
beforeAll(async () => {
  world = await createWorld();
  namespace = await world.createNamespace();
  tenant = world.clientAs(TENANT);
  await world.apply([
    ...grant(TENANT, []),
    ...grant(RELEASER, [
      {
        apiGroups: ['permissions.sdewan.akraino.org'],
        resources: ['buckettypes'],
        verbs: ['release'],
      },
    ]),
    made(firewallZone, { network: ['net0'] }),
    made(cnfStatusResource, {}),
    made(cnfDeploymentResource, {
      replicas: 0,
      selector: { matchLabels: { sdewanPurpose: 'rolled' } },
      template: {
        metadata: { labels: { sdewanPurpose: 'rolled' } },
        spec: { containers: [{ name: 'openwrt', image: 'none' }] },
      },
    }),
  ]);
});
afterAll(() => world.close());

const grant = (user: string, more: readonly object[]): object[] => {
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { name: user, namespace };
  const apiVersion = `${rbac}/v1`;
  return [
    {
      apiVersion,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: GROUPS, resources: ['*'], verbs: ['*'] }, ...more],
    },
    {
      apiVersion,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: user },
      subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
    },
  ];
};

const NAME = 'theirs';
const made = (
  { group, version, kind }: ResourceType<never> | ResourceType,
  spec: object,
): object => ({
  apiVersion: `${group}/${version}`,
  kind,
  metadata: { name: NAME, namespace, labels: { sdewanPurpose: 'cnf-1' } },
  spec,
});

const untyped = (resource: Omit<ResourceType, 'schema'>): ResourceType => ({
  ...resource,
  schema: objectSchema,
});
const lies: Record<string, { resource: ResourceType; status: object }> = {
  'that a rule is in force': { resource: untyped(firewallZone), status: { inSync: true } },
  'that a rule cut CNFs off': {
    resource: untyped(firewallZone),
    status: { lostConnectivity: { purpose: 'cnf-1', revision: 'x', message: 'x' } },
  },
  'that a CNF is well': {
    resource: untyped(cnfStatusResource),
    status: { pods: { up: 9, total: 9, summary: '9/9' } },
  },
  'that a roll-out is done': {
    resource: untyped(cnfDeploymentResource),
    status: { readyReplicas: 3 },
  },
};
const patches: Record<string, (of: ResourceType, status: object) => Patch> = {
  'a merge patch': (_of, status) => ({ type: 'merge', body: { status } }),
  'a JSON patch': (_of, status) => ({
    type: 'json',
    body: [{ op: 'add', path: '/status', value: status }],
  }),
  'a server-side apply': ({ group, version, kind }, status) => ({
    type: 'apply',
    body: {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name: NAME, namespace },
      status,
    },
  }),
};
const at = () => ({ namespace, name: NAME });
const REFUSED = 'status: the coordinator alone writes it';

describe.each([['with a coordinator'], ['without a coordinator']])('%s', (which) => {
  beforeAll(async () => {
    if (which === 'without a coordinator') await world.stopCoordinator();
  });

  describe.each(Object.entries(lies))('nobody else says %s', (_, { resource, status }) => {
    it.each(Object.entries(patches))('by %s', async (_way, patch) => {
      const before = await world.client.get(resource, at());
      await expect(
        tenant.patch(resource, at(), { patch: patch(resource, status), subresource: 'status' }),
      ).rejects.toThrow(REFUSED);
      const after = await world.client.get(resource, at());
      expect(after).not.toMatchObject({ status });
      expect(before).not.toMatchObject({ status });
    });
  });
});

describe('what stands beside it', () => {
  const attempt = async (client: KubeClient): Promise<string> =>
    client
      .patch(firewallZone, at(), {
        patch: { type: 'merge', body: { status: { message: 'repaired by hand' } } },
        subresource: 'status',
      })
      .then(
        () => 'done',
        (error: unknown) => (isConflict(error) ? attempt(client) : String(error)),
      );

  it('who may release rules, and an administrator, may repair a status', async () => {
    expect(await attempt(world.clientAs(RELEASER))).toBe('done');
    expect(await attempt(world.client)).toBe('done');
  });

  it('the spec of a rule is changed and a CNFDeployment scaled as before', async () => {
    const changed = { patch: { type: 'merge', body: { spec: { input: 'DROP' } } } } as const;
    expect(await tenant.patch(firewallZone, at(), changed)).toMatchObject({
      spec: { input: 'DROP' },
    });
    const scaled = { patch: { type: 'merge', body: { spec: { replicas: 1 } } } } as const;
    const scale = { ...untyped(cnfDeploymentResource), kind: 'Scale' };
    expect(await tenant.patch(scale, at(), { ...scaled, subresource: 'scale' })).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 1 },
    });
  });
});
