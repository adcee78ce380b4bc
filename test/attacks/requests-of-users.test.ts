/**
 * A user with the right to annotate CNFs asks for what another one is to have asked for, and for
 * what is not to be asked for; another one has no right to ask.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { objectSchema } from '#shared/kube/objects.ts';
import { MANAGED_BY } from '#shared/names.ts';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { cnfSetResource } from '#shared/resources/other-kinds/cnf-set.ts';
import { cnfResource } from '#shared/resources/other-kinds/cnf.ts';
import { rbacResources } from '../../coordinator/admission/buckets/bindings.ts';
import { createFixture, type Fixture } from '../integration/admission/fixture.ts';

const FLEET = 'fleet.sdewan.akraino.org';
const RESTART = `${FLEET}/restart-service`;
const ROLL = `${FLEET}/roll-set`;
const RBAC = 'rbac.authorization.k8s.io';
const any = { group: FLEET, version: 'v1alpha1', schema: objectSchema };
const KINDS = {
  cnf: { ...any, plural: 'cnfs', kind: 'CNF' },
  cnfset: { ...any, plural: 'cnfsets', kind: 'CNFSet' },
};
const pods = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', schema: objectSchema };

let fixture: Fixture;
let namespace: string;
let clients: Record<'alice' | 'mallory' | 'stranger', KubeClient>;
beforeAll(async () => {
  fixture = await createFixture();
  namespace = await fixture.createNamespace();
  const as = (name: string) => fixture.clientAs(name);
  clients = { alice: as('alice'), mallory: as('mallory'), stranger: as('stranger') };
  const coordinator = as(`system:serviceaccount:${fixture.systemNamespace}:sdewan-coordinator`);
  const metadata = { name: 'asks', namespace };
  await fixture.client.create(rbacResources.roles, {
    apiVersion: `${RBAC}/v1`,
    kind: 'Role',
    metadata,
    rules: [{ apiGroups: [FLEET], resources: ['cnfs', 'cnfsets'], verbs: ['get', 'patch'] }],
  });
  await fixture.client.create(rbacResources.roleBindings, {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: RBAC, kind: 'Role', name: 'asks' },
    subjects: ['alice', 'mallory'].map((name) => ({ apiGroup: RBAC, kind: 'User', name })),
  });
  // The coordinator has no right to roll it, and leaves what there is as it is.
  const labels = { sdewanPurpose: 'cnf-1' };
  await fixture.client.create(cnfDeploymentResource, {
    apiVersion: `${FLEET}/v1alpha1`,
    kind: 'CNFDeployment',
    metadata: { name: 'cnf-1', namespace },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: {} } },
  });
  const pod = await fixture.client.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'cnf-1', namespace },
    spec: { containers: [{ name: 'openwrt', image: 'openwrt' }] },
  });
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'cnf-1', uid: pod.metadata.uid };
  const made = { name: 'cnf-1', namespace, labels: { ...MANAGED_BY, ...labels } };
  const spec = { deployment: 'cnf-1', templateHash: 'a' };
  await coordinator.create(cnfResource, {
    apiVersion: `${FLEET}/v1alpha1`,
    kind: 'CNF',
    metadata: { ...made, ownerReferences: [owner] },
    spec,
  });
  await coordinator.create(cnfSetResource, {
    apiVersion: `${FLEET}/v1alpha1`,
    kind: 'CNFSet',
    metadata: made,
    spec: { ...spec, revision: 1 },
  });
  // Webhooks and policies are in force some moments after they were applied.
  const isInForce = async (): Promise<void> => {
    const answer = await annotate('alice', { [RESTART]: 'firewall' });
    await annotate('alice', { [RESTART]: null });
    if (!JSON.stringify(answer).includes(`${RESTART}-asked`)) throw new Error(String(answer));
  };
  await vi.waitFor(isInForce, { timeout: 30_000 });
});
afterAll(() => fixture.close());

/** Gives the annotations then, or why not. */
const annotate = async (
  user: keyof typeof clients,
  annotations: Record<string, string | null>,
  kind: keyof typeof KINDS = 'cnf',
): Promise<unknown> => {
  const patch = { type: 'merge', body: { metadata: { annotations } } } as const;
  try {
    const at = { namespace, name: 'cnf-1' };
    const { metadata } = await clients[user].patch(KINDS[kind], at, { patch });
    return metadata.annotations ?? {};
  } catch (error) {
    return String(error);
  }
};
const asked = (annotation: string, by: string) => ({
  [`${annotation}-asked`]: expect.stringMatching(new RegExp(`^[0-9a-f-]{36} ${by}$`)),
});
const FORGED = { [`${RESTART}-asked`]: 'id-1 alice' };
const ALONE = expect.stringContaining('admission alone writes who asks');

it('is named as the one who asks, whatever he writes beside it', async () => {
  const request = { [RESTART]: 'firewall', ...FORGED };
  expect(await annotate('mallory', request)).toMatchObject(asked(RESTART, 'mallory'));
  expect(await annotate('mallory', { [RESTART]: null })).toEqual({});
  for (const kind of ['cnf', 'cnfset'] as const) {
    expect(await annotate('alice', { [ROLL]: '1' }, kind)).toMatchObject(asked(ROLL, 'alice'));
    expect(await annotate('mallory', { [ROLL]: '2' }, kind)).toMatchObject(asked(ROLL, 'mallory'));
    expect(await annotate('mallory', { [ROLL]: null }, kind)).toEqual({});
  }
});

it('does not write beside what another one has asked for, nor without a request', async () => {
  expect(await annotate('mallory', FORGED)).toEqual(ALONE);
  await annotate('alice', { [RESTART]: 'firewall' });
  expect(await annotate('mallory', { [`${RESTART}-asked`]: 'id-1 mallory' })).toEqual(ALONE);
  expect(await annotate('mallory', { [`${RESTART}-asked`]: null })).toEqual(ALONE);
  // Another annotation, and so another one who asks, leaves the first as it is.
  expect(await annotate('mallory', { [ROLL]: '1' })).toMatchObject({
    ...asked(RESTART, 'alice'),
    ...asked(ROLL, 'mallory'),
  });
  expect(await annotate('alice', { [RESTART]: null, [ROLL]: null })).toEqual({});
});

it.each(['network', 'firewall; reboot', '../firewall', ''])(
  'has no service %j restarted',
  async (service) => {
    expect(await annotate('mallory', { [RESTART]: service })).toEqual(
      expect.stringContaining(`${RESTART}: of a CNF, one of firewall`),
    );
  },
);

it('has no service of a set restarted', async () => {
  expect(await annotate('mallory', { [RESTART]: 'firewall' }, 'cnfset')).toEqual(
    expect.stringContaining('of a CNF, one of firewall'),
  );
});

it('asks for nothing without the right to patch CNFs', async () => {
  expect(await annotate('stranger', { [RESTART]: 'firewall' })).toEqual(
    expect.stringContaining('cannot patch resource "cnfs"'),
  );
});

it('asks for nothing while no coordinator could say who it was', async () => {
  await fixture.stopCoordinator();
  expect(await annotate('mallory', { [RESTART]: 'firewall', ...FORGED })).toEqual(
    expect.stringContaining('requests.sdewan.akraino.org'),
  );
  expect(await annotate('mallory', { other: 'x' })).toEqual({ other: 'x' });
});
