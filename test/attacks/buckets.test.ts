/**
 * A user with the right to write Roles and RoleBindings of a namespace tries to grant himself a
 * bucket type, in each way that there is.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { rbacResources } from '../../coordinator/admission/buckets/bindings.ts';
import { createFixture, type Fixture } from '../integration/admission/fixture.ts';

const MALLORY = 'mallory';
const RBAC = 'rbac.authorization.k8s.io';
const LISTS = { 'sdewan-bucket-type-permission': '{"*": ["*"]}' };

let fixture: Fixture;
let mallory: KubeClient;
beforeAll(async () => {
  fixture = await createFixture();
  mallory = fixture.clientAs(MALLORY);
  await fixture.client.create(rbacResources.clusterRoles, {
    ...object('ClusterRole', clusterRole('annotated'), undefined, { annotations: LISTS }),
    rules: [],
  });
  await fixture.client.create(rbacResources.clusterRoles, {
    ...object('ClusterRole', clusterRole('uses')),
    rules: [use()],
  });
});
afterAll(async () => {
  for (const name of ['annotated', 'uses'])
    await fixture.kubectl('delete', 'clusterrole', clusterRole(name));
  await fixture.close();
});

const clusterRole = (name: string): string => `${name}-${fixture.systemNamespace}`;

const object = (kind: string, name: string, namespace?: string, metadata: object = {}) => ({
  apiVersion: `${RBAC}/v1`,
  kind,
  metadata: { name, ...(namespace !== undefined && { namespace }), ...metadata },
});
const use = (changes: object = {}) => ({
  apiGroups: ['permissions.sdewan.akraino.org'],
  resources: ['buckettypes'],
  verbs: ['use'],
  ...changes,
});
const WRITES_RULES = { apiGroups: ['batch.sdewan.akraino.org'], resources: ['*'], verbs: ['*'] };

type Rule = Record<string, unknown>;
const writeRole = (
  client: KubeClient,
  namespace: string,
  name: string,
  { annotations = {}, rules = [] }: { annotations?: object; rules?: readonly Rule[] },
): Promise<unknown> =>
  client.create(rbacResources.roles, {
    ...object('Role', name, namespace, { annotations }),
    rules,
  });
const bind = (
  client: KubeClient,
  namespace: string,
  name: string,
  kind: 'Role' | 'ClusterRole' = 'Role',
): Promise<unknown> =>
  client.create(rbacResources.roleBindings, {
    ...object('RoleBinding', name, namespace),
    roleRef: { apiGroup: RBAC, kind, name },
    subjects: [{ apiGroup: RBAC, kind: 'User', name: MALLORY }],
  });

/** A namespace of its own for each way. There mallory writes rules, Roles and RoleBindings. */
const newPlace = async (): Promise<string> => {
  const namespace = await fixture.createNamespace();
  const writesRoles = {
    apiGroups: [RBAC],
    resources: ['roles', 'rolebindings'],
    verbs: ['get', 'list', 'create', 'update', 'patch'],
  };
  await writeRole(fixture.client, namespace, 'admin', { rules: [WRITES_RULES, writesRoles] });
  await bind(fixture.client, namespace, 'admin');
  await vi.waitFor(() => mallory.list(rbacResources.roles, { namespace }), 300_000);
  return namespace;
};

let zones = 0;
const createZone = (client: KubeClient, namespace: string, type = 'basic'): Promise<unknown> =>
  client.create(firewallZone, {
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'FirewallZone',
    metadata: {
      name: `zone${(zones += 1)}`,
      namespace,
      labels: { sdewanPurpose: 'cnf-1', 'sdewan-bucket-type': type },
    },
    spec: { network: ['net0'] },
  });

const FORBIDDEN_BY_RBAC = /attempting to grant RBAC permissions not currently held/;
const FORBIDDEN_BY_POLICY = /bucket type basic: needs verb use on buckettypes/;
const FORBIDDEN_BY_WEBHOOK = /BucketForbidden/;

/** What is tried, and who refuses what comes of it. */
type Way = {
  /** What is there before, or what he may do. */
  given?: (namespace: string) => Promise<unknown>;
  /** Default: he creates a rule of the type. */
  attempt?: (namespace: string) => Promise<unknown>;
  by: RegExp;
};
const ways: Record<string, Way> = {
  'by an annotation on a Role without rules': {
    given: async (namespace) => {
      await writeRole(mallory, namespace, 'mine', { annotations: LISTS });
      await bind(mallory, namespace, 'mine');
    },
    by: FORBIDDEN_BY_POLICY,
  },
  'by an annotation on the Role that is bound already': {
    given: async (namespace) => {
      const body = { metadata: { annotations: LISTS } };
      const at = { namespace, name: 'admin' };
      await mallory.patch(rbacResources.roles, at, { patch: { type: 'merge', body } });
    },
    by: FORBIDDEN_BY_POLICY,
  },
  'by binding a ClusterRole that has the annotation and no rules': {
    given: async (namespace) => {
      await bind(mallory, namespace, clusterRole('annotated'), 'ClusterRole');
    },
    by: FORBIDDEN_BY_POLICY,
  },
  'by a Role with the rule': {
    attempt: (namespace) =>
      writeRole(mallory, namespace, 'mine', { annotations: LISTS, rules: [use()] }),
    by: FORBIDDEN_BY_RBAC,
  },
  'by a Role with all rules': {
    attempt: (namespace) =>
      writeRole(mallory, namespace, 'mine', {
        annotations: LISTS,
        rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
      }),
    by: FORBIDDEN_BY_RBAC,
  },
  'by binding a ClusterRole that has the rule': {
    attempt: (namespace) => bind(mallory, namespace, clusterRole('uses'), 'ClusterRole'),
    by: FORBIDDEN_BY_RBAC,
  },
  'by an annotation on a Role that has the rule': {
    given: (namespace) => writeRole(fixture.client, namespace, 'theirs', { rules: [use()] }),
    attempt: (namespace) => {
      const body = { metadata: { annotations: LISTS } };
      const at = { namespace, name: 'theirs' };
      return mallory.patch(rbacResources.roles, at, { patch: { type: 'merge', body } });
    },
    by: FORBIDDEN_BY_RBAC,
  },
  'by an annotation of his own beside a rule for it that he has': {
    given: async (namespace) => {
      await writeRole(fixture.client, namespace, 'theirs', { rules: [use()] });
      await bind(fixture.client, namespace, 'theirs');
      await writeRole(mallory, namespace, 'mine', { annotations: LISTS });
      await bind(mallory, namespace, 'mine');
    },
    by: FORBIDDEN_BY_WEBHOOK,
  },
  'with the right to another type': {
    given: async (namespace) => {
      const rules = [use({ resourceNames: ['app-intent'] })];
      await writeRole(fixture.client, namespace, 'theirs', { annotations: LISTS, rules });
      await bind(fixture.client, namespace, 'theirs');
    },
    by: FORBIDDEN_BY_POLICY,
  },
  'with the right to another kind': {
    given: async (namespace) => {
      const rules = [use({ resources: ['buckettypes/mwan3rules'] })];
      await writeRole(fixture.client, namespace, 'theirs', { annotations: LISTS, rules });
      await bind(fixture.client, namespace, 'theirs');
    },
    by: FORBIDDEN_BY_POLICY,
  },
};

it.concurrent.each(Object.entries(ways))('%s he gets none', async (_, way) => {
  const namespace = await newPlace();
  await way.given?.(namespace);
  const attempt = way.attempt ?? ((where) => createZone(mallory, where));
  // The API server's own authorizer may not know of a new role yet.
  await vi.waitFor(
    async () => expect(await refusalOf(attempt(namespace))).toMatch(way.by),
    300_000,
  );
});

it.concurrent.each<[string, object]>([
  ['for all kinds', {}],
  [
    'for the kind and the type',
    { resources: ['buckettypes/firewallzones'], resourceNames: ['basic'] },
  ],
])('lets a role with the annotation and the rule %s grant the type', async (_, changes) => {
  const namespace = await newPlace();
  await writeRole(fixture.client, namespace, 'editor', {
    annotations: LISTS,
    rules: [use(changes)],
  });
  await bind(fixture.client, namespace, 'editor');
  const created = await vi.waitFor(() => createZone(mallory, namespace), 300_000);
  expect(created).toMatchObject({ kind: 'FirewallZone' });
});

const refusalOf = async (attempt: Promise<unknown>): Promise<string> => {
  try {
    await attempt;
    return 'not refused';
  } catch (error) {
    return String(error);
  }
};
