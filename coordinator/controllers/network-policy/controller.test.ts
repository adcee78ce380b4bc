/** In which order the controller writes; with an API server in memory that writes slowly. */
import { expect, it, vi } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import type { Desired } from '#shared/kube/owned.ts';
import { ALWAYS_LEADING, NO_METRICS } from '#shared/kube/testing/controller.ts';
import { createWatchStream } from '#shared/kube/testing/watch-stream.ts';
import { POLICY_NETWORKS_ANNOTATION } from '#shared/names.ts';
import type { PolicyPod } from '#shared/policy/group-members.ts';
import { networkPolicySpecSchema } from '#shared/policy/network-policy.ts';
import { addressGroupResource } from '#shared/resources/other-kinds/address-group.ts';
import { policyEnforcementResource } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { sleepOn } from '#shared/runtime/testing/manual-clock.ts';
import { inFakeTime } from '../../testing/fake-time.ts';
import { changesFor } from './changes.ts';
import { askedOf, compiledAt } from './desired.ts';
import { createLiveGroups } from './live-groups.ts';
import { gatewaysOf } from './enforcing-cnfs.ts';
import { createPoliciesController } from './controller.ts';
import type { AnyPolicy } from './kept.ts';
import type { PolicyReader, PolicySources } from './sources.ts';

const POLICIES = 400;
const STATUS_MS = 20;
/** How long a write takes on a busy API server. */
const SLOW_MS = 200;
const PLACE = { namespace: 'edge', purpose: 'cnf-1' };

const metadataOf = (name: string) => {
  const creationTimestamp = '2026-01-01T00:00:00Z';
  return { namespace: 'edge', name, uid: name, resourceVersion: '1', creationTimestamp };
};
const policies = Array.from({ length: POLICIES }, (_, at): AnyPolicy => ({
  kind: 'NetworkPolicy',
  networks: [],
  namespace: 'shop',
  name: `policy-${at}`,
  uid: `policy-${at}`,
  generation: 1,
  spec: networkPolicySpecSchema.parse({
    podSelector: { matchLabels: { app: `a${at}` } },
    // A pod that changes touches one of them.
    ingress: [{ from: [{ podSelector: { matchLabels: { role: `r${at}` } } }] }],
  }),
}));
const podWith = (role: string): PolicyPod => ({
  namespace: 'shop',
  name: 'web',
  uid: 'web',
  labels: { role },
  creationTimestamp: '2026-01-01T00:00:00Z',
  addresses: ['10.0.0.1'],
  ports: [],
  isHostNetwork: false,
  isFinished: false,
});
const asking = [
  {
    object: { apiVersion: 'v1', kind: 'Pod', metadata: metadataOf('cnf') },
    ...PLACE,
    annotations: { [POLICY_NETWORKS_ANNOTATION]: 'cluster' },
  },
];

/** As an earlier coordinator has left it: all of it written but what statuses say of pods. */
const writtenBefore = (groups: ReturnType<typeof createLiveGroups>) => {
  const [gateway] = gatewaysOf(asking).gateways;
  if (gateway === undefined) throw new Error('nobody asks');
  const compiled = compiledAt(gateway, policies);
  groups.follow(
    new Map([...compiled.values()].flatMap((one) => ('groups' in one ? [...one.groups] : []))),
  );
  const asked = askedOf(compiled, groups);
  const changes = changesFor(PLACE, asked, { groups: [], enforcements: [] });
  const object = (kind: string, desired: Desired | undefined) => ({
    apiVersion: 'network.sdewan.akraino.org/v1alpha1',
    kind,
    metadata: { ...metadataOf(desired?.metadata.name ?? ''), ...desired?.metadata },
    ...desired?.fields,
  });
  return {
    addressgroups: changes.steps
      .flatMap(({ groups: of }) => of)
      .map(([desired]) => addressGroupResource.schema.parse(object('AddressGroup', desired))),
    policyenforcements: changes.steps.flatMap(({ enforcement }) =>
      enforcement
        ? [policyEnforcementResource.schema.parse(object('PolicyEnforcement', enforcement[0]))]
        : [],
    ),
  };
};

const { run, signal } = inFakeTime();

/** An API server that holds `there`; `ms`: for how long each write of that kind takes. */
const setUp = (there: Record<string, object[]>, ms: (what: string) => number) => {
  const groups = createLiveGroups();
  groups.put('web', podWith('none'));
  const clock = { ...systemClock, monotonic: () => Date.now(), sleep: sleepOn(systemClock.after) };
  const writes: { what: string; name: string; at: number }[] = [];
  const write = async (what: string, name: string): Promise<void> => {
    if (ms(what) > 0) await clock.sleep(ms(what), signal());
    writes.push({ what, name, at: Date.now() });
  };
  const client = {
    list: async ({ plural }: { plural: string }) => ({
      items: there[plural] ?? [],
      resourceVersion: '1',
    }),
    watch: async (_: unknown, { signal }: { signal: AbortSignal }) =>
      createWatchStream().until(signal),
    create: async ({ plural }: { plural: string }, body: { metadata: { name: string } }) => {
      await write(plural, body.metadata.name);
      return { ...body, metadata: { ...metadataOf(body.metadata.name), ...body.metadata } };
    },
    replace: async (_: unknown, body: { metadata: { name: string } }) => {
      await write('status', body.metadata.name);
      return body;
    },
    delete: (_: unknown, { name }: { name: string }) => write('deletion', name),
  } as unknown as KubeClient;
  const known = [...policies];
  let reader: PolicyReader | undefined;
  const policySources: PolicySources = {
    join: (joined) => {
      reader = joined;
      return { follow: groups.follow };
    },
    policies: () => [...known],
    policy: () => undefined,
    pod: () => undefined,
    podsWithPorts: () => [],
    groups,
    cluster: () => undefined,
    isKnown: () => true,
    run: async () => undefined,
  };
  const controller = createPoliciesController({
    client,
    policySources,
    clock,
    log: silentLogger,
    leadership: ALWAYS_LEADING,
    metrics: NO_METRICS,
    policyMetrics: { exposeGroups: () => undefined },
    asking: () => asking,
    podsOf: () => new Set(),
    record: () => undefined,
  });
  run(controller);
  return {
    writes,
    change: (role: string) => reader?.onTouched(groups.put('web', podWith(role))),
    add: (policy: AnyPolicy) => {
      known.push(policy);
      reader?.onPolicies();
    },
  };
};

it('writes the members of a group without waiting for the statuses of all policies, and these all the same', async () => {
  const before = createLiveGroups();
  before.put('web', podWith('none'));
  const { change, writes } = setUp(writtenBefore(before), (what) =>
    what === 'status' ? STATUS_MS : 0,
  );
  await vi.advanceTimersByTimeAsync(500);
  expect(writes.length).toBeLessThan(POLICIES / 2);

  const changedAt = Date.now();
  change('r0');
  await vi.advanceTimersByTimeAsync(10_000);
  const group = writes.find(({ what }) => what === 'addressgroups');
  // Its own quarter of a second, and that of the statuses.
  expect((group?.at ?? Infinity) - changedAt).toBeLessThanOrEqual(600);
  const statuses = writes.filter(({ what }) => what === 'status').map(({ name }) => name);
  expect(new Set(statuses).size).toBe(POLICIES);
});

it('writes a policy before all of another namespace are written', async () => {
  const { add, writes } = setUp({}, () => SLOW_MS);
  await vi.advanceTimersByTimeAsync(500);
  const addedAt = Date.now();
  const [first] = policies;
  if (first) add({ ...first, namespace: 'other', name: 'late', uid: 'late' });
  await vi.advanceTimersByTimeAsync(30_000);
  const enforcements = writes.filter(({ what }) => what === 'policyenforcements');
  const own = enforcements.find(({ name }) => name.startsWith('other.late'));
  // The quarter of a second of each of two changes, and a write.
  expect((own?.at ?? Infinity) - addedAt).toBeLessThanOrEqual(1_000);
  expect(enforcements.filter(({ at }) => at <= (own?.at ?? 0)).length).toBeLessThan(POLICIES / 2);
  expect(new Set(enforcements.map(({ name }) => name)).size).toBe(POLICIES + 1);
});

it('removes a policy before all of another namespace are written', async () => {
  const [one] = writtenBefore(createLiveGroups()).policyenforcements;
  if (one === undefined) throw new Error('none is written');
  const policy = { ...one.spec.policy, namespace: 'other', name: 'gone', uid: 'gone' };
  const metadata = { ...one.metadata, ...metadataOf('other.gone') };
  const gone = { ...one, metadata, spec: { ...one.spec, policy } };
  const { change, writes } = setUp({ policyenforcements: [gone] }, () => SLOW_MS);
  await vi.advanceTimersByTimeAsync(300);
  change('r0');
  await vi.advanceTimersByTimeAsync(2_000);
  expect(writes.find(({ what }) => what === 'deletion')?.name).toBe('other.gone');
  expect(writes.filter(({ what }) => what === 'policyenforcements').length).toBeLessThan(
    POLICIES / 2,
  );
});
