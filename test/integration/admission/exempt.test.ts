/**
 * Users who clean up are never blocked by the webhooks: neither by a coordinator that would refuse,
 * nor by a missing one.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { firewallRule } from '#shared/resources/rules/firewall-rule.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { createFixture, type Fixture } from './fixture.ts';
import { eventually } from '../support/eventually.ts';

/**
 * The coordinator is exempt, too, and a policy lets it delete what it made itself:
 * test/e2e/policies.test.ts.
 */
const EXEMPT = [
  'system:serviceaccount:kube-system:namespace-controller',
  'system:serviceaccount:kube-system:generic-garbage-collector',
  'system:kube-controller-manager',
] as const;

/** Has every right that RBAC can give, which buckets restrict nevertheless. */
const OPERATORS = 'operators-of-the-exempt-test';
const MASTERS = 'system:masters';

let fixture: Fixture;
let namespace: string;
beforeAll(async () => {
  fixture = await createFixture();
  namespace = await fixture.createNamespace();
  const rights = ['--clusterrole=cluster-admin', `--group=${OPERATORS}`];
  await fixture.kubectl('create', 'clusterrolebinding', OPERATORS, ...rights);
});
afterAll(async () => {
  await fixture.kubectl('delete', 'clusterrolebinding', OPERATORS);
  await fixture.close();
});

/**
 * A zone of a bucket, which only deletions by exempt users pass when rights cannot be asked for,
 * and a rule that uses it.
 */
const createUsedZone = async (name: string): Promise<void> => {
  const labels = { sdewanPurpose: 'cnf-1', 'sdewan-bucket-type': 'basic' };
  const common = { apiVersion: 'batch.sdewan.akraino.org/v1alpha1' };
  const metadata = { name, namespace, labels };
  const zone = { ...common, kind: 'FirewallZone', metadata, spec: { network: ['a'] } };
  await fixture.client.create(firewallZone, zone);
  const spec = { src: name, target: 'REJECT' };
  await fixture.client.create(firewallRule, { ...common, kind: 'FirewallRule', metadata, spec });
};

const deletedBy = (user: string, name: string, group = OPERATORS): Promise<string> =>
  fixture
    .clientAs(user, [group])
    .delete(firewallZone, { namespace, name })
    .then(() => 'deleted', String);

describe('a zone that is used', () => {
  it.each(EXEMPT)('is kept for anna, and deleted for %s', async (user) => {
    const name = `a${EXEMPT.indexOf(user)}`;
    await createUsedZone(name);
    // The coordinator knows from its watch who uses a zone; a status says that the rule has come
    // in.
    await eventually(() => fixture.client.get(firewallRule, { namespace, name })).toHaveProperty(
      'status',
    );
    // Before it denies, the coordinator asks the API server, and lets pass what is not answered in
    // time.
    const asAnna = ['--as=anna', `--as-group=${MASTERS}`, '--dry-run=server'];
    const remove = ['delete', 'firewallzone', name, '-n', namespace, ...asAnna];
    await eventually(async () => (await fixture.kubectl(...remove)).stderr).toContain(
      `used by FirewallRule ${name}`,
    );
    expect(await deletedBy(user, name)).toBe('deleted');
  });
});

describe('without a coordinator', () => {
  beforeAll(async () => {
    for (const [index] of EXEMPT.entries()) await createUsedZone(`b${index}`);
    await createUsedZone('c0');
    await fixture.stopCoordinator();
  });

  it.each(EXEMPT)('keeps a zone of a bucket for anna, and deletes it for %s', async (user) => {
    const name = `b${EXEMPT.indexOf(user)}`;
    expect(await deletedBy('anna', name)).toContain('failed calling webhook');
    expect(await deletedBy(user, name)).toBe('deleted');
  });

  it('changes and deletes a zone of a bucket for system:masters, which may do everything', async () => {
    const body = { spec: { network: ['b'] } };
    const change = (group: string) =>
      fixture
        .clientAs('bert', [group])
        .patch(firewallZone, { namespace, name: 'c0' }, { patch: { type: 'merge', body } })
        .then(() => 'changed', String);
    expect(await change(OPERATORS)).toContain('failed calling webhook');
    expect(await change(MASTERS)).toBe('changed');
    expect(await deletedBy('bert', 'c0', MASTERS)).toBe('deleted');
  });
});
