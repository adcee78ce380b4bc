/**
 * Twenty tenants who each have as many NetworkPolicies, selectors and blocks as a namespace may
 * have, and one CNF that enforces all of them. The coordinator stays within the memory of its
 * Deployment, and another namespace is served.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { MAX_SELECTORS } from '#shared/policy/bounds.ts';
import { policyEnforcementResource } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { POLICIES_OF_A_NAMESPACE } from '../../../coordinator/controllers/network-policy/policy-shares.ts';
import type { Fixture } from '../../integration/admission/fixture.ts';
import { createLimitedCoordinator, peakOnceItServes } from '../limited-coordinator.ts';
import { makeMany } from '../many.ts';

/** As many as the bounds are for; by day a part of them. */
const NAMESPACES = Number(process.env['SDEWAN_ATTACK_NAMESPACES'] ?? 4);
const POLICIES = 40;
const BLOCKS = 950;
/**
 * All of them are 16 MB: who lists them without pause takes the API server from those that write
 * them.
 */
const LOOK_MS = 2_000;

const networkPolicies: ResourceType = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'networkpolicies',
  kind: 'NetworkPolicy',
  schema: objectSchema,
};

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createLimitedCoordinator();
});
afterAll(() => fixture.close());

const policyOf = (namespace: string, name: string) => {
  const selectors = Array.from({ length: MAX_SELECTORS / POLICIES }, (_, at) => ({
    podSelector: { matchLabels: { is: `${name}-${at}` } },
  }));
  const blocks = Array.from({ length: BLOCKS }, (_, at) => ({
    ipBlock: { cidr: `2001:db8:${at.toString(16)}:ffff:ffff::/80` },
  }));
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { namespace, name },
    spec: { podSelector: {}, ingress: [{ from: [...selectors, ...blocks] }] },
  };
};

it(`${NAMESPACES} namespaces at the bounds of policies leave the coordinator its memory, and are carried`, async () => {
  const edge = await fixture.createNamespace();
  const labels = { sdewanPurpose: 'cnf-1' };
  const annotations = { 'sdewan.akraino.org/policy-networks': 'cluster' };
  const { stderr } = await fixture.apply([
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'cnf-1', namespace: edge },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'cnf-1', namespace: edge, labels },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels, annotations },
          spec: {
            schedulerName: 'none',
            serviceAccountName: 'cnf-1',
            containers: [{ name: 'openwrt', image: 'none' }],
          },
        },
      },
    },
  ]);
  expect(stderr).toBe('');
  const tenants = await makeMany(NAMESPACES, () => fixture.createNamespace());
  const [first = ''] = tenants;
  expect(POLICIES * JSON.stringify(policyOf(first, 'p').spec).length).toBeGreaterThan(
    0.9 * POLICIES_OF_A_NAMESPACE,
  );
  const all = tenants.flatMap((namespace) =>
    Array.from({ length: POLICIES }, (_, at) => policyOf(namespace, `p-${at}`)),
  );
  await makeMany(all.length, async (at) => {
    const one = all[at];
    if (one) await fixture.client.create(networkPolicies, one);
  });
  const { list } = fixture.client;
  const carried = async (): Promise<number> =>
    (await list(policyEnforcementResource, { namespace: edge, pageSize: 50 })).items.length;
  await expect.poll(carried, { interval: LOOK_MS }).toBeGreaterThan(0.9 * all.length);
  const peak = await peakOnceItServes(fixture);
  console.log(`${all.length} policies of ${NAMESPACES} namespaces: ${peak.toFixed(0)} MiB at most`);
  await fixture.stopCoordinator();
  await fixture.startCoordinator();
  console.log(`at the start of a coordinator: ${(await peakOnceItServes(fixture)).toFixed(0)} MiB`);
});
