/**
 * What the watches of idle agents cost the API server: `node test/bench/watch.ts [--agents 20] [--kinds 19] [--minutes 10]`.
 * Every agent has a client of its own, as in a process of its own; each kind is a CRD with one rule per agent.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/reflector.ts';
import { createLogger } from '#shared/runtime/log.ts';
import { startCluster, type Cluster } from 'kind-test-harness';

/** How long the control plane is watched before the agents come. */
const BASELINE_MS = 30_000;
const GROUP = 'bench.example.org';

const { values } = parseArgs({
  options: {
    agents: { type: 'string', default: '20' },
    kinds: { type: 'string', default: '19' },
    /** A watch lives 5 to 10 minutes: less than 10 tells little about the rate at rest. */
    minutes: { type: 'string', default: '10' },
  },
});
const agents = Number(values.agents);
const kinds: readonly ResourceType[] = Array.from({ length: Number(values.kinds) }, (_, i) => ({
  group: GROUP,
  version: 'v1',
  plural: `kind${i}s`,
  kind: `Kind${i}`,
  schema: objectSchema,
}));

type Figures = { requests: number; cpuSeconds: number; rssMb: number; watches: number };

const figuresOf = async (cluster: Cluster): Promise<Figures> => {
  const { stdout } = await cluster.kubectl(['get', '--raw', '/metrics']);
  const sum = (name: string, label = ''): number =>
    stdout
      .split('\n')
      .filter((line) => line.startsWith(name) && line.includes(label))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  return {
    requests: sum('apiserver_request_total{', `group="${GROUP}"`),
    cpuSeconds: sum('process_cpu_seconds_total'),
    rssMb: sum('process_resident_memory_bytes') / 1e6,
    watches: sum('apiserver_longrunning_requests{', `group="${GROUP}"`),
  };
};

const install = async (cluster: Cluster): Promise<void> => {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const crds = kinds.map(({ group, plural, kind }) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: open } }],
    },
  }));
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: crds });
  await cluster.kubectl(['apply', '-f', '-'], { stdin });
  const names = crds.map(({ metadata }) => `crd/${metadata.name}`);
  await cluster.kubectl(['wait', '--for=condition=Established', ...names]);
};

const createRules = async (client: KubeClient, namespace: string): Promise<void> => {
  for (const resource of kinds)
    for (let i = 0; i < agents; i += 1)
      await client.create(resource, {
        apiVersion: `${GROUP}/v1`,
        kind: resource.kind,
        metadata: { name: `rule-${i}`, namespace, labels: { sdewanPurpose: `cnf-${i}` } },
        spec: { src: 'wan', dest: 'lan', target: 'ACCEPT' },
      });
};

const minutesBetween = (a: number, b: number): number => (b - a) / 60_000;
const print = (what: string, value: number, unit: string): void =>
  console.log(`${what.padEnd(58)} ${value.toFixed(2).padStart(10)} ${unit}`);

const main = async (): Promise<void> => {
  const cluster = await startCluster();
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  const clients: KubeClient[] = [];
  try {
    const config = await loadKubeConfig({ kubeconfig: cluster.kubeconfig });
    const log = createLogger({ name: 'bench', level: 'warn' });
    await install(cluster);
    const namespace = await cluster.createNamespace('bench');
    const admin = createKubeClient({ config });
    clients.push(admin);
    await createRules(admin, namespace);
    const before = await figuresOf(cluster);
    await sleep(BASELINE_MS);
    const settled = await figuresOf(cluster);
    const baseline = (settled.cpuSeconds - before.cpuSeconds) * (60_000 / BASELINE_MS);
    print('API server: CPU a minute without agents', baseline, 's');
    const rssBefore = process.memoryUsage.rss();

    const startedAt = performance.now();
    const reflectors = Array.from({ length: agents }, (_, agent) => {
      const client = createKubeClient({ config });
      clients.push(client);
      const selection = { namespace, labelSelector: `sdewanPurpose=cnf-${agent}` };
      return kinds.map((resource) => new Reflector({ client, resource, selection, log }));
    }).flat();
    for (const reflector of reflectors) running.push(reflector.run(stop.signal));
    while (!reflectors.every(({ state, store }) => state.phase === 'Synced' && store.size === 1))
      await sleep(5);
    print('all watches of all agents open after', performance.now() - startedAt, 'ms');
    const open = await figuresOf(cluster);
    const connections = clients.slice(1).reduce((sum, client) => sum + client.connections(), 0);
    print('watches', open.watches - settled.watches, '');
    print('connections per agent', connections / agents, '');
    print(
      'API server: CPU to open one watch',
      ((open.cpuSeconds - settled.cpuSeconds) * 1e3) / reflectors.length,
      'ms',
    );
    print(
      'API server: memory per watch',
      ((open.rssMb - settled.rssMb) * 1e3) / reflectors.length,
      'kB',
    );
    print('here: memory per agent', (process.memoryUsage.rss() - rssBefore) / 1e6 / agents, 'MB');

    const restAt = Date.now();
    const cpuBefore = process.cpuUsage();
    await sleep(Number(values.minutes) * 60_000);
    const end = await figuresOf(cluster);
    const cpu = process.cpuUsage(cpuBefore);
    const minutes = minutesBetween(restAt, Date.now());
    print(
      'at rest: requests a minute per agent',
      (end.requests - open.requests) / minutes / agents,
      '',
    );
    print(
      'at rest: API server CPU a minute, all',
      (end.cpuSeconds - open.cpuSeconds) / minutes,
      's',
    );
    print(
      'at rest: CPU here a minute per agent',
      (cpu.user + cpu.system) / 1e3 / minutes / agents,
      'ms',
    );
    print(
      'not synced at the end',
      reflectors.filter(({ state }) => state.phase !== 'Synced').length,
      '',
    );
  } finally {
    stop.abort();
    await Promise.all(running);
    await Promise.all(clients.map((client) => client.close()));
    await cluster.stop();
  }
};

await main();
