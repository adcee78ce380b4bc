/**
 * Twenty tenants at once at what bounds a namespace: policies of as many characters and selectors
 * as are carried, and reports of pods as large as they are taken, with texts that take two bytes a
 * character. The coordinator stays within the memory of its Deployment, and serves the next
 * namespace. Before, reports alone could come to 400 MiB (calculated).
 */
import { connectCluster } from 'kind-test-harness';
import { Agent } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { MAX_SELECTORS } from '#shared/policy/bounds.ts';
import { REPORT_VERSION } from '#shared/protocol/report.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { policyEnforcementResource } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { workloadResources } from '../../../coordinator/sources/workload.ts';
import { post } from '../../integration/coordinator/agent.ts';
import { createRunningPod, tokenFor } from '../../integration/coordinator/pods.ts';
import { createFixture, type Fixture } from '../../integration/coordinator/fixture.ts';
import { eventually, pause } from '../../integration/support/eventually.ts';
import { createControlGroup, nodeOptions, type ControlGroup } from '../control-group.ts';
import { zoneWith } from '../largest.ts';
import { installed, SYSTEM_NAMESPACE, type Manifest } from '../../stack/installation.ts';
import { makeMany } from '../many.ts';
import { memoryOf } from '../memory.ts';

/** As many as the bounds are for; by day a part of them. */
const NAMESPACES = Number(process.env['SDEWAN_ATTACK_NAMESPACES'] ?? 4);
const POLICIES = 20;
const BLOCKS = 950;
/** A namespace has so many; each pod says 1,536 characters about each rule. */
const RULES = 300;
const PODS = 8;
const ADMISSION_ROLE = 'sdewan-coordinator-admission';
/** No more than a share of all reports, where there are twenty others. */
const FEW = 3;
const MESSAGE = 'Ā'.repeat(1_024);

const networkPolicies: ResourceType = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'networkpolicies',
  kind: 'NetworkPolicy',
  schema: objectSchema,
};

let fixture: Fixture;
let group: ControlGroup | undefined;
const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
beforeAll(async () => {
  group = await createControlGroup();
  const env = { SDEWAN_WATCH_NAMESPACE: '', NODE_OPTIONS: await nodeOptions() };
  const grants = await rightsOnWorkloads();
  fixture = await createFixture({ group, env, grants, silentAfterMs: 3_600_000 });
});
afterAll(async () => {
  await dispatcher.close();
  await fixture.close();
  await group?.end();
});

/** Which CNFs enforce policies is read from their workloads. */
const rightsOnWorkloads = async (): Promise<Manifest[]> => {
  const role = await installed(await connectCluster(), 'ClusterRole', ADMISSION_ROLE);
  return [
    role,
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: `${SYSTEM_NAMESPACE}-admission` },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: ADMISSION_ROLE,
      },
      subjects: [
        { kind: 'ServiceAccount', name: 'sdewan-coordinator', namespace: SYSTEM_NAMESPACE },
      ],
    },
  ];
};

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

const reportOf = (rules: readonly { uid: string; name: string }[]): string =>
  JSON.stringify({
    version: REPORT_VERSION,
    clock: { startedAt: Date.now(), sentAt: Date.now() },
    doubt: '',
    fleet: {},
    bootId: 'boot-of-a-tenant',
    sequence: 1,
    page: 0,
    pages: 1,
    purpose: 'cnf-1',
    openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
    unwatchedKinds: [],
    rules: rules.map((each) => ({
      ...each,
      kind: 'FirewallZone',
      generation: 1,
      revision: 'r',
      state: 'Failed',
      reason: 'Refused',
      message: MESSAGE,
      tunnelsDown: MESSAGE.slice(0, 512),
    })),
  });

/** How many of its reports were taken. */
const report = async (namespace: string, pods: number): Promise<number> => {
  const zones = await makeMany(RULES, (at) =>
    fixture.client.create(firewallZone, zoneWith(0)(namespace, `z-${at}`)),
  );
  const rules = zones.map(({ metadata: { uid, name } }) => ({ uid, name }));
  const statuses = await makeMany(pods, async (at) => {
    const pod = `cnf-${at}`;
    const token = await tokenFor(
      fixture,
      await createRunningPod(fixture, { name: pod, namespace }),
    );
    const body = reportOf(rules);
    // A pod that is not known yet is refused before its report is read.
    for (;;) {
      const sent = post(fixture, dispatcher, { namespace, pod, token, body });
      const status = await sent.then((answer) => answer.status).catch(() => 0);
      if (status === 200 || status === 413 || status === 429) return status;
      await pause(200);
    }
  });
  return statuses.filter((status) => status === 200).length;
};

it(`${NAMESPACES} namespaces at their bounds leave the coordinator its memory, and the next one is served`, async () => {
  const { now } = memoryOf(fixture.coordinator.pid);
  let taken = 0;
  for (let tenant = 0; tenant < NAMESPACES; tenant += 1) {
    const namespace = await fixture.cluster.createNamespace('tenant');
    await makeMany(POLICIES, (at) =>
      fixture.client.create(networkPolicies, policyOf(namespace, `p-${at}`)),
    );
    taken += await report(namespace, PODS);
  }
  const edge = await fixture.cluster.createNamespace('edge');
  const labels = { sdewanPurpose: 'cnf-1' };
  const annotations = { 'sdewan.akraino.org/policy-networks': 'cluster' };
  const [deployments] = workloadResources;
  if (!deployments) throw new Error('there is no resource of Deployments');
  await fixture.client.create(deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'cnf-1', namespace: edge, labels },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations },
        spec: {
          schedulerName: 'none',
          initContainers: [
            {
              name: 'sdewan-agent',
              image: 'none',
              restartPolicy: 'Always',
              env: [{ name: 'SDEWAN_PURPOSE', value: 'cnf-1' }],
            },
          ],
          containers: [{ name: 'openwrt', image: 'none' }],
        },
      },
    },
  });
  const { list } = fixture.client;
  const carried = async (): Promise<number> =>
    (await list(policyEnforcementResource, { namespace: edge, pageSize: 50 })).items.length;
  await expect
    .poll(carried, { interval: 2_000 })
    .toBeGreaterThanOrEqual(Math.floor(0.9 * NAMESPACES * POLICIES));
  const next = await fixture.cluster.createNamespace('next');
  expect(await report(next, FEW)).toBe(FEW);
  await eventually(async () => {
    const key = { namespace: next, name: 'z-0' };
    return (await fixture.client.get(firewallZone, key)).status;
  }).toBeDefined();
  const { peak } = memoryOf(fixture.coordinator.pid);
  console.log(
    `${NAMESPACES} namespaces, ${taken} of ${NAMESPACES * PODS} reports of them taken: ${now} MiB before, at most ${peak} MiB`,
  );
});
