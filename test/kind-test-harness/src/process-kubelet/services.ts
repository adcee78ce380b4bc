/**
 * What kube-proxy and the cluster's DNS are on a real node. ClusterIPs are loopback addresses on
 * this control plane (see SERVICE_RANGE), so a listener on each one forwards to a ready pod behind
 * the Service, and the API server reaches webhooks by their Services. Names of Services in URLs of
 * a container's environment become their ClusterIPs. A headless Service gets two addresses, each
 * for one of its pods at a time, and a URL with its name becomes two URLs: a client that wants all
 * of its pods must take a list.
 */
import { createServer, connect, type Server, type Socket } from 'node:net';

import type { KubeClient } from '../kube/client.ts';
import type { KubeObject, Pod } from '../kube/objects.ts';
import { watchList } from '../kube/watch.ts';
import { findPort } from './pod-ports.ts';
import type { AddressPool } from './addresses.ts';
import type { PortMap } from './loopback.ts';

type ServicePort = { name?: string; protocol?: string; port: number; targetPort: number | string };
export type Service = KubeObject & {
  spec: {
    clusterIP?: string;
    selector?: Record<string, string>;
    ports?: ServicePort[];
    publishNotReadyAddresses?: boolean;
  };
};

export type ServicesDeps = {
  client: KubeClient;
  addresses: AddressPool;
  portsOf: (pod: Pod) => PortMap;
  onError: (error: unknown) => void;
  /** Nothing listens on the Service's port. */
  onUnserved: (service: Service, port: number, error: Error) => void;
  signal: AbortSignal;
};

export type Services = {
  /**
   * Replaces the host of URLs that name a Service (`name.namespace.svc`, with or without the
   * cluster's domain).
   */
  rewriteUrls: (text: string) => string;
};

const SERVICE_HOST =
  /(?<=:\/\/)([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?(?=[:/?#,;\s"']|$)/g;

/**
 * What is forwarded is small and waited for: with Nagle's algorithm each answer of a webhook would
 * take up to 40 ms more.
 */
const NO_DELAY = { noDelay: true };

const HEADLESS_URL =
  /\b(https?):\/\/([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?(:\d+)?([^\s,;"']*)/g;
const SEATS = 2;

/** An address of a headless Service, and the pod behind it. */
type Seat = { address: string; pod: string | undefined };

/** Resolves after the first list of Services; runs until `signal`. */
export const startServices = async (deps: ServicesDeps): Promise<Services> => {
  const services = new Map<string, Service>();
  const pods = new Map<string, Pod>();
  const servers = new Map<string, Server>();
  /**
   * By the Service's namespace and name: what a container has been told of one holds when it is
   * made anew, as a name in DNS does.
   */
  const seats = new Map<string, readonly Seat[]>();
  let turn = 0;

  const onService = (service: Service) => {
    const { uid } = service.metadata;
    services.set(uid, service);
    if (isHeadless(service) && !seats.has(nameOf(service)))
      seats.set(
        nameOf(service),
        Array.from({ length: SEATS }, () => ({ address: deps.addresses.take(), pod: undefined })),
      );
    for (const port of service.spec.ports ?? []) {
      for (const host of hostsOf(service)) {
        const key = `${host}:${port.port}`;
        if (serves(port) && !servers.has(key)) servers.set(key, listen(service, port, host));
      }
    }
  };
  const onServiceGone = (service: Service) => {
    services.delete(service.metadata.uid);
    for (const host of hostsOf(service))
      for (const { port } of service.spec.ports ?? []) {
        servers.get(`${host}:${port}`)?.close();
        servers.delete(`${host}:${port}`);
      }
  };

  /**
   * None for what nothing here can serve: without selector (the API server's own), or of an
   * existing cluster.
   */
  const hostsOf = (service: Service): readonly string[] => {
    if (!service.spec.selector) return [];
    const clusterIP = loopbackAddress(service);
    if (clusterIP !== undefined) return [clusterIP];
    return (seats.get(nameOf(service)) ?? []).map(({ address }) => address);
  };

  const listen = ({ metadata, spec }: Service, { port }: ServicePort, host: string): Server => {
    const server = createServer(NO_DELAY, (socket) =>
      forward(socket, { uid: metadata.uid, port, host }),
    );
    server.on('error', (error) => deps.onUnserved({ metadata, spec }, port, error));
    server.listen(port, host);
    server.unref();
    return server;
  };

  /**
   * The Service is looked up at each connection: its selector and target may have changed since.
   */
  const forward = (
    incoming: Socket,
    { uid, port, host }: { uid: string; port: number; host: string },
  ) => {
    const service = services.get(uid);
    const target = service?.spec.ports?.find((each) => each.port === port)?.targetPort;
    const pod = service && podFor(service, host);
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

  const podFor = (service: Service, host: string): Pod | undefined => {
    const behind = [...pods.values()].filter((pod) => isBehind(pod, service));
    const all = seats.get(nameOf(service));
    const seat = all?.find(({ address }) => address === host);
    if (!all || !seat) return behind[turn++ % Math.max(1, behind.length)];
    const isFree = ({ metadata }: Pod) => all.every((one) => one.pod !== metadata.uid);
    const found = behind.find(({ metadata }) => metadata.uid === seat.pod) ?? behind.find(isFree);
    seat.pod = found?.metadata.uid;
    return found;
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

  const named = (name: string, namespace: string): Service | undefined =>
    [...services.values()].find(
      ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
    );

  const rewriteHeadless = (
    ...[url, scheme, name, namespace, port = '', rest = '']: readonly string[]
  ): string => {
    const service = named(name ?? '', namespace ?? '');
    const all = service && seats.get(nameOf(service));
    return all?.map(({ address }) => `${scheme}://${address}${port}${rest}`).join(',') ?? url ?? '';
  };

  return {
    rewriteUrls: (text) =>
      text
        .replaceAll(HEADLESS_URL, (...parts: string[]) => rewriteHeadless(...parts.slice(0, 6)))
        .replaceAll(SERVICE_HOST, (host, name: string, namespace: string) => {
          const found = named(name, namespace);
          return (found && loopbackAddress(found)) ?? host;
        }),
  };
};

const nameOf = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`;

/** Only loopback addresses can be listened on without rights; an existing cluster has others. */
const loopbackAddress = ({ spec }: Service): string | undefined =>
  spec.clusterIP?.startsWith('127.') ? spec.clusterIP : undefined;

const isHeadless = ({ spec }: Service): boolean =>
  spec.clusterIP === 'None' && spec.selector !== undefined;

const serves = ({ protocol = 'TCP' }: ServicePort): boolean => protocol === 'TCP';

const isBehind = ({ metadata, status }: Pod, service: Service): boolean =>
  metadata.namespace === service.metadata.namespace &&
  metadata.deletionTimestamp === undefined &&
  (service.spec.publishNotReadyAddresses === true ||
    (status?.conditions ?? []).some((each) => each.type === 'Ready' && each.status === 'True')) &&
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
