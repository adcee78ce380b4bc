/**
 * Addresses that outlive a pod, with the pods that the real controllers make. No kubelet runs them:
 * where a controller waits for one, the test says that it does.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KEEP_ADDRESSES_ANNOTATION, PURPOSE_LABEL } from '#shared/names.ts';
import type { Fixture } from '../admission/fixture.ts';
import { eventually } from '../support/eventually.ts';
import {
  createManagedNetworks,
  entriesOf,
  FORCED,
  GATED,
  nodus,
  podSpec,
  seenPods,
  type Fields,
  type ManagedNetworks,
  type Seen,
} from './managed-networks.ts';

const NODES = ['kept-a', 'kept-b'] as const;

let networks: ManagedNetworks;
let fixture: Fixture;
let namespace: string;
beforeAll(async () => {
  networks = await createManagedNetworks(NODES);
  ({ namespace, fixture } = networks);
});
afterAll(() => networks.close());

type Workload = { kind: string; network: string; spec?: Fields; on?: string; marks?: Fields };
const workload = (name: string, { kind, network, spec, on, marks }: Workload): object => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace },
  spec: {
    selector: { matchLabels: { app: name } },
    // Else it waits for a kubelet before it makes the next pod.
    ...(kind === 'StatefulSet' && { podManagementPolicy: 'Parallel' }),
    template: {
      metadata: {
        labels: { app: name },
        annotations: { ...nodus(network), [KEEP_ADDRESSES_ANNOTATION]: 'true', ...marks },
      },
      spec: podSpec({
        ...GATED,
        terminationGracePeriodSeconds: 0,
        ...(on && { nodeSelector: { 'kubernetes.io/hostname': on } }),
      }),
    },
    ...spec,
  },
});

const podsOf = async (name: string): Promise<Seen[]> =>
  (await fixture.client.list(seenPods, { namespace, labelSelector: `app=${name}` })).items;

/** Pod, address and MAC of each that has a node, and the uid where pods are told apart by it. */
const placed = async (name: string, { uids = false } = {}): Promise<string[]> =>
  (await podsOf(name))
    .filter(({ spec }) => spec.nodeName !== undefined)
    .map((pod) => {
      const { metadata } = pod;
      const given = entriesOf(pod).map(({ ipAddress, macAddress }) => `${ipAddress} ${macAddress}`);
      return [metadata.name, ...given, ...(uids ? [metadata.uid] : [])].join(' ');
    })
    .toSorted();

/** As a kubelet does: the controller of a roll-out waits for it. */
const runAll = async (name: string): Promise<void> => {
  for (const { metadata, status } of await podsOf(name)) {
    if (status?.phase === 'Running') continue;
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: new Date() }];
    const patch = JSON.stringify({ status: { phase: 'Running', conditions } });
    const args = ['--subresource=status', '--type=merge', '-p', patch];
    await fixture.kubectl('patch', 'pod', metadata.name, '-n', namespace, ...args);
  }
};

/** Each of the pods is another than before, and has what the one before it had. */
const isRenewed = (before: readonly string[], name: string) => async (): Promise<boolean> => {
  await runAll(name);
  const now = await placed(name, { uids: true });
  return now.length === before.length && now.every((line) => !before.includes(line));
};

const remove = (...args: string[]) => fixture.kubectl('delete', ...args, '-n', namespace);

describe('a StatefulSet that keeps addresses', () => {
  const set = (some: Partial<Workload> & { replicas?: number } = {}): object =>
    workload('db', {
      kind: 'StatefulSet',
      network: 'net-kept',
      spec: { replicas: some.replicas ?? 2 },
      ...some,
    });
  let had: string[];

  const renewed = async (renew: () => Promise<unknown>): Promise<void> => {
    const before = await placed('db', { uids: true });
    await renew();
    await eventually(isRenewed(before, 'db')).toBe(true);
    expect(await placed('db')).toEqual(had);
  };

  it('has them in pods that are made anew after a deletion and an eviction', async () => {
    await networks.ready('kept', 90, 8);
    await networks.applied(set());
    await eventually(async () => (await placed('db')).length).toBe(2);
    had = await placed('db');
    await renewed(async () => {
      await remove('pod', 'db-0', '--wait=false');
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'db-1' } };
      const path = `/api/v1/namespaces/${namespace}/pods/db-1/eviction`;
      await fixture.cluster.kubectl(['create', '--raw', path, '-f', '-'], {
        stdin: JSON.stringify(eviction),
      });
    });
  });

  it('has them after a roll-out, and after one while no coordinator is there', async () => {
    await renewed(() => networks.applied(set({ marks: { roll: 'one' } })));
    await renewed(async () => {
      await fixture.stopCoordinator();
      await networks.applied(set({ marks: { roll: 'two' } }));
      await eventually(async () => (await placed('db')).length).toBe(1);
      await fixture.startCoordinator();
    });
  });

  it('gives those of an ordinal back when it is scaled below, and all when it goes', async () => {
    await networks.applied(set({ replicas: 1, marks: { roll: 'two' } }));
    const claims = async () => (await networks.claimedOf('kept')).map((line) => line.split(' ')[0]);
    await eventually(claims).toEqual(['db-0']);
    await remove('statefulset', 'db');
    await eventually(claims).toEqual([]);
  });
});

describe('the next pod of a StatefulSet', () => {
  it('waits while the node of the one before does not answer, names both, and gets them when that is tainted', async () => {
    const [, on] = NODES;
    await networks.ready('lost', 91, 4);
    const spec = { replicas: 1 };
    await networks.applied(workload('far', { kind: 'StatefulSet', network: 'net-lost', spec, on }));
    await eventually(() => placed('far')).toHaveLength(1);
    const had = await placed('far');
    const [first] = await podsOf('far');
    await eventually(async () => (await networks.portsOf('lost'))[0]?.status?.node).toBe(on);
    await networks.silence(on);
    await remove('pod', 'far-0', ...FORCED);
    await eventually(() => networks.eventsOf('far-0')).toMatch(
      new RegExp(
        `PodBefore .*far-0 .*when pod ${namespace}/far-0 \\(${first?.metadata.uid}\\).*${on}`,
      ),
    );
    expect(await placed('far')).toEqual([]);
    await fixture.kubectl('taint', 'node', on, 'node.kubernetes.io/out-of-service=:NoExecute');
    await eventually(() => placed('far')).toEqual(had);
  });
});

describe('a CNFDeployment', () => {
  const cnf = (replicas: number): object => {
    const labels = { app: 'cnf', [PURPOSE_LABEL]: 'cnf-room' };
    return {
      apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
      kind: 'CNFDeployment',
      metadata: { name: 'room', namespace },
      spec: {
        replicas,
        selector: { matchLabels: { app: 'cnf' } },
        template: { metadata: { labels, annotations: nodus('net-room') }, spec: podSpec() },
      },
    };
  };

  it('is warned where its range cannot hold twice its pods, and names the range while they wait', async () => {
    const { systemNamespace, kubectl } = fixture;
    const role = `--clusterrole=sdewan-fleet-${systemNamespace}`;
    const account = `--serviceaccount=${systemNamespace}:sdewan-coordinator`;
    await kubectl('create', 'rolebinding', 'fleet', '-n', namespace, role, account);
    await networks.ready('room', 93, 1);
    const made = await fixture.apply([cnf(2)]);
    expect(made).toMatchObject({ code: 0 });
    expect(made.stderr).toContain(
      'a roll-out has 4 pods at once, which need 4 addresses of network room: its range 10.93.0.10-10.93.0.10 and fd00:93::a-fd00:93::a has 1',
    );
    const waits = async () => {
      const path = '{.status.waitsFor}';
      const args = ['get', 'cnfdeployment', 'room', '-n', namespace, '-o', `jsonpath=${path}`];
      return (await kubectl(...args)).stdout;
    };
    await eventually(waits).toContain('network room has no free address: of 1 in 10.93.0.10');
    await networks.applied(networks.network('room', 93, 2));
    await eventually(async () => (await networks.claimedOf('room')).length).toBe(2);
    await eventually(waits).not.toContain('network room');
    await remove('cnfdeployment', 'room');
  });
});

describe('a Deployment that keeps addresses', () => {
  const deployment = (name: string, spec: Fields, marks: Fields = {}): object =>
    workload(name, { kind: 'Deployment', network: 'net-one-pod', spec, marks });

  it('has them in the pod of its next set, with strategy Recreate', async () => {
    await networks.ready('one-pod', 92, 4);
    const strategy = { type: 'Recreate' };
    await networks.applied(deployment('web', { strategy }));
    await eventually(() => placed('web')).toHaveLength(1);
    const addressesIn = async () => (await placed('web')).map((line) => line.split(' ').slice(1));
    const had = await addressesIn();
    const before = await placed('web', { uids: true });
    await networks.applied(deployment('web', { strategy }, { roll: 'one' }));
    await eventually(isRenewed(before, 'web')).toBe(true);
    expect(await addressesIn()).toEqual(had);
  });

  it('has its pods wait with strategy RollingUpdate, and names VirtualAddress', async () => {
    await networks.applied(deployment('rolls', {}));
    await eventually(async () => (await podsOf('rolls')).length).toBe(1);
    const [pod] = await podsOf('rolls');
    await eventually(() => networks.eventsOf(pod?.metadata.name ?? '')).toMatch(
      /CannotBeKept .*Deployment rolls must have one replica and strategy Recreate.*use a VirtualAddress/,
    );
  });

  it('is refused with that where it is a CNF, as a CNFDeployment is', async () => {
    const labels = { app: 'cnf', [PURPOSE_LABEL]: 'cnf-kept' };
    const template = {
      metadata: { labels, annotations: { [KEEP_ADDRESSES_ANNOTATION]: 'true' } },
      spec: podSpec(),
    };
    const selector = { matchLabels: { app: 'cnf' } };
    for (const apiVersion of ['apps/v1', 'fleet.sdewan.akraino.org/v1alpha1']) {
      const kind = apiVersion === 'apps/v1' ? 'Deployment' : 'CNFDeployment';
      const metadata = { name: 'cnf', namespace };
      const spec = { replicas: 2, selector, template };
      const made = await fixture.apply([{ apiVersion, kind, metadata, spec }]);
      expect(made).toMatchObject({ code: 1 });
      expect(made.stderr).toContain(
        `${kind} cnf must have one replica and strategy Recreate, it has 2 and RollingUpdate`,
      );
      expect(made.stderr).toContain('use a VirtualAddress');
    }
  });
});
