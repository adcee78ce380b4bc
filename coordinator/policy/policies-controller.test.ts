/** In which order the controller writes; with an API server in memory, each of whose writes of a status takes a while. */
import { expect, it, vi } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import type { Desired } from '#shared/kube/owned.ts';
import { ALWAYS_LEADING, NO_METRICS } from '#shared/kube/testing/controller.ts';
import { POLICY_NETWORKS_ANNOTATION } from '#shared/names.ts';
import type { PolicyPod } from '#shared/policy/groups.ts';
import { networkPolicySpecSchema } from '#shared/policy/network-policy.ts';
import { addressGroupResource } from '#shared/resources/address-group.ts';
import { policyEnforcementResource } from '#shared/resources/policy-enforcement.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { sleepOn } from '#shared/runtime/testing/manual-clock.ts';
import { inFakeTime } from '../testing/fake-time.ts';
import { changesFor } from './changes.ts';
import { askedOf, compiledAt } from './desired.ts';
import { createLiveGroups } from './live-groups.ts';
import { gatewaysOf } from './places.ts';
import { createPoliciesController } from './policies-controller.ts';
import type { AnyPolicy } from './watched.ts';
import type { PolicyReader, PolicyWorld } from './world.ts';

const POLICIES = 400;
const STATUS_MS = 20;
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
  const asked = askedOf(compiled, groups.members);
  const changes = changesFor(PLACE, asked, { groups: [], enforcements: [] });
  const object = (kind: string, desired: Desired | undefined) => ({
    apiVersion: 'network.sdewan.akraino.org/v1alpha1',
    kind,
    metadata: { ...metadataOf(desired?.metadata.name ?? ''), ...desired?.metadata },
    ...desired?.fields,
  });
  return {
    addressgroups: changes.groups.map(([desired]) =>
      addressGroupResource.schema.parse(object('AddressGroup', desired)),
    ),
    policyenforcements: changes.enforcements.map(([desired]) =>
      policyEnforcementResource.schema.parse(object('PolicyEnforcement', desired)),
    ),
  };
};

const { run, signal } = inFakeTime();

it('who is in a group does not wait for the statuses of all policies, and these come all the same', async () => {
  const groups = createLiveGroups();
  groups.put('web', podWith('none'));
  const there: Record<string, object[]> = writtenBefore(groups);
  const clock = { ...systemClock, monotonic: () => Date.now(), sleep: sleepOn(systemClock.after) };
  const writes: { what: string; name: string; at: number }[] = [];
  const write = (what: string, name: string): void =>
    void writes.push({ what, name, at: Date.now() });
  const client = {
    list: async ({ plural }: { plural: string }) => ({
      items: there[plural],
      resourceVersion: '1',
    }),
    watch: async (_: unknown, { signal }: { signal: AbortSignal }) =>
      (async function* (): AsyncGenerator<Uint8Array> {
        yield* [];
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      })(),
    patch: async ({ plural }: { plural: string }, { name }: { name: string }) => {
      write(plural, name);
      return there[plural]?.[0];
    },
    replace: async (_: unknown, body: { metadata: { name: string } }) => {
      await clock.sleep(STATUS_MS, signal());
      write('status', body.metadata.name);
      return body;
    },
  } as unknown as KubeClient;
  let reader: PolicyReader | undefined;
  const world: PolicyWorld = {
    join: (joined) => {
      reader = joined;
      return { follow: groups.follow };
    },
    policies: () => [...policies],
    policy: () => undefined,
    podsWithPorts: () => [],
    groups,
    namespaceUid: () => undefined,
    isKnown: () => true,
    run: async () => undefined,
  };
  const controller = createPoliciesController({
    client,
    world,
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
  await vi.advanceTimersByTimeAsync(500);
  expect(writes.length).toBeLessThan(POLICIES / 2);

  const changedAt = Date.now();
  reader?.onTouched(groups.put('web', podWith('r0')));
  await vi.advanceTimersByTimeAsync(10_000);
  const group = writes.find(({ what }) => what === 'addressgroups');
  // Its own quarter of a second, and that of the statuses.
  expect((group?.at ?? Infinity) - changedAt).toBeLessThanOrEqual(600);
  const statuses = writes.filter(({ what }) => what === 'status').map(({ name }) => name);
  expect(new Set(statuses).size).toBe(POLICIES);
});
