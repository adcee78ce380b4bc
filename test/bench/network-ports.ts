/**
 * How soon pods get addresses in managed networks: `node test/bench/network-ports.ts [--pods 200]
 * [--replicas 100] [--ports 5000]`. The whole product on processes. From the request that creates a
 * pod to the version of it without our gate that a watch shows; the same until the last pod of a
 * Deployment with two interfaces; and from the start of a coordinator's process among so many
 * NetworkPorts to the open gate of a pod that has waited for it. No scheduler and no kubelet takes
 * the pods.
 */
import { statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createKubeClient, type NewObject } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { resourceV1 } from '#shared/kube/objects.ts';
import { NETWORK_PORTS_ANNOTATION } from '#shared/names.ts';
import { networkPortResource } from '#shared/resources/other-kinds/network-port.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { GATED, nodus, podSpec, seenPods } from '../integration/coordinator/managed-networks.ts';
import { managedNetwork } from '../stack/managed-network.ts';
import { atOnce } from '../stack/at-once.ts';
import { coordinatorDown } from '../stack/faults.ts';
import { installProduct } from '../stack/install.ts';
import { until } from '../stack/observe.ts';
import { apply } from '../stack/operator.ts';
import { setup as buildPrograms } from '../stack/programs.ts';
import { startStackCluster } from '../stack/start.ts';

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '200' },
    replicas: { type: 'string', default: '100' },
    ports: { type: 'string', default: '5000' },
  },
});
const PODS = Number(values.pods);
const REPLICAS = Number(values.replicas);
const PORTS = Number(values.ports);
/** Between two pods that are created one by one. */
const EVERY_MS = 100;
const SYSTEM = 'sdewan-system';
/** Restarts, one after the other. */
const TURNS = 5;

const deployments = resourceV1('apps', 'deployments', 'Deployment');
const load = (): string => `load ${loadavg()[0]?.toFixed(1)}`;
const quantile = (times: readonly number[], part: number): string =>
  `${Math.round(times.toSorted((a, b) => a - b)[Math.ceil(part * times.length) - 1] ?? NaN)} ms`;

await buildPrograms();
const cluster = await startStackCluster({ backend: 'process' });
const config = await loadKubeConfig({ kubeconfig: cluster.kubeconfig });
const client = createKubeClient({ config });
const over = new AbortController();
/** When a watch has shown the pod with its addresses, by name. */
const openedAt = new Map<string, number>();

const network = (name: string, second: number, namespace: string): object =>
  managedNetwork(name, {
    names: [`net-${name}`],
    subnets: [
      { cidr: `10.${second}.0.0/16`, ranges: [`10.${second}.1.0-10.${second}.63.255`] },
      { cidr: `fd00:${second}::/64`, ranges: [`fd00:${second}::100-fd00:${second}::3fff`] },
    ],
    namespaces: [namespace],
  });

try {
  await installProduct(cluster);
  const namespace = await cluster.createNamespace('ports-bench');
  await cluster.kubectl([
    'create',
    'rolebinding',
    'ports',
    `--namespace=${namespace}`,
    '--clusterrole=sdewan-network-ports',
    `--serviceaccount=${SYSTEM}:sdewan-coordinator`,
  ]);
  await apply(cluster, namespace, network('left', 60, namespace), network('right', 61, namespace));
  const adopted = ['--for=condition=Adopted', 'mnet/left', 'mnet/right', '--timeout=500s'];
  await cluster.kubectl(['wait', ...adopted]);
  const watch = new Reflector({
    client,
    resource: seenPods,
    selection: { namespace },
    log: silentLogger,
    onEvent: ({ object: { metadata } }) => {
      if (metadata.annotations?.[NETWORK_PORTS_ANNOTATION] !== undefined)
        openedAt.getOrInsertComputed(metadata.name, () => performance.now());
    },
  });
  void watch.run(over.signal);
  await until('the watch has begun', async () => watch.state.listed || undefined);

  const spec = podSpec({ ...GATED, schedulerName: 'none' });
  const podNamed = (name: string): NewObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, annotations: nodus('net-left') },
    spec,
  });
  const opened = (names: readonly string[]): Promise<true> =>
    until(`${names.length} pods have addresses`, async () =>
      names.every((name) => openedAt.has(name)) ? true : undefined,
    );
  const namesOf = (prefix: string, count: number): string[] =>
    Array.from({ length: count }, (_, at) => `${prefix}-${at}`);

  const createdAt = new Map<string, number>();
  for (const name of namesOf('one', PODS)) {
    createdAt.set(name, performance.now());
    await client.create(seenPods, podNamed(name));
    await sleep(EVERY_MS);
  }
  await opened([...createdAt.keys()]);
  const times = [...createdAt].map(([name, at]) => (openedAt.get(name) ?? NaN) - at);
  console.log(
    `${PODS} pods, one after the other: gate open after p50 ${quantile(times, 0.5)}, p99 ${quantile(times, 0.99)}, at most ${quantile(times, 1)}; ${load()}`,
  );

  const labels = { app: 'many' };
  const before = openedAt.size;
  const startedAt = performance.now();
  await client.create(deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'many', namespace },
    spec: {
      replicas: REPLICAS,
      selector: { matchLabels: labels },
      template: { metadata: { labels, annotations: nodus('net-left', 'net-right') }, spec },
    },
  });
  await until('all replicas have addresses', async () =>
    openedAt.size >= before + REPLICAS ? true : undefined,
  );
  const tookMs = Math.max(...openedAt.values()) - startedAt;
  console.log(
    `a Deployment of ${REPLICAS} pods with two interfaces: all open after ${(tookMs / 1_000).toFixed(2)} s; ${load()}`,
  );

  const there = async (): Promise<number> => (await client.list(networkPortResource)).items.length;
  const filling = namesOf('fill', Math.max(0, PORTS - (await there())));
  const fillingAt = performance.now();
  await atOnce(filling, (name) => client.create(seenPods, podNamed(name)));
  await opened(filling);
  const rate = filling.length / ((performance.now() - fillingAt) / 1_000);
  console.log(`${await there()} NetworkPorts, ${rate.toFixed(0)} a second; ${load()}`);

  for (let turn = 0; turn < TURNS; turn += 1) {
    const restore = await coordinatorDown(cluster);
    const name = `waits-${turn}`;
    await client.create(seenPods, podNamed(name));
    await restore();
    await opened([name]);
    const running = ['get', 'pods', '-n', SYSTEM, '-l', 'app=sdewan-coordinator'];
    const { stdout } = await cluster.kubectl([
      ...running,
      '-o',
      'jsonpath={.items[*].metadata.name}',
    ]);
    const starts = stdout.split(' ').map((pod) => {
      const file = join('containers', 'coordinator', 'running.json');
      return statSync(join(cluster.podDirectory(SYSTEM, pod), file)).mtimeMs;
    });
    const ms = performance.timeOrigin + (openedAt.get(name) ?? NaN) - Math.min(...starts);
    console.log(
      `a coordinator among ${await there()} NetworkPorts: the first gate is open ${(ms / 1_000).toFixed(2)} s after its process has started; ${load()}`,
    );
  }
} finally {
  over.abort();
  await client.close();
  await cluster.stop();
}
