/**
 * Who may write the rules of a namespace, with all verbs and subresources, changes a rule that is being deleted, or lets it go before agents have
 * confirmed: after its deletion, and by taking the finalizer from it before. With a coordinator, and without.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Patch } from '#shared/kube/client.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { AGENTS_FINALIZER } from '#shared/names.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { rbacResources } from '../../coordinator/admission/buckets/bindings.ts';
import { createWorld, eventually, type World } from '../integration/admission/world.ts';

const RBAC = 'rbac.authorization.k8s.io';
const TENANT = 'tenant';
const RELEASER = 'releaser';

let world: World;
let namespace: string;
beforeAll(async () => {
  world = await createWorld();
  namespace = await world.createNamespace();
  const writes = { apiGroups: ['batch.sdewan.akraino.org'], resources: ['*'], verbs: ['*'] };
  const releases = {
    apiGroups: ['permissions.sdewan.akraino.org'],
    resources: ['buckettypes'],
    verbs: ['release'],
  };
  await grant(TENANT, [writes]);
  await grant(RELEASER, [writes, releases]);
});
afterAll(async () => {
  const { items } = await world.client.list(firewallZone, { namespace });
  for (const { metadata } of items)
    await world.client.patch(firewallZone, { namespace, name: metadata.name }, { patch: LET_GO });
  await world.close();
});

const grant = async (user: string, rules: object[]): Promise<void> => {
  const metadata = { name: user, namespace };
  const role = { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata, rules };
  await world.client.create(rbacResources.roles, role);
  await world.client.create(rbacResources.roleBindings, {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: RBAC, kind: 'Role', name: user },
    subjects: [{ apiGroup: RBAC, kind: 'User', name: user }],
  });
};

const LET_GO: Patch = { type: 'merge', body: { metadata: { finalizers: null } } };

/** Held by agents that never confirm: the CNF has no pods, and no status says so while nobody runs it. */
const held = async (name: string): Promise<RuleObject> => {
  // The second one keeps it there when a coordinator finds that no pod has to confirm.
  const finalizers = [AGENTS_FINALIZER, 'example.org/of-the-test'];
  return world.client.create(firewallZone, {
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'FirewallZone',
    metadata: { name, namespace, labels: { sdewanPurpose: 'cnf-1' }, finalizers },
    spec: { network: ['ovn-net1'], input: 'DROP' },
  });
};
const deleted = async (name: string): Promise<void> => {
  await held(name);
  await world.client.delete(firewallZone, { namespace, name });
};
const finalizersOf = async (name: string): Promise<readonly string[]> => {
  const { metadata } = await world.client.get(firewallZone, { namespace, name });
  return metadata.finalizers ?? [];
};

const tried = (user: string, name: string, patch: Patch, subresource?: string): Promise<string> =>
  world
    .clientAs(user)
    .patch(firewallZone, { namespace, name }, { patch, subresource })
    .then(() => 'done', String);

type Way = { patch: Patch; subresource?: string };
const changes: Record<string, Way> = {
  'its spec, by a merge patch': { patch: { type: 'merge', body: { spec: { input: 'ACCEPT' } } } },
  'its spec, by a JSON patch': {
    patch: { type: 'json', body: [{ op: 'replace', path: '/spec/input', value: 'ACCEPT' }] },
  },
  'its spec, by server-side apply': {
    patch: { type: 'apply', body: { spec: { input: 'ACCEPT' } } },
  },
  'its purpose': {
    patch: { type: 'merge', body: { metadata: { labels: { sdewanPurpose: 'x' } } } },
  },
  'its bucket': {
    patch: { type: 'merge', body: { metadata: { labels: { 'sdewan-bucket-type': 'basic' } } } },
  },
  'its order': {
    patch: {
      type: 'merge',
      body: { metadata: { annotations: { 'sdewan.akraino.org/order': '9' } } },
    },
  },
};
const ways: Record<string, Way> = {
  'by a merge patch': { patch: LET_GO },
  'by a JSON patch': {
    patch: { type: 'json', body: [{ op: 'remove', path: '/metadata/finalizers' }] },
  },
  'with a change of something else': {
    patch: {
      type: 'merge',
      body: { metadata: { finalizers: ['example.org/of-the-test'], annotations: { a: 'b' } } },
    },
  },
  'under the name of the status': { patch: LET_GO, subresource: 'status' },
};

/** Under the name of the status there is a policy of its own. */
const answerTo = ({ subresource }: Way): string =>
  subresource === undefined
    ? 'who removes it before needs the right to verb release'
    : 'status: the coordinator alone writes it';

/** A server-side apply names the object. */
const whole = (name: string, { patch, subresource }: Way): [Patch, string | undefined] => [
  patch.type === 'apply'
    ? {
        type: 'apply',
        body: {
          apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
          kind: 'FirewallZone',
          metadata: { name, namespace },
          ...patch.body,
        },
      }
    : patch,
  subresource,
];

let made = 0;
const newName = (): string => `z${(made += 1)}`;

describe.each([['with a coordinator'], ['without a coordinator']])('%s', (with_) => {
  beforeAll(async () => {
    if (with_ === 'without a coordinator') await world.stopCoordinator();
  });

  it.each(Object.entries(changes))('a rule that is being deleted keeps %s', async (_, way) => {
    const name = newName();
    await deleted(name);
    for (const user of [TENANT, RELEASER])
      expect(await tried(user, name, ...whole(name, way))).toContain(
        'cannot be changed while the rule is being deleted',
      );
    const { spec, metadata } = await world.client.get(firewallZone, { namespace, name });
    expect({ spec, labels: metadata.labels }).toEqual({
      spec: { network: ['ovn-net1'], input: 'DROP' },
      labels: { sdewanPurpose: 'cnf-1' },
    });
  });
});

describe('without a coordinator', () => {
  it.each(Object.entries(ways))('a deleted rule is not let go %s', async (_, way) => {
    const name = newName();
    await deleted(name);
    const said = await tried(TENANT, name, ...whole(name, way));
    expect(await finalizersOf(name)).toContain(AGENTS_FINALIZER);
    expect(said).toContain(answerTo(way));
  });

  it.each(Object.entries(ways))(
    'nor by taking its finalizer before its deletion %s',
    async (_, way) => {
      const name = newName();
      await held(name);
      const said = await tried(TENANT, name, ...whole(name, way));
      expect(await finalizersOf(name)).toContain(AGENTS_FINALIZER);
      expect(said).toContain(answerTo(way));
    },
  );

  it('who may release lets it go', async () => {
    const name = newName();
    await deleted(name);
    expect(await tried(RELEASER, name, LET_GO)).toBe('done');
  });
});

it('with a coordinator, a change that would lose the finalizer keeps it, such as kubectl replace', async () => {
  await world.startCoordinator();
  const name = newName();
  await held(name);
  const tenant = world.clientAs(TENANT);
  const replaced = async (): Promise<string> => {
    const { metadata, ...rest } = await world.client.get(firewallZone, { namespace, name });
    const { finalizers: _lost, ...kept } = metadata;
    const changed = { ...rest, metadata: kept, spec: { network: ['ovn-net1'], input: 'ACCEPT' } };
    // The coordinator may have written a status meanwhile.
    return tenant.replace(firewallZone, changed).then(() => 'replaced', String);
  };
  await eventually(replaced).toBe('replaced');
  expect(await finalizersOf(name)).toContain(AGENTS_FINALIZER);
});
