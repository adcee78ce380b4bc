/**
 * Ports of pods in a real Neutron, with the coordinator as a process, the real API server and its
 * fences: made once whatever becomes of answers, guarded before the pod runs, found again, and
 * deleted when nothing has them.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { networkPortPoolResource } from '#shared/resources/other-kinds/network-port-pool.ts';
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { NFN_NETWORK_ANNOTATION, POD_PORTS_ANNOTATION, POOL_LABEL } from '#shared/names.ts';
import { clusterMark } from '../../coordinator/neutron/names.ts';
import {
  createManagedNetworks,
  entriesOf,
  FORCED,
  GATED,
  nodus,
  podSpec,
  type Fields,
  type ManagedNetworks,
} from '../integration/coordinator/managed-networks.ts';
import { grantNeutron } from '../stack/neutron-rights.ts';
import { startNeutron, type RunningNeutron } from './harness/neutron.ts';

const START_MS = 500_000;
const SETTLES = { timeout: 150_000, interval: 250 };
/** Time of some of those, one after the other. */
const TEST_MS = 600_000;
vi.setConfig({ testTimeout: TEST_MS });
const RESYNC_MS = 3_000;
const LOOKS_BEFORE_SWEEP = 10;

type Port = {
  id: string;
  name: string;
  mac_address: string;
  security_groups: string[];
  fixed_ips: { ip_address: string }[];
};

let neutron: RunningNeutron;
let networks: ManagedNetworks;
let namespace: string;
/** That of a cluster whose uid another has as well. */
const mark = 'c0ffee41';
let markOfUid: string;
let lan: string;

beforeAll(async () => {
  neutron = await startNeutron({ database: 'mariadb', quota: { groups: 20, rules: 200 } });
  lan = await networkInNeutron();
  await subnetInNeutron(lan, '10.70.0.0/24', '10.70.0.10', '10.70.0.60');
  await subnetInNeutron(lan, 'fd00:70::/64', 'fd00:70::10', 'fd00:70::60');
  networks = await createManagedNetworks(['neutron-a'], {
    SDEWAN_OPENSTACK_CLOUD_FILE: neutron.cloudFile,
    SDEWAN_NEUTRON_RESYNC_MS: String(RESYNC_MS),
    SDEWAN_CLUSTER_ID: mark,
  });
  ({ namespace } = networks);
  await grantNeutron(networks.fixture.cluster, networks.fixture.systemNamespace);
  const uid = ['get', 'ns', 'kube-system', '-o', 'jsonpath={.metadata.uid}'];
  markOfUid = clusterMark((await networks.fixture.kubectl(...uid)).stdout);
  await managed('lan', { network: lan });
}, START_MS);
afterEach(async () => {
  neutron.gate.setFault(() => undefined);
});
afterAll(async () => {
  await networks?.close();
  await neutron?.stop();
});

const networkInNeutron = async (some: object = {}, roles?: string): Promise<string> => {
  const body = { network: { name: 'lan', ...some } };
  return (await neutron.call<{ network: { id: string } }>('POST', 'networks', body, roles)).network
    .id;
};
const subnetInNeutron = async (
  network: string,
  cidr: string,
  start: string,
  end: string,
): Promise<string> => {
  const subnet = {
    network_id: network,
    ip_version: cidr.includes(':') ? 6 : 4,
    cidr,
    allocation_pools: [{ start, end }],
  };
  return (await neutron.call<{ subnet: { id: string } }>('POST', 'subnets', { subnet })).subnet.id;
};
const managed = async (name: string, inNeutron: Fields): Promise<void> =>
  await networks.applied({
    apiVersion: 'network.sdewan.akraino.org/v1alpha1',
    kind: 'ManagedNetwork',
    metadata: { name },
    spec: {
      provider: 'neutron',
      names: [`net-${name}`],
      neutron: inNeutron,
      namespaces: [namespace],
    },
  });
const conditionOf = async (name: string, type = 'Ready') =>
  (await networks.statusOf(name))?.conditions?.find((one) => one.type === type);
const ready = async (name: string, reason: string): Promise<void> => {
  await expect.poll(async () => (await conditionOf(name))?.reason, SETTLES).toBe(reason);
};
const pod = (
  name: string,
  annotations: Fields = nodus('net-lan'),
  spec: Fields = GATED,
): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, annotations },
  spec: podSpec(spec),
});
const fixing = (entry: Fields): Record<string, string> => ({
  [NFN_NETWORK_ANNOTATION]: JSON.stringify({
    interface: [{ name: 'net-lan', interface: 'net0', ...entry }],
  }),
});
const runs = async (name: string): Promise<void> => {
  await expect.poll(async () => (await networks.seen(name)).spec.nodeName, SETTLES).toBeDefined();
};
const gone = async (...names: string[]): Promise<void> =>
  void (await networks.fixture.kubectl('delete', 'pod', ...names, '-n', namespace, ...FORCED));
const saysOf = async (name: string, words: string): Promise<void> => {
  await expect.poll(() => networks.eventsOf(name), SETTLES).toContain(words);
};
const inNeutron = async (network = lan): Promise<Port[]> =>
  (await neutron.call<{ ports: Port[] }>('GET', `ports?network_id=${network}`)).ports.filter(
    ({ name }) => name.startsWith(`sdewan/${mark}/np/`),
  );
const portOf = async (name: string): Promise<NetworkPort | undefined> =>
  (await networks.portsOf('lan')).find(({ spec }) => spec.claim.pod === name);
const addressesIn = ({ fixed_ips: ips }: Port): string[] =>
  ips.map(({ ip_address: address }) => address).toSorted();
/** Each port in Neutron is that of one NetworkPort, and the other way round. */
const expectAlike = async (): Promise<void> => {
  const both = async () => ({
    objects: (await networks.portsOf('lan'))
      .map(({ metadata, spec, status }) => `${metadata.uid} ${spec.mac} ${status?.portID}`)
      .toSorted(),
    ports: (await inNeutron())
      .map(({ id, name, mac_address: mac }) => `${name.split('/').at(-1)} ${mac} ${id}`)
      .toSorted(),
  });
  await expect
    .poll(async () => {
      const { objects, ports } = await both();
      return objects.join() === ports.join() ? 'alike' : { objects, ports };
    }, SETTLES)
    .toBe('alike');
};
const looks = (): number =>
  neutron.gate.calls.filter(({ path }) => path.includes(`ports?network_id=${lan}&project_id`))
    .length;
const posts = (): number =>
  neutron.gate.calls.filter(({ method, path }) => method === 'POST' && path === '/v2.0/ports')
    .length;

describe('a pod that waits for a port in Neutron', () => {
  it('gets its addresses and MAC, and its gate opens when the port has its groups', async () => {
    await ready('lan', 'Ready');
    neutron.gate.calls.length = 0;
    await networks.applied(pod('first'));
    await runs('first');
    const object = await portOf('first');
    const [made] = await inNeutron();
    expect(made).toMatchObject({
      id: object?.status?.portID,
      name: `sdewan/${mark}/np/${object?.metadata.uid}`,
      mac_address: object?.spec.mac,
    });
    // What no policy isolates is open: a group for each direction.
    expect(made?.security_groups).toHaveLength(2);
    expect(entriesOf(await networks.seen('first'))).toMatchObject([
      { ipAddress: object?.spec.addresses.join(' '), macAddress: object?.spec.mac },
    ]);
    expect(object?.spec.addresses.toSorted()).toEqual(made && addressesIn(made));
    expect(object?.status).toMatchObject({
      gateway: ['10.70.0.1', 'fd00:70::'],
      mtu: expect.any(Number),
    });
    expect(posts()).toBe(1);
  });

  it('stays behind its gate while Neutron sets no groups', async () => {
    neutron.gate.setFault(({ method }) => (method === 'PUT' ? 503 : undefined));
    await networks.applied(pod('bare'));
    await saysOf('bare', 'its port in Neutron has no security groups yet');
    expect((await networks.seen('bare')).spec.schedulingGates).toBeDefined();
    neutron.gate.setFault(() => undefined);
    await runs('bare');
  });

  it.each(['lose', 503] as const)(
    'gets one port, whichever answers are lost: %s',
    async (fault) => {
      const names = [1, 2, 3].map((at) => `lost-${at}-${fault}`.toLowerCase());
      let calls = 0;
      neutron.gate.setFault(() => {
        calls += 1;
        return calls % 7 === 0 ? fault : undefined;
      });
      await networks.applied(...names.map((name) => pod(name)));
      for (const name of names) await runs(name);
      neutron.gate.setFault(() => undefined);
      await expectAlike();
      await gone(...names);
    },
  );

  it('gets one port, when Neutron and the coordinator die in the middle', async () => {
    const names = [1, 2, 3, 4].map((at) => `dying-${at}`);
    await networks.applied(...names.map((name) => pod(name)));
    await expect
      .poll(async () => (await networks.portsOf('lan')).length, SETTLES)
      .toBeGreaterThan(2);
    await neutron.kill();
    await networks.fixture.stopCoordinator();
    await neutron.start();
    await networks.fixture.startCoordinator();
    for (const name of names) await runs(name);
    await expectAlike();
    await gone(...names);
  });

  it('is told that the quota is used up, or the subnet, and goes on when there is room', async () => {
    // Those of the tests before rest, and make room when they go.
    await expect.poll(async () => (await networks.portsOf('lan')).length, SETTLES).toBe(2);
    const used = (await neutron.call<{ ports: unknown[] }>('GET', 'ports')).ports.length;
    const limit = async (port: number): Promise<void> =>
      void (await neutron.call('PUT', `quotas/${neutron.project}`, { quota: { port } }, 'admin'));
    await limit(used);
    await networks.applied(pod('over'));
    await saysOf('over', 'the quota of ports of the project in Neutron is used up (OverQuota)');
    await ready('lan', 'Full');
    await limit(500);
    await runs('over');
    await ready('lan', 'Ready');

    const small = await networkInNeutron();
    await subnetInNeutron(small, '10.71.0.0/24', '10.71.0.10', '10.71.0.10');
    await managed('small', { network: small });
    await networks.applied(pod('holds', nodus('net-small')));
    await runs('holds');
    await networks.applied(pod('needs', nodus('net-small', 'net-lan')));
    await saysOf('needs', 'Neutron has no free address for network small (IpAddressGeneration');
    expect((await networks.seen('needs')).spec.schedulingGates).toBeDefined();
    await gone('holds');
    await runs('needs');
    await gone('needs', 'over');
  });

  it('does not get the address of a gateway, one that another has, or the MAC of a group', async () => {
    const { spec } = (await portOf('first')) ?? {};
    await networks.applied(
      pod('router', fixing({ ipAddress: '10.70.0.1' })),
      pod('thief', fixing({ ipAddress: spec?.addresses[0] })),
      pod('mac-thief', fixing({ macAddress: spec?.mac })),
      pod('group', fixing({ macAddress: '01:00:5e:00:00:01' })),
    );
    await saysOf('router', '10.70.0.1 is not in 10.70.0.10-10.70.0.60');
    await saysOf('thief', `pod ${namespace}/first has it`);
    await saysOf('mac-thief', `pod ${namespace}/first has it`);
    await saysOf('group', '01:00:5e:00:00:01 for interface net0 is the MAC of a group');
    const { port } = await neutron.call<{ port: Port }>('POST', 'ports', {
      port: { network_id: lan, name: 'theirs', fixed_ips: [{ ip_address: '10.70.0.55' }] },
    });
    await networks.applied(pod('late', fixing({ ipAddress: '10.70.0.55' })));
    await saysOf('late', 'a port of another user in Neutron has 10.70.0.55');
    await neutron.call('DELETE', `ports/${port.id}`);
    await runs('late');
    expect((await portOf('late'))?.spec.addresses[0]).toBe('10.70.0.55');
    await gone('router', 'thief', 'mac-thief', 'group', 'late');
  });
});

describe('a network of Neutron', () => {
  it('says that it does not exist, is of another project or has two subnets of a family', async () => {
    const theirs = await networkInNeutron({ project_id: 'other-project', shared: true }, 'admin');
    const twice = await networkInNeutron();
    for (const third of [74, 75])
      await subnetInNeutron(twice, `10.${third}.0.0/24`, `10.${third}.0.5`, `10.${third}.0.9`);
    await managed('absent', { network: randomUUID() });
    await managed('theirs', { network: theirs });
    await managed('twice', { network: twice });
    await ready('absent', 'NotFound');
    await ready('theirs', 'NotOurNetwork');
    await ready('twice', 'InvalidSpec');
    expect((await conditionOf('theirs'))?.message).toContain('is of project other-project');
    expect((await conditionOf('twice'))?.message).toContain('10.74.0.0/24');
    await networks.applied(pod('asks', nodus('net-theirs')));
    await saysOf('asks', 'network theirs: spec.neutron.network');
    await gone('asks');
    await networks.fixture.kubectl('delete', 'mnet', 'absent', 'theirs', 'twice');
  });

  it.each<[string, Fields, string]>([
    [
      'ranges of ours',
      { subnets: [{ cidr: '10.9.0.0/24', ranges: ['10.9.0.5'] }] },
      'spec.subnets',
    ],
    ['no network', { neutron: null }, 'spec.neutron'],
    ['another network than before', { neutron: { network: randomUUID() } }, 'cannot change'],
    ['another provider than before', { provider: 'static', neutron: null }, 'cannot change'],
  ])('cannot have %s', async (_, spec, words) => {
    const patch = JSON.stringify({ spec });
    const args = ['patch', 'mnet', 'lan', '--type=merge', '-p', patch, '--dry-run=server'];
    const { code, stderr } = await networks.fixture.kubectl(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(words);
  });
});

describe('a port in Neutron', () => {
  it('is made anew with its MAC and its addresses, when others delete it', async () => {
    const before = await portOf('first');
    await neutron.call('DELETE', `ports/${before?.status?.portID}`);
    await expect
      .poll(async () => (await portOf('first'))?.status?.portID, SETTLES)
      .not.toBe(before?.status?.portID);
    const after = await portOf('first');
    expect(after?.spec).toEqual(before?.spec);
    await expectAlike();
    const groups = async () =>
      (await inNeutron()).find(({ id }) => id === after?.status?.portID)?.security_groups.length;
    await expect.poll(groups, SETTLES).toBe(2);
  });

  it('stays that of the pod, when an administrator deletes its NetworkPort', async () => {
    const before = await portOf('first');
    await networks.fixture.kubectl('delete', 'nport', before?.metadata.name ?? '');
    await expect
      .poll(async () => (await portOf('first'))?.status?.portID, SETTLES)
      .toBe(before?.status?.portID);
    expect((await portOf('first'))?.metadata.uid).not.toBe(before?.metadata.uid);
    await expectAlike();
  });

  it('is no other pod’s, whatever that says of its ports', async () => {
    const port = (await portOf('first'))?.status?.portID;
    const groupsNow = async () =>
      (await inNeutron()).find(({ id }) => id === port)?.security_groups;
    await expect.poll(async () => (await groupsNow())?.length, SETTLES).toBe(2);
    const groups = await groupsNow();
    const text = JSON.stringify([{ interface: 'eth0', port }]);
    await networks.applied(pod('liar', { [POD_PORTS_ANNOTATION]: text }, {}));
    await saysOf('liar', 'it is that of a NetworkPort');
    expect(await groupsNow()).toEqual(groups);
    await gone('liar');
  });

  it('is deleted with its NetworkPort, when its pod is gone and it has rested', async () => {
    const { metadata } = (await portOf('first')) ?? {};
    await gone('first');
    const end = metadata?.uid ?? '';
    await expect
      .poll(async () => (await inNeutron()).some(({ name }) => name.endsWith(end)), SETTLES)
      .toBe(false);
    await expect.poll(() => portOf('first'), SETTLES).toBeUndefined();
    await expectAlike();
  });
});

describe('a pool of ports', () => {
  const poolOf = async () =>
    (await networks.fixture.client.get(networkPortPoolResource, { name: 'warm' })).status;
  const has = async (status: object): Promise<void> =>
    await expect.poll(poolOf, SETTLES).toMatchObject(status);
  const pool = (min: number, max: number): Promise<void> =>
    networks.applied({
      apiVersion: 'network.sdewan.akraino.org/v1alpha1',
      kind: 'NetworkPortPool',
      metadata: { name: 'warm' },
      spec: { network: 'lan', min, max },
    });

  it('is filled by one call, and no POST stands between a pod and its gate', async () => {
    // It still has a port, with groups.
    await gone('bare');
    await expect.poll(async () => (await networks.portsOf('lan')).length, SETTLES).toBe(0);
    await ready('lan', 'Ready');
    neutron.gate.calls.length = 0;
    await pool(4, 20);
    await has({ available: 20, failed: 0, conditions: [{ status: 'True', reason: 'Ready' }] });
    expect(posts()).toBe(1);
    await expectAlike();
    const names = [1, 2, 3].map((at) => `warm-${at}`);
    await networks.applied(...names.map((name) => pod(name)));
    for (const name of names) await runs(name);
    expect(posts()).toBe(1);
    await has({ available: 17, claimed: 3 });
    for (const name of names) {
      const port = await portOf(name);
      expect(port?.metadata.labels).toMatchObject({ [POOL_LABEL]: 'warm' });
      const made = (await inNeutron()).find(({ id }) => id === port?.status?.portID);
      expect(made?.security_groups).toHaveLength(2);
      expect(entriesOf(await networks.seen(name))).toMatchObject([
        { ipAddress: port?.spec.addresses.join(' '), macAddress: port?.spec.mac },
      ]);
    }
    await gone(...names);
    await has({ available: 17, claimed: 0, resting: 0 });
    const ungrouped = async () =>
      (await inNeutron()).every(({ security_groups: groups }) => groups.length === 0);
    await expect.poll(ungrouped, SETTLES).toBe(true);
    expect(posts()).toBe(1);
  });

  it('gets no more where the quota is used up, and says so', async () => {
    const used = (await neutron.call<{ ports: unknown[] }>('GET', 'ports')).ports.length;
    const limit = async (port: number): Promise<void> =>
      void (await neutron.call('PUT', `quotas/${neutron.project}`, { quota: { port } }, 'admin'));
    await limit(used + 2);
    await pool(25, 25);
    await has({ available: 19, conditions: [{ status: 'False', reason: 'Full' }] });
    await limit(500);
    await has({ available: 25, conditions: [{ status: 'True', reason: 'Ready' }] });
    await expectAlike();
  });

  it('is filled again when others delete its ports, and goes with them', async () => {
    const [first] = await inNeutron();
    await neutron.call('DELETE', `ports/${first?.id}`);
    await expect
      .poll(
        async () => (await inNeutron()).some(({ mac_address: mac }) => mac === first?.mac_address),
        SETTLES,
      )
      .toBe(true);
    await networks.fixture.kubectl('delete', 'npool', 'warm');
    await expect.poll(async () => (await networks.portsOf('lan')).length, SETTLES).toBe(0);
    await expectAlike();
  });

  it('cannot have a minimum above its most, or another network than before', async () => {
    await pool(1, 2);
    for (const [spec, words] of [
      [{ min: 3 }, 'must be at most spec.max'],
      [{ network: 'other' }, 'cannot change'],
    ] as const) {
      const patch = JSON.stringify({ spec });
      const args = ['patch', 'npool', 'warm', '--type=merge', '-p', patch, '--dry-run=server'];
      expect((await networks.fixture.kubectl(...args)).stderr).toContain(words);
    }
    await networks.fixture.kubectl('delete', 'npool', 'warm');
  });
});

describe('a port without a NetworkPort', () => {
  const byHand = async (...names: string[]): Promise<string[]> => {
    const ports = names.map((name) => ({ network_id: lan, name, security_groups: [] }));
    const made = await neutron.call<{ ports: Port[] }>('POST', 'ports', { ports });
    return made.ports.map(({ id }) => id);
  };
  const all = async (): Promise<string[]> =>
    (await neutron.call<{ ports: Port[] }>('GET', `ports?network_id=${lan}`)).ports.map(
      ({ id }) => id,
    );

  it('is deleted after ten looks, if it has exactly our name', async () => {
    const others = await byHand(
      `sdewan/${mark}/np/mine`,
      `sdewan/${mark}/np/${randomUUID()}x`,
      `sdewan/${mark}/x/${randomUUID()}`,
      `sdewan/00000000/np/${randomUUID()}`,
      `sdewan/${markOfUid}/np/${randomUUID()}`,
      randomUUID(),
    );
    const [orphan] = await byHand(`sdewan/${mark}/np/${randomUUID()}`);
    await expect.poll(all, SETTLES).not.toContain(orphan);
    expect(await all()).toEqual(expect.arrayContaining(others));
    for (const id of others) await neutron.call('DELETE', `ports/${id}`);
  });

  it('stays, when there are more than twenty: the network says so', async () => {
    const names = Array.from({ length: 21 }, () => `sdewan/${mark}/np/${randomUUID()}`);
    const ids = await byHand(...names);
    await expect
      .poll(async () => (await conditionOf('lan', 'SweepHeld'))?.status, SETTLES)
      .toBe('True');
    const before = looks();
    await expect.poll(() => looks() - before, SETTLES).toBeGreaterThan(LOOKS_BEFORE_SWEEP + 1);
    expect(await all()).toEqual(expect.arrayContaining(ids));
    await neutron.call('DELETE', `ports/${ids[0]}`);
    await expect
      .poll(async () => (await all()).filter((id) => ids.includes(id)), SETTLES)
      .toEqual([]);
    await expect.poll(() => conditionOf('lan', 'SweepHeld'), SETTLES).toBeUndefined();
  });
});
