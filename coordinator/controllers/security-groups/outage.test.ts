/**
 * What is told of a Neutron that fails, and when it is tried again; the controller with an API
 * server and a Neutron in memory.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { ALWAYS_LEADING, NO_METRICS } from '#shared/kube/testing/controller.ts';
import { createWatchStream } from '#shared/kube/testing/watch-stream.ts';
import { networkPolicySpecSchema } from '#shared/policy/network-policy.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { sleepOn } from '#shared/runtime/testing/manual-clock.ts';
import type { PolicyReader, PolicySources } from '../network-policy/sources.ts';
import { NeutronError } from '../../neutron/errors.ts';
import { causeOf, createOutages } from '../../neutron/outage.ts';
import type { PortOfPod } from '#shared/policy/pod-ports.ts';
import { createSecurityGroupsController, type SecurityGroupsController } from './controller.ts';
import { followed } from './testing/followed.ts';
import { createMemoryNeutron, type MemoryNeutron } from './testing/memory-neutron.ts';

const PORT = '52f111c6-c346-4b59-ad4e-ece80584dff8';
const SECOND = '62f111c6-c346-4b59-ad4e-ece80584dff8';
const TWO_MINUTES = 120_000;

const metadataOf = (name: string) => ({
  namespace: 'shop',
  name,
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
});
const policyOf = (name: string, app: string, rules: object = {}) => {
  const spec = networkPolicySpecSchema.parse({ podSelector: { matchLabels: { app } }, ...rules });
  const { namespace, uid } = metadataOf(name);
  const kind = 'NetworkPolicy' as const;
  const policy = { kind, networks: [], namespace, name, uid, generation: 1, spec };
  return { apiVersion: 'v1', kind, metadata: metadataOf(name), policy };
};
const podOf = (name: string, ports?: string) => {
  const metadata = { ...metadataOf(name), uid: `uid-pod-${name}` };
  const { namespace, uid, creationTimestamp } = metadata;
  const rest = { addresses: ['10.0.0.1'], ports: [], isHostNetwork: false, isFinished: false };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    inNeutron: { ...(ports !== undefined && { ports }) },
    pod: { namespace, name, uid, creationTimestamp, labels: { app: name }, ...rest },
  };
};

const POLICIES = [policyOf('web', 'web'), policyOf('other', 'other')];
const PODS = [podOf('web', JSON.stringify([{ interface: 'eth0', port: PORT }])), podOf('other')];

let stop: AbortController;
let running: Promise<void>;
let neutron: MemoryNeutron;
/** What it answers, until it is well again. */
let fault: NeutronError | undefined;
let tries: number[];
let events: RecordedEvent[];
let policies: typeof POLICIES;
/** At what pods have. */
let looks: number;
let reader: PolicyReader;
let guardOf: SecurityGroupsController['guardOf'];
let failingMs: () => number;
/** What the API server refuses. */
let refused: 'nodes' | 'annotations' | undefined;
/** How, and by which words. */
let refusal: [status: number, reason: string, message: string];

const policySources: PolicySources = {
  join: (joined) => {
    reader = joined;
    return { follow: () => undefined };
  },
  policies: () => policies.map(({ policy }) => policy),
  policy: (uid) => policies.find(({ metadata }) => metadata.uid === uid),
  pod: (uid) => PODS.find(({ pod }) => pod.uid === uid),
  podsWithPorts: () => {
    looks += 1;
    return PODS.filter(({ inNeutron }) => inNeutron.ports !== undefined);
  },
  groups: {
    ...followed({
      policies: POLICIES.map(({ policy }) => policy),
      pods: PODS.map(({ pod }) => pod),
    }),
  } as PolicySources['groups'],
  cluster: () => '01234567',
  isKnown: () => true,
  run: async () => undefined,
};
const refuse = (what: typeof refused): void => {
  const [status, reason, message] = refusal;
  if (refused === what) throw new KubeError(`reach ${what}`, message, { status, reason });
};
const client = {
  list: async () => {
    refuse('nodes');
    return { items: [], resourceVersion: '1' };
  },
  watch: async (_: unknown, { signal }: { signal: AbortSignal }) =>
    createWatchStream().until(signal),
  patch: async () => {
    refuse('annotations');
    return {};
  },
} as unknown as KubeClient;

beforeEach(() => {
  refusal = [403, 'Forbidden', 'forbidden'];
  vi.useFakeTimers();
  stop = new AbortController();
  neutron = createMemoryNeutron([
    { id: PORT, name: 'sdewan/01234567/web', addresses: ['10.0.0.1'] },
    { id: SECOND, name: 'sdewan/01234567/second', addresses: ['10.0.0.2'] },
  ]);
  const { groups } = neutron;
  neutron.groups = async () => {
    tries.push(clock.monotonic());
    if (fault) throw fault;
    return groups();
  };
  [fault, tries, events, refused, given] = [undefined, [], [], undefined, []];
  policies = POLICIES;
  looks = 0;
});
afterEach(async () => {
  stop.abort();
  await running;
  vi.useRealTimers();
});

const clock = {
  ...systemClock,
  monotonic: () => Date.now(),
  sleep: sleepOn(systemClock.after),
};
let given: readonly PortOfPod[] | undefined;
const start = async (): Promise<void> => {
  const controller = createSecurityGroupsController({
    client,
    clock,
    log: silentLogger,
    leadership: ALWAYS_LEADING,
    metrics: NO_METRICS,
    neutron,
    policySources,
    portsInNeutron: () => given,
    resyncMs: 60_000,
    record: (event) => void events.push(event),
    exposeFailing: (lastsMs) => {
      failingMs = lastsMs;
    },
  });
  ({ guardOf } = controller);
  running = controller.run(stop.signal);
  await vi.advanceTimersByTimeAsync(1_000);
};
const told = (): string[] =>
  events.map(({ object, reason }) => `${object.kind} ${object.metadata.name} ${reason}`);
const UNAVAILABLE = ['NetworkPolicy web NeutronUnavailable', 'Pod web NeutronUnavailable'];
const error = (status: number, type: string): NeutronError =>
  new NeutronError('GET /v2.0/security-groups', 'a word that is never the same', { status, type });

it('touches no group in Neutron before the ports of NetworkPorts are listed', async () => {
  given = undefined;
  await start();
  expect(tries).toEqual([]);
  given = [];
  await vi.advanceTimersByTimeAsync(1_000);
  expect(tries).toHaveLength(1);
});

describe('an outage of Neutron', () => {
  it.each<[string, NeutronError, string]>([
    ['is not there', error(0, 'Unreachable'), 'OpenStack cannot be reached'],
    ['is silent', error(0, 'Timeout'), 'OpenStack does not answer in time'],
    ['is something else', error(0, 'Malformed'), 'not the OpenStack that is expected'],
    ['has a fault', error(503, 'HTTP 503'), 'OpenStack answers with 503'],
    ['refuses us', error(401, 'HTTP 401'), 'OpenStack refuses the credentials of clouds.yaml'],
    ['lacks our role', error(403, 'PolicyNotAuthorized'), 'not enough (PolicyNotAuthorized)'],
    ['refuses a call', error(400, 'HTTP 400'), 'refuses a call with 400 (HTTP 400)'],
    ['has no such page', error(404, 'HTTP 404'), 'refuses a call with 404 (HTTP 404)'],
    ['is never as it was', error(409, 'OverQuota'), 'refuses a call with 409 (OverQuota)'],
  ])('is told once by the policies and pods that need it, since it %s', async (_, wrong, words) => {
    fault = wrong;
    await start();
    await vi.advanceTimersByTimeAsync(TWO_MINUTES);
    expect(told().sort()).toEqual(UNAVAILABLE);
    for (const { message, type } of events)
      expect([type, message]).toEqual(['Warning', expect.stringContaining(words)]);
  });

  it('is told again when it lasts longer than Events live', async () => {
    fault = error(503, 'HTTP 503');
    await start();
    await vi.advanceTimersByTimeAsync(95 * 60_000);
    const ofPolicy = events.filter(({ object }) => object.kind === 'NetworkPolicy');
    expect(ofPolicy.map(({ once }) => once)).toEqual([true, undefined, undefined, undefined]);
  });

  it('is told once for each of its causes, however often they take turns', async () => {
    fault = error(503, 'HTTP 503');
    await start();
    for (let turn = 0; turn < 6; turn += 1) {
      await vi.advanceTimersByTimeAsync(31_000);
      fault = turn % 2 === 0 ? error(0, 'Unreachable') : error(503, 'HTTP 503');
    }
    expect(events.filter(({ object }) => object.kind === 'NetworkPolicy')).toHaveLength(2);
  });

  it('is not told for less than five seconds, but that policies are enforced', async () => {
    fault = error(0, 'Unreachable');
    await start();
    fault = undefined;
    await vi.advanceTimersByTimeAsync(30_200);
    expect(told()).toEqual(['NetworkPolicy web Enforced']);
  });

  it('leads to no call sooner than its backoff, of half a minute at most, by changes in the cluster', async () => {
    fault = error(0, 'Unreachable');
    await start();
    for (let at = 0; at < 3_000; at += 1) {
      reader.onPolicies();
      await vi.advanceTimersByTimeAsync(100);
    }
    const waits = tries.map((at, index) => at - (tries[index - 1] ?? at)).slice(9);
    expect(waits.length).toBeGreaterThan(8);
    expect(Math.max(...waits)).toBeLessThanOrEqual(30_200);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(3_000);
    expect(new Set(waits.map((ms) => Math.round(ms / 1_000))).size).toBeGreaterThan(3);
  });

  it('is timed by a figure; its return is followed within half a minute, and told', async () => {
    await start();
    expect(failingMs()).toBe(0);
    fault = error(0, 'Unreachable');
    await vi.advanceTimersByTimeAsync(60_000 + TWO_MINUTES);
    expect(failingMs()).toBeGreaterThan(TWO_MINUTES - 1_000);
    fault = undefined;
    await vi.advanceTimersByTimeAsync(30_200);
    expect(failingMs()).toBe(0);
    const ofPolicy = events.filter(({ object }) => object.kind === 'NetworkPolicy');
    expect(ofPolicy.map(({ reason, once }) => [reason, once])).toEqual([
      ['Enforced', true],
      ['NeutronUnavailable', undefined],
      ['Enforced', undefined],
    ]);
    expect(neutron.state.ports.get(PORT)?.security_groups).not.toEqual([]);
  });
});

describe('a port whose pod is not known', () => {
  it.each([
    ['is looked at each second, as the watch of pods may be behind', {}, 60, Infinity],
    ['is not, where the pod has been on a node', { hasRun: true }, 0, 10],
  ])('%s', async (_, some, least, most) => {
    given = [{ interface: 'net0', port: PORT, pod: 'uid-gone', ...some }];
    await start();
    const before = looks;
    await vi.advanceTimersByTimeAsync(61_000);
    expect(looks - before).toBeGreaterThanOrEqual(least);
    expect(looks - before).toBeLessThan(most);
  });
});

describe('a port that passes from one pod to another', () => {
  const givenTo = (pod: string): void => {
    given = [
      { interface: 'net0', port: PORT, pod },
      { interface: 'net1', port: SECOND, pod: 'uid-pod-web' },
    ];
  };
  const groupsNow = (): string[] =>
    neutron.state.ports
      .get(PORT)
      ?.security_groups.map((id) => neutron.state.groups.get(id)?.name ?? '') ?? [];

  it('is not guarded for the second while there is no room for what every port needs', async () => {
    givenTo('uid-pod-web');
    await start();
    expect(guardOf(PORT, 'uid-pod-web')).toBe('guarded');
    givenTo('uid-pod-other');
    for (const group of neutron.state.groups.values()) group.security_group_rules = [];
    neutron.limits = { groups: 3, rules: 0 };
    await vi.advanceTimersByTimeAsync(70_000);
    expect(told()).toContain('NetworkPolicy other NotEnforced');
    expect(guardOf(PORT, 'uid-pod-other')).toBeUndefined();
    neutron.limits = { groups: 30, rules: 30 };
    await vi.advanceTimersByTimeAsync(70_000);
    expect(guardOf(PORT, 'uid-pod-other')).toBe('guarded');
  });

  it.each([false, true])(
    'keeps nothing of a refused policy of the first, also where the answer was lost: %s',
    async (isLost) => {
      const rules = { ingress: [{ from: [{ ipBlock: { cidr: '192.0.2.0/24' } }] }] };
      policies = [policyOf('web', 'web', rules)];
      givenTo('uid-pod-web');
      const { setPortGroups } = neutron;
      neutron.setPortGroups = async (...of) => {
        const set = await setPortGroups(...of);
        if (!isLost) return set;
        throw error(0, 'Timeout');
      };
      await start();
      const own = groupsNow().find((name) => name.includes('shop.web'));
      expect(own).toBeDefined();
      neutron.setPortGroups = setPortGroups;
      policies = [policyOf('web', 'web', { ...rules, policyTypes: ['Ingress', 'Egress'] })];
      neutron.limits = { groups: neutron.state.groups.size, rules: 0 };
      givenTo('uid-pod-other');
      reader.onPolicies();
      await vi.advanceTimersByTimeAsync(70_000);
      expect(told()).toContain('NetworkPolicy web NotEnforced');
      expect(guardOf(PORT, 'uid-pod-other')).toBe('guarded');
      expect(groupsNow()).not.toContain(own);
    },
  );
});

describe('what the coordinator lacks the right to', () => {
  it('list nodes: the policies and pods that need Neutron say so, once, and are enforced when it has it', async () => {
    refused = 'nodes';
    await start();
    await vi.advanceTimersByTimeAsync(TWO_MINUTES);
    expect(told().sort()).toEqual(UNAVAILABLE);
    for (const { message, type } of events)
      expect([type, message]).toEqual([
        'Warning',
        expect.stringContaining('the coordinator may not list nodes'),
      ]);
    expect(failingMs()).toBeGreaterThan(TWO_MINUTES - 1_000);
    expect([tries, neutron.state.ports.get(PORT)?.security_groups]).toEqual([[], []]);
    refused = undefined;
    await vi.advanceTimersByTimeAsync(60_200);
    expect(told().at(-1)).toBe('NetworkPolicy web Enforced');
    expect(failingMs()).toBe(0);
  });

  it.each<[string, typeof refusal, string]>([
    ['it may not', [403, 'Forbidden', 'forbidden'], 'bind ClusterRole sdewan-neutron to it'],
    ['that has too many already', [422, 'Invalid', 'Too long'], 'reach annotations: Too long'],
  ])(
    'annotate a pod, since %s: the policy is enforced, and the pod says once what its annotation lacks',
    async (_, how, words) => {
      refused = 'annotations';
      refusal = how;
      await start();
      await vi.advanceTimersByTimeAsync(20 * 60_000);
      expect(told()).toEqual(['NetworkPolicy web Enforced', 'Pod web AnnotationNotWritten']);
      expect(events.at(-1)?.message).toContain(words);
      // Neutron is looked at as often as it is where nothing lacks.
      expect(tries.length).toBeLessThan(25);
    },
  );
});

it('waits are spread: a tenth to the whole of 0.25 s that doubles up to 30 s, and begin anew when it is over', () => {
  const waitsOf = (random: number): number[] => {
    const outages = createOutages({ monotonic: () => 0 }, () => random);
    const waits = Array.from({ length: 9 }, () => outages.failed(0));
    outages.over();
    return [...waits, outages.failed(0)];
  };
  const most = [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 250];
  expect(waitsOf(1)).toEqual(most);
  expect(waitsOf(0)).toEqual(most.map((ms) => ms / 10));
});

it('is told in the words of its reader for a clouds.yaml that cannot be used', () => {
  const cause = new Error('/etc/clouds.yaml is no YAML');
  const wrong = new NeutronError('reading clouds.yaml', 'x', {
    status: 0,
    type: 'InvalidCloud',
    cause,
  });
  expect(causeOf(wrong)).toEqual({
    reason: 'InvalidCloud',
    message: '/etc/clouds.yaml is no YAML',
  });
});
