/**
 * What kube-proxy and the cluster's DNS are on a real node. ClusterIPs are loopback addresses on this control plane (see
 * SERVICE_RANGE), so a listener on each one forwards to a ready pod behind the Service, and the API server reaches
 * webhooks by their Services. Names of Services in URLs of a container's environment become their ClusterIPs.
 */
import { createServer, connect, type Server, type Socket } from 'node:net';

import type { KubeClient } from '../kube/client.ts';
import type { KubeObject, Pod } from '../kube/objects.ts';
import { watchList } from '../kube/watch.ts';
import { findPort } from './pod-ports.ts';
import type { PortMap } from './loopback.ts';

type ServicePort = { name?: string; protocol?: string; port: number; targetPort: number | string };
export type Service = KubeObject & {
  spec: { clusterIP?: string; selector?: Record<string, string>; ports?: ServicePort[] };
};

export type ServicesDeps = {
  client: KubeClient;
  portsOf: (pod: Pod) => PortMap;
  onError: (error: unknown) => void;
  /** Nothing listens on the Service's port. */
  onUnserved: (service: Service, port: number, error: Error) => void;
  signal: AbortSignal;
};

export type Services = {
  /** Replaces the host of URLs that name a Service (`name.namespace.svc`, with or without the cluster's domain). */
  rewriteUrls: (text: string) => string;
};

const SERVICE_HOST =
  /(?<=:\/\/)([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?(?=[:/?#,;\s"']|$)/g;

/** What is forwarded is small and waited for: with Nagle's algorithm each answer of a webhook would take up to 40 ms more. */
const NO_DELAY = { noDelay: true };

/** Resolves after the first list of Services; runs until `signal`. */
export const startServices = async (deps: ServicesDeps): Promise<Services> => {
  const services = new Map<string, Service>();
  const pods = new Map<string, Pod>();
  const servers = new Map<string, Server>();
  let turn = 0;

  const onService = (service: Service) => {
    services.set(service.metadata.uid, service);
    for (const port of service.spec.ports ?? []) {
      const key = keyOf(service, port);
      if (key !== undefined && !servers.has(key)) servers.set(key, listen(service, port));
    }
  };
  const onServiceGone = (service: Service) => {
    services.delete(service.metadata.uid);
    for (const port of service.spec.ports ?? []) {
      const key = keyOf(service, port) ?? '';
      servers.get(key)?.close();
      servers.delete(key);
    }
  };

  const listen = ({ metadata, spec }: Service, { port }: ServicePort): Server => {
    const server = createServer(NO_DELAY, (socket) => forward(socket, metadata.uid, port));
    server.on('error', (error) => deps.onUnserved({ metadata, spec }, port, error));
    server.listen(port, spec.clusterIP);
    server.unref();
    return server;
  };

  /** The Service is looked up at each connection: its selector and target may have changed since. */
  const forward = (incoming: Socket, uid: string, port: number) => {
    const service = services.get(uid);
    const target = service?.spec.ports?.find((each) => each.port === port)?.targetPort;
    const ready = service ? [...pods.values()].filter((pod) => serves(pod, service)) : [];
    const pod = ready[turn++ % Math.max(1, ready.length)];
    const local = pod && target !== undefined ? portOf(pod, target, deps.portsOf(pod)) : undefined;
    if (!pod?.status?.podIP || local === undefined) {
      incoming.resetAndDestroy(); // as a Service without endpoints refuses
      return;
    }
    const outgoing = connect({ port: local, host: pod.status.podIP, ...NO_DELAY });
    for (const [one, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
      one.pipe(other);
    }
  };

  await Promise.all([
    watchList<Service>('/api/v1/services', { onChange: onService, onDelete: onServiceGone }, deps),
    watchList<Pod>(
      '/api/v1/pods',
      {
        onChange: (pod) => pods.set(pod.metadata.uid, pod),
        onDelete: ({ metadata }) => pods.delete(metadata.uid),
      },
      deps,
    ),
  ]);
  deps.signal.addEventListener('abort', () => {
    for (const server of servers.values()) server.close();
  });

  return {
    rewriteUrls: (text) =>
      text.replaceAll(SERVICE_HOST, (host, name: string, namespace: string) => {
        const found = [...services.values()].find(
          ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
        );
        return (found && loopbackAddress(found)) ?? host;
      }),
  };
};

/** Only loopback addresses can be listened on without rights; an existing cluster has others. */
const loopbackAddress = ({ spec }: Service): string | undefined =>
  spec.clusterIP?.startsWith('127.') ? spec.clusterIP : undefined;

/** `undefined` for ports that nothing here can serve: headless, UDP, without selector (the API server's own). */
const keyOf = (service: Service, { port, protocol = 'TCP' }: ServicePort): string | undefined =>
  loopbackAddress(service) !== undefined && protocol === 'TCP' && service.spec.selector
    ? `${service.metadata.uid}:${port}`
    : undefined;

const serves = ({ metadata, status }: Pod, service: Service): boolean =>
  metadata.namespace === service.metadata.namespace &&
  metadata.deletionTimestamp === undefined &&
  (status?.conditions ?? []).some((each) => each.type === 'Ready' && each.status === 'True') &&
  Object.entries(service.spec.selector ?? {}).every(
    ([name, value]) => metadata.labels?.[name] === value,
  );

const portOf = (pod: Pod, target: number | string, ports: PortMap): number | undefined => {
  const { containers, initContainers = [] } = pod.spec;
  for (const container of [...containers, ...initContainers]) {
    const declares = (container.ports ?? []).some(({ name }) => name === target);
    if (typeof target === 'number' || declares) return findPort(container, target, ports);
  }
  return undefined;
};
