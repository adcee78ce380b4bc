/**
 * A Node object: registered, kept healthy by its Lease and its status, as the controller-manager
 * expects of a kubelet.
 */
import { release } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import { KubeError, type KubeClient } from '../kube/client.ts';

const NODE_NAME = 'ubuntu18';
export const HOST_IP = '127.0.0.1';

/** `ubuntu18`, `ubuntu18-2` and so on. */
export const nodeNames = (count: number): [string, ...string[]] => [
  NODE_NAME,
  ...Array.from({ length: count - 1 }, (_, index) => `${NODE_NAME}-${index + 2}`),
];

/** Intervals of a kubelet: the Lease says that the node lives, the status rarely changes. */
const LEASE_INTERVAL_MS = 10_000;
const LEASE_SECONDS = 40;
const STATUS_INTERVAL_MS = 60_000;

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

/**
 * Processes share the machine, so the scheduler has nothing to count: let it place whatever it is
 * asked to.
 */
const CAPACITY = { cpu: '1000', memory: '1Ti', 'ephemeral-storage': '1Ti', pods: '1000' };

export type NodeDeps = {
  client: KubeClient;
  name: string;
  kubeletVersion: string;
  /** Tells two harnesses on one existing cluster apart. */
  holder: string;
  /** Port of the kubelet's own HTTPS server, for `kubectl logs`. */
  kubeletPort?: number | undefined;
  now: () => number;
  onError: (error: unknown) => void;
  signal: AbortSignal;
};

/** Resolves when the node is Ready; goes on with heartbeats until `signal`. */
export const runNode = async (deps: NodeDeps): Promise<void> => {
  await refuseSecondHarness(deps);
  await register(deps);
  await putStatus(deps);
  await putLease(deps);
  const heartbeat = async () => {
    await putLease(deps);
    if (!(await isSeenReady(deps))) await putStatus(deps);
  };
  void every(LEASE_INTERVAL_MS, heartbeat, deps);
  void every(STATUS_INTERVAL_MS, async () => await putStatus(deps), deps);
};

/** Takes the node and its Lease off again: only an existing cluster is left to notice. */
export const removeNode = async (client: KubeClient, name: string): Promise<void> => {
  await client.delete(`/api/v1/nodes/${name}`);
  await client.delete(`${LEASES}/${name}`);
};

const every = async (
  ms: number,
  work: () => Promise<void>,
  { signal, onError }: NodeDeps,
): Promise<void> => {
  while (!signal.aborted) {
    await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
    if (!signal.aborted) await work().catch(onError);
  }
};

/**
 * Two kubelets for one Node would both run its pods. @throws when another harness renewed the Lease
 * just now.
 */
const refuseSecondHarness = async ({ client, name, now, holder }: NodeDeps): Promise<void> => {
  const lease = await client.find<{ spec: { holderIdentity?: string; renewTime?: string } }>(
    `${LEASES}/${name}`,
  );
  const { holderIdentity, renewTime = '' } = lease?.spec ?? {};
  const isFresh = now() - Date.parse(renewTime) < LEASE_INTERVAL_MS * 1.5;
  if (isFresh && holderIdentity !== holder) {
    throw new Error(`node ${name} of this cluster is run by another harness (${holderIdentity})`);
  }
};

const register = async ({ client, name }: NodeDeps): Promise<void> => {
  const labels = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': process.arch === 'x64' ? 'amd64' : process.arch,
  };
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
  await client.create('/api/v1/nodes', node).catch((error: unknown) => {
    if (!(error instanceof KubeError) || error.reason !== 'AlreadyExists') throw error;
  });
  // A Node that came into being a moment ago is tainted until its first status has been seen; a
  // test's pods needn't wait.
  await client.patch(`/api/v1/nodes/${name}`, {
    metadata: { labels },
    spec: { taints: null },
  });
};

/** False after the controller-manager has not seen the Lease renewed in time. */
const isSeenReady = async ({ client, name }: NodeDeps): Promise<boolean> => {
  const node = await client.get<{ status?: { conditions?: { type: string; status: string }[] } }>(
    `/api/v1/nodes/${name}`,
  );
  return (
    node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ===
    true
  );
};

const putStatus = async ({
  client,
  name,
  now,
  kubeletVersion,
  kubeletPort,
}: NodeDeps): Promise<void> => {
  const time = new Date(now()).toISOString();
  const condition = (type: string, status: string, reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: time,
  });
  await client.patch(
    `/api/v1/nodes/${name}/status`,
    {
      status: {
        capacity: CAPACITY,
        allocatable: CAPACITY,
        addresses: [
          { type: 'InternalIP', address: HOST_IP },
          { type: 'Hostname', address: name },
        ],
        conditions: [
          condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'not measured here'),
          condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'not measured here'),
          condition('PIDPressure', 'False', 'KubeletHasSufficientPID', 'not measured here'),
          condition('Ready', 'True', 'KubeletReady', 'the process kubelet runs'),
        ],
        ...(kubeletPort !== undefined && {
          daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
        }),
        nodeInfo: {
          machineID: '',
          systemUUID: '',
          bootID: '',
          kernelVersion: release(),
          osImage: 'processes of this machine (kind-test-harness)',
          containerRuntimeVersion: 'process://1',
          kubeletVersion,
          kubeProxyVersion: '',
          operatingSystem: 'linux',
          architecture: process.arch === 'x64' ? 'amd64' : process.arch,
        },
      },
    },
    'strategic-merge',
  );
};

const putLease = async ({ client, name, now, holder }: NodeDeps): Promise<void> => {
  const spec = {
    holderIdentity: holder,
    leaseDurationSeconds: LEASE_SECONDS,
    renewTime: new Date(now()).toISOString().replace('Z', '000Z'), // a Lease has microseconds
  };
  try {
    await client.patch(`${LEASES}/${name}`, { spec });
  } catch (error) {
    if (!(error instanceof KubeError) || error.status !== 404) throw error;
    await client.create(LEASES, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name },
      spec,
    });
  }
};
