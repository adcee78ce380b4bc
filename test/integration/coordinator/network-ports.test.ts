/**
 * Addresses of pods in managed networks, with the real API server, scheduler and controllers; no
 * kubelet runs them.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  NETWORK_STATUS_ANNOTATION,
  NETWORKS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  PORTS_GATE,
} from '#shared/names.ts';
import { DEPLOY, listOf, render } from '../../stack/installation.ts';
import { sdewan } from '../../stack/sdewan.ts';
import type { Fixture } from '../admission/fixture.ts';
import { eventually } from '../support/eventually.ts';
import {
  addressesOf,
  createManagedNetworks,
  entriesOf,
  FORCED,
  GATED,
  nodus,
  podSpec,
  seenPods,
  type Fields,
  type ManagedNetworks,
} from './managed-networks.ts';

let networks: ManagedNetworks;
let fixture: Fixture;
let namespace: string;
/** Where the coordinator may give out no address. */
let unbound: string;
beforeAll(async () => {
  networks = await createManagedNetworks(['ports-a', 'ports-b']);
  ({ namespace, fixture } = networks);
  unbound = await fixture.createNamespace();
});
afterAll(() => networks.close());

const pod = (
  name: string,
  annotations: Fields,
  spec: Fields = GATED,
  metadata: Fields = {},
): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, annotations, ...metadata },
  spec: podSpec(spec),
});

describe('a pod that waits for its addresses', () => {
  it('gets those of both families with the MAC, in the write that opens the gate, and is scheduled', async () => {
    await networks.ready('one', 60, 4);
    await networks.applied(pod('first', nodus('net-one')));
    await eventually(async () => (await networks.seen('first')).spec.nodeName).toBeDefined();
    const first = await networks.seen('first');
    expect(first.spec.schedulingGates).toBeUndefined();
    expect(entriesOf(first)).toEqual([
      {
        name: 'net-one',
        interface: 'net0',
        ipAddress: '10.60.0.10 fd00:60::a',
        macAddress: expect.stringMatching(/^.[26ae](:[0-9a-f]{2}){5}$/),
      },
    ]);
    expect(first.metadata.annotations?.['sdewan.akraino.org/network-ports']).toBe(
      '{"net0":"one-10"}',
    );
    await eventually(async () => (await networks.portsOf('one'))[0]?.status).toMatchObject({
      active: true,
      node: first.spec.nodeName,
      gateway: ['10.60.0.1'],
    });
    await eventually(() => networks.eventsOf('first')).toContain(
      'net0: 10.60.0.10 fd00:60::a (NetworkPort one-10)',
    );
  });

  it('is told where its CNI has given it another address', async () => {
    const text = '[{"ip_address":["10.60.0.99/16","fd00:60::a/64"],"interface":"net0"}]';
    const annotation = `k8s.plugin.opnfv.org/ovnInterfaces=${text}`;
    await fixture.kubectl('annotate', 'pod', 'first', '-n', namespace, annotation);
    await eventually(() => networks.eventsOf('first')).toContain(
      'interface net0 has 10.60.0.99 fd00:60::a, and not 10.60.0.10 fd00:60::a of NetworkPort one-10',
    );
    await fixture.kubectl(
      'annotate',
      'pod',
      'first',
      '-n',
      namespace,
      `${annotation.split('=')[0]}-`,
    );
  });

  it('has the gate by the webhook where it is a CNF, and not where the role is not bound', async () => {
    const cnf = { labels: { sdewanPurpose: 'cnf-ports' } };
    await networks.ready('two', 61, 4, { namespaces: [namespace, unbound] });
    await networks.applied(pod('cnf', nodus('net-two'), {}, cnf));
    await eventually(async () => addressesOf(await networks.seen('cnf'))).toEqual([
      '10.61.0.10 fd00:61::a',
    ]);
    await networks.applied({
      ...pod('cnf', nodus('net-two'), {}),
      metadata: { name: 'cnf', namespace: unbound, annotations: nodus('net-two'), ...cnf },
    });
    expect((await networks.seen('cnf', unbound)).spec.schedulingGates).toBeUndefined();
    await eventually(() => networks.eventsOf('cnf', unbound)).toContain('AddressNotManaged');
  });

  it('waits while a network is full or its namespace may not use it, says so, and goes on by itself', async () => {
    await networks.ready('full', 62, 1);
    await networks.ready('theirs', 63, 1, { namespaces: [] });
    await networks.applied(pod('holder', nodus('net-full')));
    await eventually(async () => addressesOf(await networks.seen('holder'))).toHaveLength(1);
    await networks.applied(pod('waiter', nodus('net-full')), pod('stranger', nodus('net-theirs')));
    await eventually(() => networks.eventsOf('waiter')).toContain(
      'network full has no free address: of 1 in 10.62.0.10-10.62.0.10',
    );
    await eventually(() => networks.eventsOf('stranger')).toContain(
      `namespace ${namespace} gets no address of network theirs`,
    );
    await fixture.kubectl('delete', 'pod', 'holder', '-n', namespace, ...FORCED);
    await eventually(async () => addressesOf(await networks.seen('waiter'))).toEqual([
      '10.62.0.10 fd00:62::a',
    ]);
    await networks.applied(networks.network('theirs', 63, 1));
    await eventually(async () => (await networks.seen('stranger')).spec.nodeName).toBeDefined();
  });

  it('is let go where no network is managed any more', async () => {
    await networks.applied(pod('left-over', nodus('net-unmanaged')));
    await eventually(async () => (await networks.seen('left-over')).spec.nodeName).toBeDefined();
  });
});

describe('a pod that is no CNF, with the overlay of deploy/1.36', () => {
  const OVERLAY = 'sdewan-ports-gate';
  const other = { name: 'example.org/other' };
  const ours = { name: PORTS_GATE };
  const multus = (text: string) => ({ [NETWORKS_ANNOTATION]: text });

  beforeAll(async () => {
    await networks.applied(
      networks.network('shop', 66, 4, { names: ['net-shop', 'shop/macvlan'], namespaces: [] }),
      networks.network('depot', 67, 4),
    );
    await fixture.kubectl(
      'label',
      'namespace',
      namespace,
      'sdewan.akraino.org/network-ports=enabled',
    );
    const objects = await render(fixture.cluster, join(DEPLOY, '1.36'));
    await networks.applied(...objects.filter(({ metadata }) => metadata.name === OVERLAY));
  });
  afterAll(async () => {
    await fixture.kubectl(
      'delete',
      'mutatingadmissionpolicybinding,mutatingadmissionpolicy',
      OVERLAY,
    );
  });
  /** As the API server would make it. */
  const gatesOf = async (annotations: Fields, spec: Fields = {}, metadata: Fields = {}) => {
    const { stdout } = await fixture.cluster.kubectl(
      ['create', '-f', '-', '--dry-run=server', '-o', 'json'],
      { stdin: listOf([pod('tried', annotations, spec, metadata)]) },
    );
    return seenPods.schema.parse(JSON.parse(stdout)).spec.schedulingGates;
  };

  it.each<[string, Fields, Fields, object[] | undefined]>([
    ['names one as Nodus does', nodus('net-shop'), {}, [ours]],
    ['names one as Multus does', multus('other/a, shop/macvlan@net1'), {}, [ours]],
    [
      'names one as JSON of Multus',
      multus('[{"name": "macvlan", "namespace": "shop"}]'),
      {},
      [ours],
    ],
    ['names two', nodus('net-shop', 'net-depot'), {}, [ours]],
    ['has another gate', nodus('net-shop'), { schedulingGates: [other] }, [other, ours]],
    ['brings ours', nodus('net-shop'), GATED, [ours]],
    ['names none', nodus('net-elsewhere'), {}, undefined],
    ['asks for no network', {}, {}, undefined],
    ['has its node already', nodus('net-shop'), { nodeName: 'ports-a' }, undefined],
  ])('has the gates that it must have where it %s', async (_, annotations, spec, gates) => {
    // Policies are in force some moments after they were applied.
    await eventually(() => gatesOf(nodus('net-depot'))).toEqual([ours]);
    expect(await gatesOf(annotations, spec)).toEqual(gates);
  });

  it('does not wait in a namespace without the label', async () => {
    expect(await gatesOf(nodus('net-shop'), {}, { namespace: unbound })).toBeUndefined();
  });

  it('waits and gets its addresses as a pod of a Deployment whose template knows nothing of it', async () => {
    const labels = { app: 'plain' };
    const template = { metadata: { labels, annotations: nodus('net-shop') }, spec: podSpec() };
    await networks.applied({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'plain', namespace },
      spec: { selector: { matchLabels: labels }, template },
    });
    const selection = { namespace, labelSelector: 'app=plain' };
    const seen = async () => (await fixture.client.list(seenPods, selection)).items;
    await eventually(async () => (await seen()).map(({ spec }) => spec.schedulingGates)).toEqual([
      [ours],
    ]);
    const [{ metadata } = { metadata: { name: '' } }] = await seen();
    await eventually(() => networks.eventsOf(metadata.name)).toContain('AddressNotAllowed');
    await networks.applied(networks.network('shop', 66, 4));
    await eventually(async () => (await seen()).map(addressesOf)).toEqual([
      ['10.66.0.10 fd00:66::a'],
    ]);
  });
});

describe('a network that appears over running pods', () => {
  it('claims their addresses first, and lists what it cannot claim', async () => {
    const status = (ip: string) => ({
      'k8s.v1.cni.cncf.io/networks': `[{"name":"mv","interface":"net1"}]`,
      [NETWORK_STATUS_ANNOTATION]: JSON.stringify([
        { name: `${namespace}/mv`, interface: 'net1', ips: [ip] },
      ]),
    });
    await networks.applied(
      pod('old-1', status('10.64.0.12'), {}),
      pod('old-2', status('10.64.0.12'), {}),
      pod('old-3', status('10.64.0.13'), {}),
    );
    for (const name of ['old-1', 'old-2', 'old-3'])
      await eventually(async () => (await networks.seen(name)).spec.nodeName).toBeDefined();
    await networks.ready('late', 64, 6, { names: [`${namespace}/mv`, 'net-late'] });
    const old = 'old-3 10.64.0.13 fd00:64::d';
    expect(await networks.claimedOf('late')).toEqual([old]);
    expect((await networks.statusOf('late'))?.conflicts?.join()).toMatch(
      /old-1, interface net1: 10\.64\.0\.12: pod .*old-2 says that it has it too.*old-2, interface/,
    );
    const names = ['new-1', 'new-2', 'new-3', 'new-4'];
    await networks.applied(...names.map((name) => pod(name, nodus('net-late'))));
    await eventually(() => networks.claimedOf('late')).toHaveLength(5);
    expect((await networks.claimedOf('late')).join()).not.toContain('10.64.0.12');
  });
});

it('gives no pod what a VirtualAddress holds, names that, and goes on when it is gone', async () => {
  await networks.applied({
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'VirtualAddress',
    metadata: { name: 'gw', namespace, labels: { sdewanPurpose: 'cnf-gw' } },
    spec: { interface: 'net1', addresses: ['10.65.0.10/16'] },
  });
  await networks.ready('shared', 65, 1);
  await eventually(() => networks.statusOf('shared')).toMatchObject({ foreign: 1, free: 0 });
  const entry = { name: 'net-shared', interface: 'net0', ipAddress: '10.65.0.10 fd00:65::a' };
  const fixed = { [NFN_NETWORK_ANNOTATION]: JSON.stringify({ interface: [entry] }) };
  await networks.applied(pod('asks', nodus('net-shared')), pod('fixes', fixed));
  await eventually(() => networks.eventsOf('asks')).toContain('1 are in use without a NetworkPort');
  await eventually(() => networks.eventsOf('fixes')).toContain(
    `VirtualAddress ${namespace}/gw has it`,
  );
  const shown = await sdewan(fixture.cluster, 'ports', 'shared', '-n', namespace);
  expect(shown).toMatchObject({ code: 1, said: '' });
  expect(shown.out).toMatch(/shared +10\.65\.0\.10 fd00:65::a +VirtualAddress .*\/gw +never\n/);
  expect(shown.out).toMatch(/\/asks +net-shared .*NoFreeAddress +network shared has no free/);
  await fixture.kubectl('delete', 'pod', 'fixes', '-n', namespace, ...FORCED);
  await fixture.kubectl('delete', 'vip', 'gw', '-n', namespace);
  await eventually(() => networks.claimedOf('shared')).toEqual(['asks 10.65.0.10 fd00:65::a']);
  const { code, out } = await sdewan(fixture.cluster, 'ports', 'shared', '-A');
  expect(code).toBe(0);
  expect(out).toMatch(/shared +10\.65\.0\.10 fd00:65::a +\S+ +\S+\/asks +net0 /);
});

describe('a namespace that is deleted', () => {
  it('goes, and gives its addresses back', async () => {
    const place = await fixture.createNamespace();
    await networks.bind(place);
    await networks.ready('brief', 72, 2, { namespaces: [place] });
    await networks.applied({
      ...pod('p', nodus('net-brief')),
      metadata: { name: 'p', namespace: place, annotations: nodus('net-brief') },
    });
    await eventually(() => networks.claimedOf('brief')).toHaveLength(1);
    await fixture.kubectl('delete', 'pod', 'p', '-n', place, ...FORCED);
    await fixture.kubectl('delete', 'namespace', place, '--wait=false');
    await eventually(async () => (await fixture.kubectl('get', 'namespace', place)).code).toBe(1);
    await eventually(() => networks.claimedOf('brief')).toEqual([]);
  });
});

describe('admission refuses', () => {
  it.each<[string, Fields, string[]]>([
    [
      'a range outside its subnet',
      { subnets: [{ cidr: '10.80.0.0/24', ranges: ['10.81.0.1'] }] },
      ['10.81.0.1', '10.80.0.0/24'],
    ],
    [
      'a gateway in a range',
      {
        subnets: [{ cidr: '10.80.0.0/24', gateway: '10.80.0.5', ranges: ['10.80.0.1-10.80.0.9'] }],
      },
      ['10.80.0.5', '10.80.0.1-10.80.0.9'],
    ],
    [
      'a network that overlaps another',
      { subnets: [{ cidr: '10.60.0.0/24', ranges: ['10.60.0.5'] }] },
      ['10.60.0.0/24', '10.60.0.0/16', 'ManagedNetwork one'],
    ],
    [
      'a name that another has',
      { names: ['net-one'], subnets: [{ cidr: '10.80.0.0/24', ranges: ['10.80.0.5'] }] },
      ['net-one', 'ManagedNetwork one'],
    ],
  ])('%s, with both values', async (_, spec, words) => {
    const { code, stderr } = await fixture.apply(
      [networks.network('bad', 80, 4, spec)],
      '--dry-run=server',
    );
    expect(code).toBe(1);
    for (const word of words) expect(stderr).toContain(word);
  });

  it('refuses a CNF pod whose annotation does not parse, with the entry', async () => {
    const wrong = { [NFN_NETWORK_ANNOTATION]: '{"interface":[{"name":"net-one"}]}' };
    const made = await fixture.apply([
      pod('wrong', wrong, {}, { labels: { sdewanPurpose: 'cnf-wrong' } }),
    ]);
    expect(made).toMatchObject({ code: 1 });
    expect(made.stderr).toContain('interface.0.interface');
  });
});

describe('a tenant with all rights on both kinds', () => {
  let tenant: string;
  beforeAll(async () => {
    await fixture.kubectl('create', 'serviceaccount', 'tenant', '-n', namespace);
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: `tenant-${namespace}` },
    };
    const rules = [{ apiGroups: ['network.sdewan.akraino.org'], resources: ['*'], verbs: ['*'] }];
    const { kind, metadata } = role;
    await networks.applied(
      { ...role, rules },
      {
        ...role,
        kind: 'ClusterRoleBinding',
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: metadata.name },
        subjects: [{ kind: 'ServiceAccount', name: 'tenant', namespace }],
      },
    );
    tenant = await fixture.kubeconfigOf(namespace, 'tenant');
  });
  const asTenant = async (...args: string[]): Promise<string> => {
    const { code, stderr } = await fixture.kubectl('--kubeconfig', tenant, ...args);
    return code === 0 ? 'done' : stderr;
  };

  it('cannot take, change or give back the address of a pod', async () => {
    const [port] = await networks.portsOf('one');
    const name = port?.metadata.name ?? '';
    const pod_ = `pod ${namespace}/first`;
    const patch = JSON.stringify({ spec: { claim: { uid: 'x' } } });
    expect(await asTenant('patch', 'nport', name, '--type=merge', '-p', patch)).toContain(pod_);
    expect(await asTenant('delete', 'nport', name)).toContain(pod_);
    const stolen = JSON.stringify({
      ...port,
      metadata: { name: 'one-12' },
      spec: { ...port?.spec, index: 12 },
    });
    const created = await fixture.cluster.kubectl(['--kubeconfig', tenant, 'create', '-f', '-'], {
      stdin: stolen,
      allowFailure: true,
    });
    expect(created.stderr).toContain('the coordinator alone writes NetworkPorts');
  });

  it('cannot delete a network while pods have its addresses', async () => {
    await eventually(async () => (await networks.statusOf('one'))?.claimed).toBe(1);
    expect(await asTenant('delete', 'mnet', 'one')).toContain(
      '1 addresses of network one are those of pods',
    );
  });
});

it('claims anew what an administrator deletes while its pod has it', async () => {
  const before = (await networks.portsOf('one')).map(({ metadata }) => metadata.uid);
  await fixture.kubectl('delete', 'nport', 'one-10');
  await eventually(() => networks.claimedOf('one')).toEqual(['first 10.60.0.10 fd00:60::a']);
  expect((await networks.portsOf('one')).map(({ metadata }) => metadata.uid)).not.toEqual(before);
});

describe('the thief of the coordinator’s token', () => {
  let stolen: string;
  const kept = {
    metadata: { name: 'kept', annotations: nodus('net-unmanaged') },
    spec: {
      automountServiceAccountToken: false,
      schedulingGates: [{ name: 'other' }, { name: PORTS_GATE }],
      nodeSelector: { a: 'b' },
    },
  };
  beforeAll(async () => {
    stolen = await fixture.kubeconfigOf(fixture.systemNamespace, 'sdewan-coordinator');
    await fixture.stopCoordinator();
    for (const where of [namespace, unbound])
      await networks.applied({
        ...pod('kept', {}),
        metadata: { ...kept.metadata, namespace: where },
        spec: podSpec(kept.spec),
      });
  });
  const tries = async (body: object, where = namespace): Promise<string> => {
    const args = [
      'patch',
      'pod',
      'kept',
      '-n',
      where,
      '--type=merge',
      '-p',
      JSON.stringify(body),
      '--dry-run=server',
    ];
    const { code, stderr } = await fixture.kubectl('--kubeconfig', stolen, ...args);
    return code === 0 ? 'done' : stderr;
  };
  const opened = { schedulingGates: [{ name: 'other' }] };
  const given = { metadata: { annotations: nodus('x') } };

  it('can open the gate, with the annotations of networks', async () => {
    expect(await tries({ ...given, spec: opened })).toBe('done');
  });

  it.each<[string, object, string?]>([
    ['write these annotations and leave the gate', given],
    ['write another annotation with them', { metadata: { annotations: { x: 'y' } }, spec: opened }],
    ['write a label with them', { metadata: { labels: { x: 'y' } }, spec: opened }],
    ['open the gate of others', { spec: { schedulingGates: [{ name: PORTS_GATE }] } }],
    ['open both', { spec: { schedulingGates: null } }],
    ['change the image', { spec: { ...opened, containers: [{ name: 'c', image: 'other' }] } }],
    ['narrow the nodes', { spec: { ...opened, nodeSelector: { a: 'b', c: 'd' } } }],
    [
      'add a toleration',
      {
        spec: {
          ...opened,
          tolerations: [{ operator: 'Exists' }, { key: 'a', operator: 'Exists' }],
        },
      },
    ],
    ['set a deadline', { spec: { ...opened, activeDeadlineSeconds: 1 } }],
    ['open it where the role is not bound', { spec: opened }, 'unbound'],
  ])('cannot %s', async (_, body, where) => {
    expect(await tries(body, where === undefined ? namespace : unbound)).toMatch(
      /the coordinator may |cannot patch resource "pods"/,
    );
  });
});
