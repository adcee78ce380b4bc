/** The controllers of NetworkPorts over a Neutron in memory: what they write, and how often. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import { ALWAYS_LEADING, NO_METRICS } from '#shared/kube/testing/controller.ts';
import {
  KEEP_ADDRESSES_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  POOL_LABEL,
  PORTS_GATE,
} from '#shared/names.ts';
import { Registry } from '#shared/metrics/prometheus.ts';
import { managedNetworkResource } from '#shared/resources/other-kinds/managed-network.ts';
import {
  networkPortResource,
  type NetworkPort,
} from '#shared/resources/other-kinds/network-port.ts';
import { networkPortPoolResource } from '#shared/resources/other-kinds/network-port-pool.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import type { NeutronPorts } from '../../../neutron/ports.ts';
import { podResource, statefulSets } from '../../../sources/workload.ts';
import { FakeFleetApi, NAMESPACE } from '../../fleet/testing/api-server.ts';
import { isReleased } from '../claims.ts';
import { createNetworkPortsController, type NetworkPortsController } from '../controller.ts';
import { REST_MS } from '../decide.ts';
import { createPortMetrics } from '../metrics.ts';
import { portNodes } from '../objects.ts';
import {
  CLUSTER,
  createNetworkInMemory,
  MINUTE,
  NETWORK,
  OTHER_SUBNET,
  refusedWith,
  SUBNET,
} from './testing.ts';

const [OTHER, WAN] = [NETWORK.replaceAll('1', '2'), NETWORK.replaceAll('1', '3')];
const RESYNC_MS = 100;
const soon = { interval: 10, timeout: 10_000 };

let api: FakeFleetApi;
let memory: ReturnType<typeof createNetworkInMemory>;
let calls: NeutronPorts;
let posts: ('bulk' | 'single')[];
let aheadMs: number;
/** By which the monotonic clock is ahead. */
let laterMs: number;
/** One in each look. */
let projects: number;
let isServed: (resource: { plural: string }) => boolean;
let controller: NetworkPortsController;
let running: { end: AbortController; done: Promise<void> };

const servedClient = (client: KubeClient): KubeClient => ({
  ...client,
  list: async (resource, options) => {
    if (!isServed(resource))
      throw new KubeError('list', 'no such kind', { status: 404, reason: 'NotFound' });
    return await client.list(resource, options);
  },
});

beforeEach(() => {
  api = new FakeFleetApi({
    told: [
      'managednetworks',
      'networkportpools',
      'networkports',
      'pods',
      'nodes',
      'virtualaddresses',
    ],
    ofCluster: ['managednetworks', 'networkportpools', 'networkports', 'nodes'],
  });
  memory = createNetworkInMemory();
  projects = 0;
  isServed = () => true;
  posts = [];
  aheadMs = 0;
  laterMs = 0;
  calls = {
    ...memory.calls,
    createPort: (port) => {
      posts.push('single');
      return memory.calls.createPort(port);
    },
    createPorts: (ports) => {
      posts.push('bulk');
      return memory.calls.createPorts(ports);
    },
    project: async () => {
      projects += 1;
      return 'ours';
    },
    network: async () => ({ id: NETWORK, project_id: 'ours', port_security_enabled: true }),
    subnets: async () => [SUBNET],
  };
  api.put(portNodes, {
    metadata: { name: 'up' },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const end = new AbortController();
  controller = createNetworkPortsController({
    client: servedClient(api.client()),
    record: () => undefined,
    metrics: NO_METRICS,
    portMetrics: createPortMetrics(new Registry()),
    leadership: ALWAYS_LEADING,
    clock: {
      ...systemClock,
      now: () => systemClock.now() + aheadMs,
      monotonic: () => systemClock.monotonic() + laterMs,
    },
    log: silentLogger,
    neutronOfPorts: {
      calls,
      cluster: () => CLUSTER,
      resyncMs: RESYNC_MS,
      guardOf: () => 'guarded',
      onPorts: () => undefined,
    },
  });
  running = { end, done: controller.run(end.signal) };
});
afterEach(async () => {
  running.end.abort();
  await running.done;
});

/** `id`: in Neutron. */
const network = (name = 'lan', id = NETWORK): void =>
  void api.put(managedNetworkResource, {
    metadata: { name, uid: `uid of ${id}` },
    spec: {
      provider: 'neutron',
      neutron: { network: id },
      names: [`net-${name}`],
      namespaces: [NAMESPACE],
    },
  });
const readyNow = async () => {
  const { status } = await api.client().get(managedNetworkResource, { name: 'lan' });
  return status?.conditions?.find(({ type }) => type === 'Ready');
};
const portsNow = async (): Promise<NetworkPort[]> =>
  (await api.client().list(networkPortResource)).items;

/** `entries`: of its interfaces. */
const asking = (name: string, ...entries: object[]): void => {
  const all = entries.length > 0 ? entries : [{}];
  const nfn = {
    interface: all.map((entry, at) => ({ name: 'net-lan', interface: `net${at}`, ...entry })),
  };
  api.put(podResource, {
    metadata: { name, annotations: { [NFN_NETWORK_ANNOTATION]: JSON.stringify(nfn) } },
    spec: { schedulingGates: [{ name: PORTS_GATE }] },
  });
};
const isOpen = (name: string) => (): boolean =>
  Object(api.get('pods', name)?.['spec']).schedulingGates?.length === 0;

describe('a network of Neutron', () => {
  it('says why it cannot be read', async () => {
    calls.project = () => Promise.reject(refusedWith('HTTP 404', 404));
    network();
    await expect.poll(readyNow, soon).toMatchObject({
      reason: 'NeutronUnavailable',
      message: 'OpenStack refuses a call with 404 (HTTP 404)',
    });
  });
});

describe('a port that Neutron refuses, which seems to have room for it', () => {
  it('is asked for again after a while', async () => {
    let asked = 0;
    calls.createPort = () => {
      asked += 1;
      return Promise.reject(refusedWith('HTTP 409'));
    };
    network();
    asking('p');
    await expect.poll(() => asked, soon).toBeGreaterThan(0);
    const looks = projects;
    await expect.poll(() => projects - looks, soon).toBeGreaterThan(20);
    // Each look was one more where the pod's own claim woke it.
    expect(asked).toBeLessThan(10);
  });
});

describe('a port that Neutron refuses while it is kept', () => {
  const KEEP = { [KEEP_ADDRESSES_ANNOTATION]: 'true' };
  const member = (uid: string, on?: string): void => {
    const nfn = JSON.stringify({ interface: [{ name: 'net-lan', interface: 'net0' }] });
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', controller: true };
    api.put(podResource, {
      metadata: {
        name: 'db-0',
        uid,
        annotations: { [NFN_NETWORK_ANNOTATION]: nfn, ...KEEP },
        ownerReferences: [{ ...owner, uid: 'uid-statefulsets-db' }],
      },
      spec: on === undefined ? { schedulingGates: [{ name: PORTS_GATE }] } : { nodeName: on },
    });
  };

  it('is written a few times only, and is no pod’s', async () => {
    api.put(statefulSets, {
      metadata: { name: 'db' },
      spec: { replicas: 1, template: { metadata: { annotations: KEEP } } },
    });
    network();
    member('one');
    await expect.poll(async () => (await portsNow())[0]?.status?.portID, soon).toBeDefined();
    member('one', 'up');
    await expect.poll(async () => (await portsNow())[0]?.status?.node, soon).toBe('up');
    expect(controller.portsInNeutron()).toMatchObject([{ pod: 'one', hasRun: true }]);
    let asked = 0;
    calls.createPort = () => {
      asked += 1;
      return Promise.reject(refusedWith('IpAddressAlreadyAllocated'));
    };
    api.remove('pods', 'db-0');
    await expect.poll(async () => (await portsNow())[0]?.status?.keptSince, soon).toBeDefined();
    expect(controller.portsInNeutron()).toEqual([]);
    memory.ports.clear();
    await expect.poll(() => asked, soon).toBeGreaterThan(0);
    const writes = (): number => api.writes.filter((write) => write.includes('networkport')).length;
    const before = writes();
    member('two');
    const looks = projects;
    await expect.poll(() => projects - looks, soon).toBeGreaterThan(10);
    expect(writes() - before).toBeLessThan(5);
  });
});

describe('a pool', () => {
  const pool = (min: number, max: number, of = 'lan'): void =>
    void api.put(networkPortPoolResource, {
      metadata: { name: 'warm' },
      spec: { network: of, min, max },
    });
  const statusNow = async () =>
    (await api.client().get(networkPortPoolResource, { name: 'warm' })).status;
  const has = async (status: object): Promise<void> =>
    await expect.poll(statusNow, soon).toMatchObject(status);

  it('has ports made by one call before pods ask, and its pods need none', async () => {
    network();
    pool(2, 30);
    await has({ available: 20, beingMade: 0, failed: 0, conditions: [{ reason: 'Ready' }] });
    expect(posts).toEqual(['bulk']);
    const [first] = await portsNow();
    expect(first?.metadata.labels).toMatchObject({ [POOL_LABEL]: 'warm' });
    asking('fixes', { ipAddress: first?.spec.addresses[0] });
    asking('p');
    await expect.poll(isOpen('fixes'), soon).toBe(true);
    await expect.poll(isOpen('p'), soon).toBe(true);
    await has({ available: 18, claimed: 2 });
    expect((await portsNow()).find(({ spec }) => spec.claim.pod === 'fixes')?.metadata.uid).toBe(
      first?.metadata.uid,
    );
    expect(posts).toEqual(['bulk']);
  });

  it.each(['before', 'after', 'late'] as const)(
    'sends no bulk twice, when its answer is lost %s, and posts singly what is missing',
    async (lost) => {
      const { createPorts } = memory.calls;
      calls.createPorts = async (ports) => {
        posts.push('bulk');
        memory.lose(lost);
        return await createPorts(ports);
      };
      network();
      pool(3, 3);
      await has({ beingMade: 3, conditions: [{ reason: 'Timeout' }] });
      memory.settle();
      laterMs = 30_000;
      pool(3, 4);
      await has({ available: 3, beingMade: 0, failed: 0 });
      expect(posts).toEqual(['bulk', 'single', 'single', 'single']);
      expect(memory.ports.size).toBe(3);
    },
  );

  it('waits while the quota is used up, and says so', async () => {
    const full = () => Promise.reject(refusedWith('OverQuota'));
    const { createPort } = memory.calls;
    calls.createPorts = full;
    calls.createPort = (port) => (memory.ports.size < 5 ? createPort(port) : full());
    network();
    pool(8, 8);
    await has({ available: 5, conditions: [{ status: 'False', reason: 'Full' }] });
    expect(memory.ports.size).toBe(5);
  });

  it('has another port made for one whose address another has, and those behind it', async () => {
    network();
    pool(3, 3);
    await has({ available: 3 });
    const { createPort } = calls;
    const taken = (await portsNow())[0]?.spec.addresses[0];
    calls.createPort = (port, signal) =>
      port.fixed_ips[0]?.ip_address === taken
        ? Promise.reject(refusedWith('IpAddressAlreadyAllocated'))
        : createPort(port, signal);
    memory.ports.clear();
    await has({ available: 3, failed: 0, resting: 1 });
    expect((await portsNow()).filter(({ spec }) => spec.addresses[0] === taken)).toMatchObject([
      { status: { releasedAt: expect.any(String) } },
    ]);
    expect(memory.ports.size).toBe(3);
  });

  it.each<[string, () => void]>([
    [
      'its network is another in Neutron',
      () => {
        api.remove('managednetworks', 'lan');
        network('lan', OTHER);
      },
    ],
    [
      'it is one of another network',
      () => {
        api.remove('networkportpools', 'warm');
        pool(2, 2, 'wan');
      },
    ],
    ['the subnets are others', () => void (calls.subnets = async () => [OTHER_SUBNET])],
  ])('has other ports made when %s', async (_, change) => {
    network();
    network('wan', WAN);
    pool(2, 2);
    await has({ available: 2 });
    const before = new Set((await portsNow()).map(({ metadata }) => metadata.name));
    change();
    const stay = async () =>
      (await portsNow()).filter((port) => before.has(port.metadata.name) && !isReleased(port));
    await expect.poll(stay, soon).toEqual([]);
    await has({ available: 2, resting: expect.any(Number) });
  });

  it.each(['after', 'while'])(
    'leaves no port of NetworkPorts that others delete %s it has them made',
    async (when) => {
      const { createPorts, portsWhere } = calls;
      const removed = new Set<string>();
      const removeAll = async (): Promise<void> => {
        for (const { metadata, spec } of await portsNow()) {
          removed.add(spec.mac);
          api.remove('networkports', metadata.name);
        }
      };
      const asked = new Set<string>();
      // No sweep finds them.
      calls.portsWhere = async (of, signal) => {
        if (of.mac !== undefined) asked.add(of.mac);
        const found = await portsWhere(of, signal);
        return of.mac === undefined
          ? found.filter(({ mac_address: mac }) => !removed.has(mac))
          : found;
      };
      calls.createPorts = async (ports, signal) => {
        if (when === 'while' && removed.size === 0) {
          await removeAll();
          await vi.waitUntil(() => asked.size === 2, soon);
        }
        return await createPorts(ports, signal);
      };
      network();
      pool(2, 2);
      await has({ available: 2 });
      if (when === 'after') await removeAll();
      const left = (): boolean =>
        [...memory.ports.values()].some(({ mac_address: mac }) => removed.has(mac));
      await expect.poll(left, soon).toBe(false);
      expect(removed.size).toBe(2);
      await has({ available: 2 });
    },
  );

  it('is filled while another waits for an answer', async () => {
    const { createPorts } = calls;
    calls.createPorts = (ports, signal) =>
      ports.length === 3
        ? systemClock.sleep(MINUTE, signal).then(() => [])
        : createPorts(ports, signal);
    network();
    api.put(networkPortPoolResource, {
      metadata: { name: 'a-slow-one' },
      spec: { network: 'lan', min: 3, max: 3 },
    });
    await expect.poll(async () => (await portsNow()).length, soon).toBe(3);
    pool(2, 2);
    await has({ available: 2 });
  });

  it('keeps nothing where its kind is not served', async () => {
    isServed = ({ plural }) => plural !== networkPortPoolResource.plural;
    api.put(networkPortResource, {
      metadata: { name: 'lan-0a0000000001', labels: { [POOL_LABEL]: 'warm' } },
      spec: { network: 'lan', mac: '0a:00:00:00:00:01', addresses: [], managed: true },
    });
    network();
    await expect.poll(async () => (await portsNow()).map(isReleased), soon).toEqual([true]);
  });

  it('has again at once what a pod gives back that gets nothing else, and that pod asks seldom', async () => {
    network();
    pool(1, 3);
    await has({ available: 3 });
    let asked = 0;
    calls.createPort = () => {
      asked += 1;
      return Promise.reject(refusedWith('IpAddressAlreadyAllocated'));
    };
    asking('p', {}, { ipAddress: '10.70.0.60' });
    await expect.poll(() => asked, soon).toBeGreaterThan(0);
    const looks = projects;
    await expect.poll(() => projects - looks, soon).toBeGreaterThan(10);
    expect(asked).toBeLessThan(3);
    await has({ available: 3, claimed: 0, resting: 0 });
    expect(posts).toEqual(['bulk']);
  });

  it('has another port made for one that a pod has had, and lets go what is beyond its most', async () => {
    network();
    pool(2, 2);
    await has({ available: 2 });
    asking('p');
    await expect.poll(isOpen('p'), soon).toBe(true);
    await has({ available: 2, claimed: 1 });
    const had = (await portsNow()).find(({ spec }) => spec.claim.pod === 'p');
    expect(memory.ports.has(had?.status?.portID ?? '')).toBe(true);
    api.remove('pods', 'p');
    await has({ resting: 1 });
    aheadMs = REST_MS;
    pool(3, 3);
    await has({ available: 3, claimed: 0, resting: 0 });
    expect(memory.ports.size).toBe(3);
    expect(memory.ports.has(had?.status?.portID ?? '')).toBe(false);
    pool(1, 1);
    await has({ available: 1, resting: 2 });
    api.remove('networkportpools', 'warm');
    await expect.poll(async () => (await portsNow()).every(isReleased), soon).toBe(true);
  });
});
