/** The controllers of NetworkPorts over a Neutron in memory: what they write, and how often. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ALWAYS_LEADING, NO_METRICS } from '#shared/kube/testing/controller.ts';
import { KEEP_ADDRESSES_ANNOTATION, NFN_NETWORK_ANNOTATION, PORTS_GATE } from '#shared/names.ts';
import { Registry } from '#shared/metrics/prometheus.ts';
import { managedNetworkResource } from '#shared/resources/other-kinds/managed-network.ts';
import {
  networkPortResource,
  type NetworkPort,
} from '#shared/resources/other-kinds/network-port.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import type { NeutronPorts } from '../../../neutron/ports.ts';
import { podResource, statefulSets } from '../../../sources/workload.ts';
import { FakeFleetApi, NAMESPACE } from '../../fleet/testing/api-server.ts';
import { createNetworkPortsController } from '../controller.ts';
import { createPortMetrics } from '../metrics.ts';
import { portNodes } from '../objects.ts';
import { CLUSTER, createNetworkInMemory, NETWORK, refusedWith, SUBNET } from './testing.ts';

const RESYNC_MS = 100;
const soon = { interval: 10, timeout: 10_000 };

let api: FakeFleetApi;
let memory: ReturnType<typeof createNetworkInMemory>;
let calls: NeutronPorts;
/** One in each look. */
let projects: number;
let running: { end: AbortController; done: Promise<void> };

beforeEach(() => {
  api = new FakeFleetApi({
    told: ['managednetworks', 'networkports', 'pods', 'nodes', 'virtualaddresses'],
    ofCluster: ['managednetworks', 'networkports', 'nodes'],
  });
  memory = createNetworkInMemory();
  projects = 0;
  calls = {
    ...memory.calls,
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
  const { run } = createNetworkPortsController({
    client: api.client(),
    record: () => undefined,
    metrics: NO_METRICS,
    portMetrics: createPortMetrics(new Registry()),
    leadership: ALWAYS_LEADING,
    clock: systemClock,
    log: silentLogger,
    neutronOfPorts: {
      calls: {
        ...calls,
        project: () => calls.project(),
        createPort: (port) => calls.createPort(port),
      },
      cluster: () => CLUSTER,
      resyncMs: RESYNC_MS,
      guardOf: () => 'guarded',
      onPorts: () => undefined,
    },
  });
  running = { end, done: run(end.signal) };
});
afterEach(async () => {
  running.end.abort();
  await running.done;
});

const network = (): void =>
  void api.put(managedNetworkResource, {
    metadata: { name: 'lan' },
    spec: {
      provider: 'neutron',
      neutron: { network: NETWORK },
      names: ['net-lan'],
      namespaces: [NAMESPACE],
    },
  });
const readyNow = async () => {
  const { status } = await api.client().get(managedNetworkResource, { name: 'lan' });
  return status?.conditions?.find(({ type }) => type === 'Ready');
};
const portsNow = async (): Promise<NetworkPort[]> =>
  (await api.client().list(networkPortResource)).items;

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

  it('is written a few times only', async () => {
    api.put(statefulSets, {
      metadata: { name: 'db' },
      spec: { replicas: 1, template: { metadata: { annotations: KEEP } } },
    });
    network();
    member('one');
    await expect.poll(async () => (await portsNow())[0]?.status?.portID, soon).toBeDefined();
    member('one', 'up');
    await expect.poll(async () => (await portsNow())[0]?.status?.node, soon).toBe('up');
    let asked = 0;
    calls.createPort = () => {
      asked += 1;
      return Promise.reject(refusedWith('IpAddressAlreadyAllocated'));
    };
    api.remove('pods', 'db-0');
    await expect.poll(async () => (await portsNow())[0]?.status?.keptSince, soon).toBeDefined();
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
