import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { ALWAYS_LEADING, NO_METRICS } from '#shared/kube/testing/controller.ts';
import {
  KEEP_ADDRESSES_ANNOTATION,
  NETWORK_PORTS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  PORTS_GATE,
} from '#shared/names.ts';
import type { ManagedNetworkSpec } from '#shared/resources/other-kinds/managed-network.ts';
import { managedNetworkResource } from '#shared/resources/other-kinds/managed-network.ts';
import {
  networkPortResource,
  type NetworkPort,
} from '#shared/resources/other-kinds/network-port.ts';
import { Registry } from '#shared/metrics/prometheus.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { jsonIn } from '#shared/util/json.ts';
import { podResource, statefulSets } from '../../sources/workload.ts';
import { FakeFleetApi, NAMESPACE } from '../fleet/testing/api-server.ts';
import { createNetworkPortsController, type NetworkPortsDeps } from './controller.ts';
import { REST_MS } from './decide.ts';
import { createPortMetrics } from './metrics.ts';
import { portNodes } from './objects.ts';
import { networkObject } from './testing.ts';
import { virtualAddresses } from './virtual-addresses.ts';

let api: FakeFleetApi;
let events: RecordedEvent[];
let registry: Registry;
let aheadMs: number;
/** Until the API server answers a creation or a patch. */
let answersInMs: number;
/** The same of the creation of a NetworkPort by its name. */
let createsInMs: Map<string, number>;
let running: { end: AbortController; done: Promise<void> };

const begin = (some: Partial<NetworkPortsDeps> = {}): void => {
  const end = new AbortController();
  registry = new Registry();
  const client = api.client();
  const patch: typeof client.patch = async (...asked) => {
    await systemClock.sleep(answersInMs, end.signal);
    return await client.patch(...asked);
  };
  const create: typeof client.create = async (resource, body, call) => {
    const name = String(body.metadata?.name);
    await systemClock.sleep(createsInMs.get(name) ?? answersInMs, end.signal);
    return await client.create(resource, body, call);
  };
  const { run } = createNetworkPortsController({
    client: answersInMs > 0 || createsInMs.size > 0 ? { ...client, create, patch } : client,
    record: (event) => void events.push(event),
    metrics: NO_METRICS,
    portMetrics: createPortMetrics(registry),
    leadership: ALWAYS_LEADING,
    clock: { ...systemClock, now: () => Date.now() + aheadMs },
    log: silentLogger,
    ...some,
  });
  running = { end, done: run(end.signal) };
};
const kill = async (): Promise<void> => {
  running.end.abort();
  await running.done;
};
beforeEach(() => {
  api = new FakeFleetApi({
    told: ['managednetworks', 'networkports', 'pods', 'nodes', 'virtualaddresses'],
    ofCluster: ['managednetworks', 'networkports', 'nodes'],
  });
  events = [];
  aheadMs = 0;
  answersInMs = 0;
  createsInMs = new Map();
  node('up', true);
  begin();
});
afterEach(kill);

const node = (name: string, isReady: boolean): void =>
  void api.put(portNodes, {
    metadata: { name },
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'Unknown' }] },
  });
const network = (name: string, size: number, some: Partial<ManagedNetworkSpec> = {}): void => {
  const third = name.codePointAt(0);
  const { spec } = networkObject({
    names: [`net-${name}`],
    subnets: [{ cidr: `10.${third}.0.0/16`, ranges: [`10.${third}.0.1-10.${third}.0.${size}`] }],
    namespaces: [NAMESPACE],
    ...some,
  });
  api.put(managedNetworkResource, { metadata: { name }, spec });
};
const pod = (name: string, networks: string[], some: object = {}): void => {
  const nfn = networks.map((of, at) => ({ name: `net-${of}`, interface: `net${at}` }));
  api.put(podResource, {
    metadata: {
      name,
      annotations: { [NFN_NETWORK_ANNOTATION]: JSON.stringify({ interface: nfn }) },
    },
    spec: { schedulingGates: [{ name: 'other' }, { name: PORTS_GATE }] },
    ...some,
  });
};
const gatesOf = (name: string): unknown => Object(api.get('pods', name)?.['spec']).schedulingGates;
const addressesOf = (name: string): string[] => {
  const text = api.get('pods', name)?.metadata.annotations?.[NFN_NETWORK_ANNOTATION] ?? '{}';
  const entries: { ipAddress?: string }[] = Object(jsonIn(text)).interface ?? [];
  return entries.flatMap(({ ipAddress }) => ipAddress ?? []);
};
const portsNow = async (): Promise<NetworkPort[]> =>
  (await api.client().list(networkPortResource)).items;
const claims = async (): Promise<string[]> =>
  (await portsNow())
    .filter(({ status }) => status?.releasedAt === undefined)
    .map(({ metadata, spec }) => `${metadata.name} ${spec.claim.pod}`)
    .toSorted();
const saidOf = (name: string): string[] =>
  events
    .filter(({ object }) => object.metadata.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`);
const soon = { interval: 10 };
const BOTH_GATES = [{ name: 'other' }, { name: PORTS_GATE }];
const claimable = (name: string) => async (): Promise<boolean> => {
  const { status } = await api.client().get(managedNetworkResource, { name });
  return status?.conditions?.some(({ type }) => type === 'Adopted') ?? false;
};

describe('a pod behind the gate', () => {
  it('gets its addresses, their names and its gate opened in one write', async () => {
    network('a', 4);
    network('b', 4);
    pod('p', ['a', 'b']);
    await expect.poll(() => gatesOf('p'), soon).toEqual([{ name: 'other' }]);
    expect(addressesOf('p')).toEqual(['10.97.0.1', '10.98.0.1']);
    expect(api.get('pods', 'p')?.metadata.annotations?.[NETWORK_PORTS_ANNOTATION]).toBe(
      '{"net0":"a-1","net1":"b-1"}',
    );
    expect(api.writes.filter((write) => write.endsWith('pods/p'))).toEqual(['patch pods/p']);
    const figures = await registry.metrics();
    expect(figures).toContain('sdewan_coordinator_network_assigned_seconds_count 1');
    expect(saidOf('p').at(-1)).toBe(
      'AddressesAssigned: net0: 10.97.0.1 (NetworkPort a-1); net1: 10.98.0.1 (NetworkPort b-1)',
    );
  });

  it('claims nothing where one of its networks is full, and goes on by itself', async () => {
    network('a', 4);
    network('b', 1);
    pod('holder', ['b']);
    await expect.poll(() => addressesOf('holder'), soon).toHaveLength(1);
    pod('p', ['a', 'b']);
    await expect.poll(() => saidOf('p').join(), soon).toContain('network b has no free address');
    expect(await claims()).toEqual(['b-1 holder']);
    const figures = async () => (await registry.metrics()).split('\n');
    const claimed = 'sdewan_coordinator_network_addresses{network="b",state="claimed"} 1';
    await expect.poll(figures, soon).toContain(claimed);
    expect(await figures()).toContain('sdewan_coordinator_network_pods_waiting 1');
    api.remove('pods', 'holder');
    await expect.poll(claims, soon).toEqual([]);
    aheadMs = REST_MS;
    await kill();
    begin();
    await expect.poll(() => addressesOf('p'), soon).toEqual(['10.97.0.1', '10.98.0.1']);
  });

  it('waits where the coordinator may not write it, and says what to bind', async () => {
    api.refusals.set('patch pods/p', { status: 403, reason: 'Forbidden' });
    network('a', 4);
    pod('p', ['a']);
    await expect
      .poll(() => saidOf('p').join(), soon)
      .toContain('bind ClusterRole sdewan-network-ports');
    expect(gatesOf('p')).toHaveLength(2);
  });

  it('is not let go while the watch has not shown its network yet', async () => {
    network('a', 4);
    await expect.poll(claimable('a'), soon).toBe(true);
    api.isHeld = (plural) => plural === 'managednetworks';
    network('b', 4);
    pod('p', ['a', 'b']);
    pod('q', ['b']);
    pod('last', ['a']);
    await expect.poll(() => addressesOf('last'), soon).toHaveLength(1);
    expect([gatesOf('p'), gatesOf('q')]).toEqual([BOTH_GATES, BOTH_GATES]);
    api.letGo();
    await expect.poll(() => addressesOf('p'), soon).toHaveLength(2);
    await expect.poll(() => addressesOf('q'), soon).toHaveLength(1);
  });

  it('gives back what an earlier look has claimed and its annotation no longer asks for', async () => {
    network('a', 4);
    network('b', 4);
    api.refusals.set('patch pods/p', { status: 403, reason: 'Forbidden' });
    pod('p', ['a', 'b']);
    await expect.poll(claims, soon).toEqual(['a-1 p', 'b-1 p']);
    pod('p', ['b']);
    await expect.poll(claims, soon).toEqual(['b-2 p']);
    api.refusals.clear();
    const nfn = [{ name: 'net-b', interface: 'net0', ipAddress: '10.98.0.3' }];
    const annotations = { [NFN_NETWORK_ANNOTATION]: JSON.stringify({ interface: nfn }) };
    api.put(podResource, { ...api.get('pods', 'p'), metadata: { name: 'p', annotations } });
    await expect.poll(() => gatesOf('p'), soon).toEqual([{ name: 'other' }]);
    expect(addressesOf('p')).toEqual(['10.98.0.3']);
    expect(await claims()).toEqual(['b-3 p']);
  });

  it('gets none beyond the share of its namespace, and no write is in vain, among others that come with it', async () => {
    network('a', 40, { perNamespace: 6 });
    await expect.poll(claimable('a'), soon).toBe(true);
    await kill();
    answersInMs = 20;
    for (let at = 0; at < 12; at += 1) pod(`p${at}`, ['a']);
    begin();
    await expect
      .poll(() => events.filter(({ reason }) => reason === 'NoFreeAddress').length, soon)
      .toBe(6);
    await expect.poll(claims, soon).toHaveLength(6);
    expect(api.writes.filter((write) => write.startsWith('create networkports'))).toHaveLength(6);
  });

  it('has no address without a claim where one of two fails at once, and the other late', async () => {
    for (const name of ['a', 'b']) network(name, 4);
    for (const name of ['a', 'b']) await expect.poll(claimable(name), soon).toBe(true);
    await kill();
    createsInMs.set('b-1', 500);
    const error = { status: 500, reason: 'InternalError' };
    for (const name of ['a-1', 'b-1']) api.refusals.set(`create networkports/${name}`, error);
    begin();
    pod('p', ['a', 'b']);
    const tried = (name: string): boolean => api.writes.includes(`create networkports/${name}`);
    await expect.poll(() => tried('a-1'), soon).toBe(true);
    api.refusals.delete('create networkports/a-1');
    await expect.poll(() => tried('b-1'), soon).toBe(true);
    api.refusals.clear();
    await expect.poll(() => addressesOf('p'), soon).toHaveLength(2);
    pod('q', ['a', 'b']);
    await expect.poll(() => addressesOf('q'), soon).toHaveLength(2);
    expect(await claims()).toEqual(['a-1 p', 'a-2 q', 'b-1 p', 'b-2 q']);
  });

  it('is tried ever less often while its claim is refused, and has no other tried', async () => {
    for (const name of ['a', 'b']) network(name, 4);
    for (const name of ['a', 'b']) await expect.poll(claimable(name), soon).toBe(true);
    const creations = ['create networkports/a-1', 'create networkports/b-1'];
    for (const one of creations) api.refusals.set(one, { status: 422, reason: 'Invalid' });
    const begunAt = performance.now();
    pod('p', ['a']);
    pod('q', ['b']);
    const tried = (creation: string): number =>
      api.writes.filter((write) => write === creation).length;
    for (const one of creations) await expect.poll(() => tried(one), soon).toBeGreaterThan(5);
    // The shortest five waits of the backoff.
    expect(performance.now() - begunAt).toBeGreaterThan(600);
  });

  it('needs no list of all pods that wait where there is a network', async () => {
    await kill();
    network('a', 4);
    pod('p', ['a']);
    const client = api.client();
    const selected: (string | undefined)[] = [];
    const list: typeof client.list = async (resource, call) => {
      if (resource.plural === 'pods') selected.push(call?.fieldSelector);
      return await client.list(resource, call);
    };
    begin({ client: { ...client, list } });
    await expect.poll(() => addressesOf('p'), soon).toHaveLength(1);
    expect(selected).not.toContain('spec.nodeName=');
  });

  it('is let go where none of its networks is managed', async () => {
    network('a', 4);
    pod('p', ['z']);
    await expect.poll(() => gatesOf('p'), soon).toEqual([{ name: 'other' }]);
    expect(await claims()).toEqual([]);
  });
});

describe('a StatefulSet that keeps addresses', () => {
  const set = (replicas: number): void =>
    void api.put(statefulSets, {
      metadata: { name: 'db' },
      spec: { replicas, template: { metadata: { annotations: KEEP } } },
    });
  const KEEP = { [KEEP_ADDRESSES_ANNOTATION]: 'true' };
  const member = (uid: string, on?: string): void => {
    const nfn = JSON.stringify({ interface: [{ name: 'net-a', interface: 'net0' }] });
    const { annotations } = api.get('pods', 'db-0')?.metadata ?? {};
    api.put(podResource, {
      metadata: {
        name: 'db-0',
        uid,
        annotations:
          on === undefined ? { [NFN_NETWORK_ANNOTATION]: nfn, ...KEEP } : (annotations ?? {}),
        ownerReferences: [{ ...REF, uid: 'uid-statefulsets-db' }],
      },
      spec: on === undefined ? { schedulingGates: [{ name: PORTS_GATE }] } : { nodeName: on },
    });
  };
  const REF = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', controller: true };
  const first = async (on: string): Promise<void> => {
    set(1);
    network('a', 4);
    pod('other', ['a']);
    await expect.poll(() => addressesOf('other'), soon).toEqual(['10.97.0.1']);
    member('one');
    await expect.poll(() => addressesOf('db-0'), soon).toEqual(['10.97.0.2']);
    member('one', on);
    await expect.poll(async () => (await portsNow())[1]?.status?.node, soon).toBe(on);
    api.remove('pods', 'other');
    await expect.poll(claims, soon).toEqual(['a-2 db-0']);
  };
  const ends = (): void => api.remove('pods', 'db-0');
  const isKept = async (): Promise<boolean> =>
    (await portsNow()).some(({ status }) => status?.keptSince !== undefined);

  it('has them for its next pod, whatever coordinator leads, and no other pod gets them', async () => {
    await first('up');
    ends();
    await expect.poll(isKept, soon).toBe(true);
    await kill();
    begin();
    pod('thief', ['a'], {});
    await expect.poll(() => addressesOf('thief'), soon).toHaveLength(1);
    member('two');
    await expect.poll(() => addressesOf('db-0'), soon).toEqual(['10.97.0.2']);
    expect(addressesOf('thief')).not.toContain('10.97.0.2');
    expect(await isKept()).toBe(false);
  });

  it('frees them when it is scaled below, and when it goes', async () => {
    await first('up');
    set(0);
    ends();
    await expect.poll(claims, soon).toEqual([]);
    set(1);
    await kill();
    begin();
    member('two');
    await expect.poll(() => addressesOf('db-0'), soon).toHaveLength(1);
    api.remove('statefulsets', 'db');
    ends();
    await expect.poll(claims, soon).toEqual([]);
  });

  it('has its next pod wait until the one before is gone from a silent node, and says so', async () => {
    node('silent', false);
    await first('silent');
    ends();
    await expect.poll(() => saidOf('a-2').join(), soon).toContain('does not answer');
    member('two');
    await expect.poll(() => saidOf('db-0').at(-1), soon).toMatch(/^PodBefore: .*\(two\).*\(one\)/);
    expect(addressesOf('db-0')).toEqual([]);
    api.put(portNodes, {
      metadata: { name: 'silent' },
      spec: { taints: [{ key: 'node.kubernetes.io/out-of-service' }] },
    });
    await expect.poll(() => addressesOf('db-0'), soon).toEqual(['10.97.0.2']);
  });

  it('frees those of a network that its next pod does not ask for', async () => {
    network('b', 4);
    await first('up');
    ends();
    await expect.poll(isKept, soon).toBe(true);
    member('two');
    await expect.poll(() => addressesOf('db-0'), soon).toEqual(['10.97.0.2']);
    ends();
    await expect.poll(isKept, soon).toBe(true);
    const nfn = JSON.stringify({ interface: [{ name: 'net-b', interface: 'net0' }] });
    api.put(podResource, {
      metadata: {
        name: 'db-0',
        uid: 'three',
        annotations: { [NFN_NETWORK_ANNOTATION]: nfn, ...KEEP },
        ownerReferences: [{ ...REF, uid: 'uid-statefulsets-db' }],
      },
      spec: { schedulingGates: [{ name: PORTS_GATE }] },
    });
    await expect.poll(claims, soon).toEqual(['b-1 db-0']);
  });
});

describe('coordinators that die, or whose answers are lost,', () => {
  it('leave no address with two pods, and none over', async () => {
    network('a', 40);
    network('b', 40);
    const names = Array.from({ length: 12 }, (_, at) => `p${at}`);
    let writes = 0;
    api.fate = () => {
      writes += 1;
      if (writes % 7 === 0) void kill().then(() => begin());
      return writes % 5 === 0 ? 'lost' : undefined;
    };
    for (const name of names) pod(name, ['a', 'b']);
    await expect
      .poll(() => names.filter((name) => addressesOf(name).length === 2), soon)
      .toEqual(names);
    api.fate = () => undefined;
    await kill();
    begin();
    const given = names.flatMap(addressesOf);
    expect(new Set(given).size).toBe(2 * names.length);
    await expect.poll(async () => (await claims()).length, soon).toBe(2 * names.length);
    for (const name of names) api.remove('pods', name);
    await expect.poll(claims, soon).toEqual([]);
    aheadMs = REST_MS;
    await kill();
    begin();
    await expect.poll(portsNow, soon).toEqual([]);
  });
});

describe('the address of a pod', () => {
  const run = async (name: string, on: string): Promise<void> => {
    network('a', 4);
    pod(name, ['a']);
    await expect.poll(() => addressesOf(name), soon).toHaveLength(1);
    const { metadata, ...rest } = api.get('pods', name)!;
    api.put(podResource, { ...rest, metadata, spec: { nodeName: on } });
    await expect.poll(async () => (await portsNow())[0]?.status?.node, soon).toBe(on);
  };

  it('is given back by uid: another pod of its name has another', async () => {
    await run('p', 'up');
    const old = api.get('pods', 'p')?.metadata.uid;
    api.remove('pods', 'p');
    api.put(podResource, { metadata: { name: 'p', uid: `${old}-2` }, spec: {} });
    await expect.poll(claims, soon).toEqual([]);
  });

  it('stays claimed while the node of a pod that is gone does not answer', async () => {
    node('silent', false);
    await run('p', 'silent');
    api.remove('pods', 'p');
    await expect.poll(() => saidOf('a-1').join(), soon).toContain('node silent does not answer');
    expect(await claims()).toEqual(['a-1 p']);
    node('silent', true);
    await expect.poll(claims, soon).toEqual([]);
  });

  it('stays claimed where the watch shows that its pod is gone before it shows the silent node', async () => {
    node('silent', true);
    await run('p', 'silent');
    await expect.poll(async () => (await portsNow())[0]?.status?.node, soon).toBe('silent');
    api.isHeld = (plural) => plural === 'nodes';
    node('silent', false);
    api.remove('pods', 'p');
    await expect.poll(() => api.reads, soon).toContain('pods/p');
    api.letGo();
    await expect.poll(() => saidOf('a-1').join(), soon).toContain('node silent does not answer');
    expect(await claims()).toEqual(['a-1 p']);
  });

  it('is given back when the Node of the pod is deleted', async () => {
    node('lost', false);
    await run('p', 'lost');
    api.remove('nodes', 'lost');
    await expect.poll(claims, soon).toEqual([]);
  });

  it('is compared with what the CNI has given, and the pod is told once', async () => {
    await run('p', 'up');
    const { metadata, ...rest } = api.get('pods', 'p')!;
    const annotations = {
      ...metadata.annotations,
      'k8s.plugin.opnfv.org/ovnInterfaces': '[{"ip_address":["10.97.0.9/16"],"interface":"net0"}]',
    };
    api.put(podResource, { ...rest, metadata: { ...metadata, annotations } });
    await expect
      .poll(() => saidOf('p').at(-1), soon)
      .toContain('AddressDiffers: interface net0 has 10.97.0.9, and not 10.97.0.1 of NetworkPort');
    expect(saidOf('p').filter((text) => text.startsWith('AddressDiffers'))).toHaveLength(1);
  });

  it('is claimed anew when its NetworkPort is deleted while the pod runs', async () => {
    await run('p', 'up');
    api.remove('networkports', 'a-1');
    await expect.poll(claims, soon).toEqual(['a-1 p']);
  });

  it('is claimed anew before a pod that waits gets it, also when the API server fails', async () => {
    network('a', 1);
    pod('p', ['a']);
    await expect.poll(() => addressesOf('p'), soon).toHaveLength(1);
    pod('waits', ['a']);
    await expect.poll(() => saidOf('waits').join(), soon).toContain('no free address');
    api.refusals.set('create networkports/a-1', { status: 500, reason: 'InternalError' });
    const tried = (): number =>
      api.writes.filter((write) => write === 'create networkports/a-1').length;
    const before = tried();
    api.remove('networkports', 'a-1');
    await expect.poll(tried, soon).toBeGreaterThan(before);
    api.refusals.clear();
    await expect.poll(claims, soon).toEqual(['a-1 p']);
    expect(gatesOf('waits')).toEqual(BOTH_GATES);
  });

  it('is given to no other pod when the subnet moves', async () => {
    network('a', 4, { subnets: [{ cidr: '10.97.0.0/24', ranges: ['10.97.0.129-10.97.0.132'] }] });
    pod('p', ['a']);
    await expect.poll(() => addressesOf('p'), soon).toEqual(['10.97.0.129']);
    network('a', 4, { subnets: [{ cidr: '10.97.0.128/25', ranges: ['10.97.0.129-10.97.0.132'] }] });
    pod('q', ['a']);
    await expect
      .poll(() => saidOf('q').join(), soon)
      .toContain('pod edge/p has 10.97.0.129, which is not at offset 129 of the subnets any more');
    api.remove('pods', 'p');
    await expect.poll(claims, soon).toEqual([]);
    aheadMs = REST_MS;
    await kill();
    begin();
    await expect.poll(() => addressesOf('q'), soon).toEqual(['10.97.0.129']);
  });
});

const annotations = (...ips: string[]) => ({
  [NFN_NETWORK_ANNOTATION]: '{"interface":[{"name":"net-a","interface":"net0"}]}',
  'k8s.plugin.opnfv.org/ovnInterfaces': JSON.stringify([{ ip_address: ips, interface: 'net0' }]),
});

describe('a pod that says it has addresses', () => {
  const liar = (name: string, namespace: string, some: object, ...ips: string[]): void =>
    void api.put(podResource, {
      metadata: { name, namespace, annotations: annotations(...ips) },
      ...some,
    });
  const RUNS = { spec: { nodeName: 'up' } };

  it('keeps none from others where its namespace gets none, and where no node runs it', async () => {
    network('a', 2);
    await expect.poll(claimable('a'), soon).toBe(true);
    liar('stranger', 'elsewhere', RUNS, '10.97.0.1', '10.97.0.2');
    liar('idle', NAMESPACE, {}, '10.97.0.1', '10.97.0.2');
    pod('p', ['a']);
    await expect.poll(() => addressesOf('p'), soon).toEqual(['10.97.0.1']);
  });

  it('has those that wait looked at once a second, however often it says others', async () => {
    network('a', 2);
    await expect.poll(claimable('a'), soon).toBe(true);
    liar('stranger', 'elsewhere', RUNS, '10.97.0.1');
    const [gate] = BOTH_GATES.slice(1);
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'db' };
    pod('waits', [], {
      metadata: {
        name: 'waits',
        annotations: { ...annotations(), [KEEP_ADDRESSES_ANNOTATION]: 'true' },
        ownerReferences: [{ ...owner, controller: true }],
      },
      spec: { schedulingGates: [gate] },
    });
    await expect.poll(() => saidOf('waits').join(), soon).toContain('CannotBeKept');
    const looks = (): number => api.reads.filter((read) => read === 'statefulsets/db').length;
    const before = looks();
    const begunAt = performance.now();
    for (let at = 0; at < 50; at += 1) {
      liar('stranger', 'elsewhere', RUNS, `10.97.0.${1 + (at % 2)}`);
      await systemClock.sleep(20);
    }
    await expect.poll(looks, soon).toBeGreaterThan(before);
    const seconds = (performance.now() - begunAt) / 1_000;
    expect(looks() - before).toBeLessThan(2 + seconds);
  });

  it('keeps no more than the share of its namespace, which counts what that was given', async () => {
    network('a', 4, { namespaces: [NAMESPACE, 'other'], perNamespace: 2 });
    await expect.poll(claimable('a'), soon).toBe(true);
    liar('greedy', 'other', RUNS, '10.97.0.1', '10.97.0.2', '10.97.0.3', '10.97.0.4');
    pod('p', ['a']);
    pod('q', ['a']);
    await expect
      .poll(() => [...addressesOf('p'), ...addressesOf('q')], soon)
      .toEqual(['10.97.0.3', '10.97.0.4']);
  });

  it('is not given what another pod says it has while there is another address', async () => {
    network('a', 2);
    await expect.poll(claimable('a'), soon).toBe(true);
    liar('stranger', 'elsewhere', RUNS, '10.97.0.1');
    const foreign = async () =>
      (await api.client().get(managedNetworkResource, { name: 'a' })).status?.foreign;
    await expect.poll(foreign, soon).toBe(1);
    pod('p', ['a']);
    await expect.poll(() => addressesOf('p'), soon).toEqual(['10.97.0.2']);
  });

  const old = (name: string, namespace: string, hour: number, ...ips: string[]): void =>
    void api.put(podResource, {
      metadata: {
        name,
        namespace,
        annotations: annotations(...ips),
        creationTimestamp: `2026-01-01T0${hour}:00:00Z`,
      },
      ...RUNS,
    });
  const conflicts = async () =>
    (await api.client().get(managedNetworkResource, { name: 'a' })).status?.conflicts;

  it('has none claimed for it where its namespace gets none, nor beyond the share of that', async () => {
    old('stranger', 'elsewhere', 1, '10.97.0.1');
    old('third', 'other', 4, '10.97.0.4');
    old('second', 'other', 3, '10.97.0.3');
    old('first', 'other', 2, '10.97.0.2');
    old('ours', NAMESPACE, 5, '10.97.0.5');
    network('a', 6, { namespaces: [NAMESPACE, 'other'], perNamespace: 2 });
    await expect
      .poll(conflicts, soon)
      .toEqual([
        'pod other/third, interface net0: 10.97.0.4: namespace other has 2 of at most 2 addresses of network a, those that rest too, and needs 1 more',
        'pod elsewhere/stranger, interface net0: 10.97.0.1: namespace elsewhere gets no address of network a: spec.namespaces has edge, other',
      ]);
    expect(await claims()).toEqual(['a-2 first', 'a-3 second', 'a-5 ours']);
  });

  it('has none claimed for it that another one says it has, in whatever namespace and at whatever offset', async () => {
    liar('idle', NAMESPACE, {}, '10.97.0.4');
    old('liar', NAMESPACE, 1, '10.97.0.1');
    old('honest', 'elsewhere', 2, '10.97.0.1');
    old('pair', 'elsewhere', 1, '10.97.0.2', '10.97.0.3');
    old('single', NAMESPACE, 2, '10.97.0.2');
    old('alone', NAMESPACE, 3, '10.97.0.4');
    network('a', 4);
    await expect.poll(claims, soon).toEqual(['a-4 alone']);
    await expect
      .poll(conflicts, soon)
      .toEqual([
        'pod edge/liar, interface net0: 10.97.0.1: pod elsewhere/honest says that it has it too',
        'pod edge/single, interface net0: 10.97.0.2: pod elsewhere/pair says that it has it too',
        expect.stringContaining('pod elsewhere/pair, interface net0: 10.97.0.2 10.97.0.3: '),
        expect.stringContaining(
          'pod elsewhere/honest, interface net0: 10.97.0.1: namespace elsewhere',
        ),
      ]);
  });

  it('keeps its address from a pod that fixes it, where its namespace gets none, and is named', async () => {
    network('a', 2);
    await expect.poll(claimable('a'), soon).toBe(true);
    liar('stranger', 'elsewhere', RUNS, '10.97.0.1');
    const nfn = [{ name: 'net-a', interface: 'net0', ipAddress: '10.97.0.1' }];
    const fixed = { [NFN_NETWORK_ANNOTATION]: JSON.stringify({ interface: nfn }) };
    pod('p', [], { metadata: { name: 'p', annotations: fixed } });
    await expect
      .poll(() => saidOf('p').join(), soon)
      .toContain('10.97.0.1 for interface net0: pod elsewhere/stranger has it');
    expect(gatesOf('p')).toEqual(BOTH_GATES);
    api.remove('pods', 'stranger');
    await expect.poll(claims, soon).toEqual(['a-1 p']);
  });
});

describe('the address of a VirtualAddress', () => {
  const holds = (name: string, namespace: string, ...addresses: string[]): void =>
    void api.put(virtualAddresses, { metadata: { name, namespace }, spec: { addresses } });
  const foreign = async () =>
    (await api.client().get(managedNetworkResource, { name: 'a' })).status?.foreign;

  it('is foreign: given to no pod, until it holds that no more', async () => {
    holds('gw', NAMESPACE, '10.97.0.1/16', '192.0.2.1');
    network('a', 1);
    await expect.poll(foreign, soon).toBe(1);
    const fixed = JSON.stringify({
      interface: [{ name: 'net-a', interface: 'net0', ipAddress: '10.97.0.1' }],
    });
    pod('p', ['a']);
    pod('fixed', [], {
      metadata: { name: 'fixed', annotations: { [NFN_NETWORK_ANNOTATION]: fixed } },
    });
    await expect.poll(() => saidOf('p').join(), soon).toContain('1 are in use without');
    await expect
      .poll(() => saidOf('fixed').join(), soon)
      .toContain(`VirtualAddress ${NAMESPACE}/gw has it`);
    api.remove('pods', 'fixed');
    holds('gw', NAMESPACE, '10.97.0.2', '192.0.2.1');
    await expect.poll(() => addressesOf('p'), soon).toEqual(['10.97.0.1']);
    api.remove('virtualaddresses', 'gw');
    await expect.poll(foreign, soon).toBe(0);
  });

  it('is given last where the namespace of that gets none or has its share', async () => {
    network('a', 4, { namespaces: [NAMESPACE, 'other'], perNamespace: 1 });
    await expect.poll(claimable('a'), soon).toBe(true);
    holds('greedy', 'other', '10.97.0.1', '10.97.0.2');
    holds('stranger', 'elsewhere', '10.97.0.3');
    await expect.poll(foreign, soon).toBe(3);
    pod('p', ['a']);
    await expect.poll(() => addressesOf('p'), soon).toEqual(['10.97.0.4']);
    network('a', 4, { namespaces: [NAMESPACE, 'other'] });
    pod('q', ['a']);
    await expect.poll(() => addressesOf('q'), soon).toEqual(['10.97.0.3']);
  });
});

it('keeps no pod waiting for all those of another namespace', async () => {
  network('a', 2);
  await expect.poll(claimable('a'), soon).toBe(true);
  await kill();
  const CROWD = 200;
  for (let at = 0; at < CROWD; at += 1)
    pod(`crowd-${at}`, ['a'], {
      metadata: {
        name: `crowd-${at}`,
        namespace: 'crowd',
        annotations: { [NFN_NETWORK_ANNOTATION]: '{"interface":[]}' },
      },
    });
  pod('p', ['a']);
  // All of them wait by the time of the second.
  answersInMs = 50;
  begin();
  await expect.poll(() => addressesOf('p'), soon).toHaveLength(1);
  const before = api.writes.slice(0, api.writes.indexOf('patch pods/p'));
  expect(before.filter((write) => write.includes('crowd')).length).toBeLessThan(10);
});

it('claims the addresses of running pods before a network gives any', async () => {
  const old = (name: string, ip: string) =>
    api.put(podResource, {
      metadata: { name, annotations: annotations(ip) },
      spec: { nodeName: 'up' },
    });
  old('old-1', '10.97.0.1/16');
  old('old-2', '10.97.0.2/16');
  old('old-3', '10.97.0.2/16');
  pod('new', ['a']);
  api.refusals.set('create networkports/a-1', { status: 500, reason: 'InternalError' });
  network('a', 4);
  const statusOf = async () =>
    (await api.client().get(managedNetworkResource, { name: 'a' })).status;
  await expect.poll(statusOf, soon).toMatchObject({
    adopting: 3,
    conditions: [{ type: 'Ready', status: 'False', reason: 'Adopting' }],
  });
  api.refusals.clear();
  await expect.poll(() => addressesOf('new'), soon).toEqual(['10.97.0.3']);
  expect(await claims()).toEqual(['a-1 old-1', 'a-3 new']);
  const status = await statusOf();
  expect(status?.conflicts).toEqual([
    'pod edge/old-2, interface net0: 10.97.0.2/16: pod edge/old-3 says that it has it too',
    'pod edge/old-3, interface net0: 10.97.0.2/16: pod edge/old-2 says that it has it too',
  ]);
  expect(status).not.toHaveProperty('adopting');
});

it('leaves the first lists to the replica that leads', async () => {
  await kill();
  const listed: string[] = [];
  const client = api.client();
  const list: typeof client.list = async (resource, call) => {
    listed.push(resource.plural);
    return await client.list(resource, call);
  };
  const leading = Promise.withResolvers<void>();
  const lead: typeof ALWAYS_LEADING.lead = async (work, signal) => {
    await leading.promise;
    await ALWAYS_LEADING.lead(work, signal);
  };
  begin({ client: { ...client, list }, leadership: { ...ALWAYS_LEADING, lead } });
  expect(listed).toEqual([]);
  leading.resolve();
  await expect.poll(() => listed, soon).toContain(networkPortResource.plural);
});
