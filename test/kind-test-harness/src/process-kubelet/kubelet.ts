/**
 * The process kubelet: keeps its nodes healthy and has a worker for each pod that the scheduler
 * binds to one of them.
 */
import { join } from 'node:path';

import type { ImageStore } from '../images.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ConfigMap, KubeObject, Pod, Secret } from '../kube/objects.ts';
import { watchList } from '../kube/watch.ts';
import { CLUSTER_MARK } from '../processes.ts';
import { createAddressPool } from './addresses.ts';
import type { KubeletContext } from './context.ts';
import { createEventRecorder } from './events.ts';
import { startKubeletServer } from './kubelet-server.ts';
import { HOST_IP, nodeNames, runNode } from './node.ts';
import { deletePod } from './pod-ending.ts';
import { portsOfPod } from './pod-ports.ts';
import { createPodWorker, type PodWorker } from './pod-worker.ts';
import { startServices } from './services.ts';

export type KubeletOptions = {
  client: KubeClient;
  /** `https://host:port` */
  server: string;
  clusterId: string;
  /** How many it is the kubelet of. */
  nodes: number;
  /**
   * The API server's own pair, by which it may fetch logs and forward ports; absent on an existing
   * cluster, which can do neither then.
   */
  servingPair?: { certificateFile: string; keyFile: string } | undefined;
  directory: string;
  logsDirectory: string;
  images: ImageStore;
  renewTokensAfterMs?: number | undefined;
  /** What went wrong and is tried again. */
  onError: (error: unknown) => void;
};

/**
 * Resolves when its nodes are Ready and pods are watched. The result stops it, and ends no
 * container.
 */
export const startKubelet = async (options: KubeletOptions): Promise<() => void> => {
  const { client } = options;
  const stopping = new AbortController();
  const now = () => Date.now();
  const onError = (error: unknown) => {
    if (!stopping.signal.aborted) options.onError(error);
  };
  const shared = { client, now, onError, signal: stopping.signal };
  const names = nodeNames(options.nodes);
  const events = createEventRecorder({ ...shared, nodeName: names[0] });
  const addresses = createAddressPool();
  const services = await startServices({
    ...shared,
    addresses,
    onUnserved: (service, port, error) => {
      const subject = { ...service, kind: 'Service' };
      events.record(subject, 'Warning', 'NotServed', `port ${port}: ${error.message}`);
    },
    portsOf: (pod) => portsOfPod(pod, options.images),
  });
  const server = new URL(options.server);
  const context: KubeletContext = {
    ...shared,
    podsDirectory: join(options.directory, 'pods'),
    logsDirectory: options.logsDirectory,
    images: options.images,
    addresses,
    services,
    events,
    hostIP: HOST_IP,
    environment: {
      [CLUSTER_MARK]: options.clusterId,
      KUBERNETES_SERVICE_HOST: server.hostname,
      KUBERNETES_SERVICE_PORT: server.port || '443',
      KUBERNETES_SERVICE_PORT_HTTPS: server.port || '443',
    },
    sourcesOf: (namespace) => ({
      configMap: async (name) =>
        await client.find<ConfigMap>(`/api/v1/namespaces/${namespace}/configmaps/${name}`),
      secret: async (name) =>
        await client.find<Secret>(`/api/v1/namespaces/${namespace}/secrets/${name}`),
    }),
    renewTokensAfterMs: options.renewTokensAfterMs,
  };

  const workers = new Map<string, { namespace: string; worker: PodWorker }>();
  const onPod = (pod: Pod) => {
    const { uid, namespace } = pod.metadata;
    const known = workers.get(uid);
    if (known) return known.worker.update(pod);
    if (isOver(pod)) {
      // Left by an earlier harness on this cluster: nothing runs here, only its deletion may be
      // waiting.
      if (pod.metadata.deletionTimestamp !== undefined) void deletePod(pod, context);
      return undefined;
    }
    workers.set(uid, {
      namespace,
      worker: createPodWorker(pod, context, () => workers.delete(uid)),
    });
    return undefined;
  };
  const onPodGone = ({ metadata }: Pod) => workers.get(metadata.uid)?.worker.remove();
  const onSource = ({ metadata }: KubeObject) => {
    for (const { namespace, worker } of workers.values()) {
      if (namespace === metadata.namespace) worker.refreshVolumes();
    }
  };

  const kubeletPort =
    options.servingPair &&
    (await startKubeletServer({
      ...options.servingPair,
      logsDirectory: options.logsDirectory,
      placeOf: (namespace, pod, port) =>
        [...workers.values()]
          .map(({ worker }) => worker.placeOf(namespace, pod, port))
          .find((place) => place !== undefined),
      isRunning: (namespace, pod, container) =>
        [...workers.values()].some(({ worker }) => worker.isRunning(namespace, pod, container)),
      signal: stopping.signal,
    }));
  const { gitVersion } = await client.get<{ gitVersion: string }>('/version');
  const node = { ...shared, kubeletVersion: gitVersion, kubeletPort, holder: options.clusterId };
  await Promise.all(names.map(async (name) => await runNode({ ...node, name })));
  await Promise.all([
    ...names.map(
      async (name) =>
        await watchList<Pod>(
          `/api/v1/pods?fieldSelector=spec.nodeName%3D${name}`,
          { onChange: onPod, onDelete: onPodGone },
          shared,
        ),
    ),
    ...['configmaps', 'secrets'].map(
      async (kind) =>
        await watchList(`/api/v1/${kind}`, { onChange: onSource, onDelete: onSource }, shared),
    ),
  ]);

  return () => {
    stopping.abort();
    for (const { worker } of workers.values()) worker.abandon();
  };
};

const isOver = ({ status }: Pod): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed';
