/**
 * A namespace with shell "containers" in which a test makes pods and looks at them, all through the
 * API server.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { connectCluster, type Cluster } from 'kind-test-harness';

/** A "container" that runs until it is told to stop. */
export const RUN_UNTIL_STOPPED = 'trap "exit 0" TERM; while :; do sleep 0.05; done';
/** An image whose arguments are a line of shell. */
export const SHELL = 'harness.test/shell';

export type ContainerStatus = {
  name: string;
  ready: boolean;
  image: string;
  started: boolean;
  restartCount: number;
  state: Record<string, { reason?: string; message?: string; exitCode?: number } | undefined>;
  lastState: Record<string, { reason?: string; exitCode?: number } | undefined>;
};

export type PodView = {
  metadata: { name: string; uid: string };
  status: {
    phase: string;
    podIP?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
};

export type Bench = {
  cluster: Cluster;
  namespace: string;
  kubectl: (...args: string[]) => Promise<string>;
  apply: (manifest: object) => Promise<void>;
  /** Creates a pod; the spec needs no more than its containers. */
  run: (name: string, spec: object, metadata?: object) => Promise<void>;
  pod: (name: string) => Promise<PodView>;
  /**
   * The first view of the pod that satisfies the test; fails with the last view after the timeout.
   */
  until: (name: string, test: (pod: PodView) => boolean, timeoutMs?: number) => Promise<PodView>;
  log: (pod: string, container: string) => Promise<string>;
  events: (pod: string) => Promise<{ reason: string; message: string; count?: number }[]>;
};

/** In the cluster of the run, or in the one that `env` names. */
export const createBench = async (prefix: string, env = process.env): Promise<Bench> => {
  const cluster = await connectCluster(env);
  cluster.registerImages({ [SHELL]: { command: ['/bin/sh', '-c'] } });
  const namespace = await cluster.createNamespace(prefix);
  const kubectl = async (...args: string[]) =>
    (await cluster.kubectl(['--namespace', namespace, ...args])).stdout;
  const apply = async (manifest: object) => {
    await cluster.kubectl(['--namespace', namespace, 'apply', '-f', '-'], {
      stdin: JSON.stringify(manifest),
    });
  };
  const pod = async (name: string) => {
    const view: PodView = JSON.parse(await kubectl('get', 'pod', name, '-o', 'json'));
    return view;
  };

  return {
    cluster,
    namespace,
    kubectl,
    apply,
    pod,
    run: async (name, spec, metadata = {}) => {
      await apply({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, ...metadata },
        spec: { terminationGracePeriodSeconds: 5, ...spec },
      });
    },
    until: async (name, test, timeoutMs = 20_000) => {
      const deadline = Date.now() + timeoutMs;
      for (;;) {
        const view = await pod(name);
        if (test(view)) return view;
        if (Date.now() > deadline) {
          throw new Error(`timed out: ${JSON.stringify(view.status, undefined, 1)}`);
        }
        await sleep(100);
      }
    },
    log: async (name, container) => await kubectl('logs', name, '-c', container),
    events: async (name) => {
      const found: { items: { reason: string; message: string; count?: number }[] } = JSON.parse(
        await kubectl(
          'get',
          'events',
          `--field-selector=involvedObject.name=${name}`,
          '-o',
          'json',
        ),
      );
      return found.items;
    },
  };
};

export const isReady = ({ status }: PodView): boolean =>
  status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

export const containerOf = ({ status }: PodView, name: string): ContainerStatus | undefined =>
  [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].find(
    (container) => container.name === name,
  );

export const waitingReason = (pod: PodView, container: string): string | undefined =>
  containerOf(pod, container)?.state['waiting']?.reason;
