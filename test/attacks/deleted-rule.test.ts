/**
 * A user with the right to write the rules of a namespace, with all verbs and subresources, takes
 * the finalizer from a rule before its deletion, so that it would go before agents have confirmed.
 * What is tried on a rule that is being deleted: `test/e2e/policy-cases.ts`.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AGENTS_FINALIZER } from '#shared/names.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { rbacResources } from '../../coordinator/admission/buckets/bindings.ts';
import { createFixture, type Fixture } from '../integration/admission/fixture.ts';
import { eventually } from '../integration/support/eventually.ts';

const RBAC = 'rbac.authorization.k8s.io';
const TENANT = 'tenant';
const LET_GO = { type: 'merge', body: { metadata: { finalizers: null } } } as const;
const name = 'held';

let fixture: Fixture;
let namespace: string;
beforeAll(async () => {
  fixture = await createFixture();
  namespace = await fixture.createNamespace();
  const metadata = { name: TENANT, namespace };
  await fixture.client.create(rbacResources.roles, {
    apiVersion: `${RBAC}/v1`,
    kind: 'Role',
    metadata,
    rules: [{ apiGroups: ['batch.sdewan.akraino.org'], resources: ['*'], verbs: ['*'] }],
  });
  await fixture.client.create(rbacResources.roleBindings, {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: RBAC, kind: 'Role', name: TENANT },
    subjects: [{ apiGroup: RBAC, kind: 'User', name: TENANT }],
  });
  await fixture.client.create(firewallZone, {
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'FirewallZone',
    metadata: { name, namespace, labels: { sdewanPurpose: 'cnf-1' } },
    spec: { network: ['ovn-net1'], input: 'DROP' },
  });
});
afterAll(async () => {
  await fixture.client.patch(firewallZone, { namespace, name }, { patch: LET_GO });
  await fixture.close();
});

const finalizers = async (): Promise<readonly string[] | undefined> =>
  (await fixture.client.get(firewallZone, { namespace, name })).metadata.finalizers;

it('keeps the finalizer with a coordinator in a change that would lose it, such as kubectl replace', async () => {
  const tenant = fixture.clientAs(TENANT);
  const replaced = async (): Promise<string> => {
    const { metadata, ...rest } = await fixture.client.get(firewallZone, { namespace, name });
    const { finalizers: _lost, ...kept } = metadata;
    const changed = { ...rest, metadata: kept, spec: { network: ['ovn-net1'], input: 'ACCEPT' } };
    // The coordinator may have written a status meanwhile.
    return tenant.replace(firewallZone, changed).then(() => 'replaced', String);
  };
  await eventually(replaced).toBe('replaced');
  expect(await finalizers()).toContain(AGENTS_FINALIZER);
});

it.each([
  ['the rule', undefined, 'who removes it before needs the right to verb release'],
  ['its status', 'status', 'status: the coordinator alone writes it'],
])('keeps it without a coordinator through a patch of %s', async (_, subresource, words) => {
  await fixture.stopCoordinator();
  const tenant = fixture.clientAs(TENANT);
  const patched = tenant.patch(firewallZone, { namespace, name }, { patch: LET_GO, subresource });
  await expect(patched).rejects.toThrow(words);
  expect(await finalizers()).toContain(AGENTS_FINALIZER);
});
