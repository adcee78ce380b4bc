/**
 * Real memory and CPU of the agent's container, from its control group on a real node, by number of
 * rules. The requests and limits of the sidecar are set from it. As root: `node
 * test/bench/node-agent.ts [RULES …]`, by default 0 100 1000 5000 (10 minutes).
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, ContainerTarget, RealNode } from 'kind-test-harness';
import { createCnf, deleteCnf } from '../stack/cnf.ts';
import { coordinatorDown, coordinatorReady } from '../stack/faults.ts';
import { installProduct } from '../stack/install.ts';
import { observePods, readConfigFile, until } from '../stack/observe.ts';
import { apply } from '../stack/operator.ts';
import { rejectRule, zone } from '../stack/rules.ts';
import { startStackCluster } from '../stack/start.ts';

const PURPOSE = 'cnf-1';
const DEFAULT_SIZES = [0, 100, 1_000, 5_000];
/** Rules in one `kubectl apply`. */
const BATCH = 100;
const SETTLE_MS = 15_000;
const AT_REST_MS = 60_000;
const MIB = 1 << 20;

/** Bytes, and CPU seconds since the container's start. */
type Usage = { workingSet: number; anonymous: number; peak: number; cpu: number };

const readUsage = async (node: RealNode, target: ContainerTarget): Promise<Usage> => {
  const memory = await node.cgroup(target, 'memory');
  const number = async (file: string) => Number(await readFile(file, 'utf8'));
  const field = async (file: string, name: string) => {
    const line = (await readFile(file, 'utf8'))
      .split('\n')
      .find((each) => each.startsWith(`${name} `));
    return Number(line?.split(' ')[1]);
  };
  const stat = join(memory, 'memory.stat');
  if (existsSync(join(memory, 'memory.current'))) {
    return {
      workingSet:
        (await number(join(memory, 'memory.current'))) - (await field(stat, 'inactive_file')),
      anonymous: await field(stat, 'anon'),
      peak: await number(join(memory, 'memory.peak')),
      cpu: (await field(join(memory, 'cpu.stat'), 'usage_usec')) / 1e6,
    };
  }
  const cpu = await node.cgroup(target, 'cpuacct');
  return {
    workingSet:
      (await number(join(memory, 'memory.usage_in_bytes'))) -
      (await field(stat, 'total_inactive_file')),
    anonymous: await field(stat, 'total_rss'),
    peak: await number(join(memory, 'memory.max_usage_in_bytes')),
    cpu: (await number(join(cpu, 'cpuacct.usage'))) / 1e9,
  };
};

/** Created while no coordinator is up: its webhooks and statuses are not what is measured. */
const createRules = async (cluster: Cluster, namespace: string, count: number): Promise<void> => {
  const restore = await coordinatorDown(cluster);
  await apply(cluster, namespace, zone('lan1', 'ovn-net1'));
  for (let begin = 0; begin < count; begin += BATCH) {
    const length = Math.min(BATCH, count - begin);
    const batch = Array.from({ length }, (_, index) => rejectRule(begin + index, 'lan1'));
    await apply(cluster, namespace, ...batch);
  }
  await restore();
};

const untilConfigured = async (
  cluster: Cluster,
  target: { namespace: string; pod: string },
  rules: number,
): Promise<void> => {
  await until(`${rules} rules configured`, async () => {
    const text = await readConfigFile(cluster, target, 'firewall');
    const found = text?.match(/option src_ip '10\.1\./g)?.length ?? 0;
    return found === rules ? true : undefined;
  });
};

/** What it would use if it could. */
const liftLimit = async (cluster: Cluster): Promise<void> => {
  const coordinator = ['-n', 'sdewan-system', 'deployment/sdewan-coordinator'];
  await cluster.kubectl(['set', 'env', ...coordinator, 'SDEWAN_AGENT_MEMORY_LIMIT=1Gi']);
  await coordinatorReady(cluster);
};

const measure = async (cluster: Cluster, node: RealNode, rules: number): Promise<string> => {
  const namespace = await cluster.createNamespace('bench');
  await createRules(cluster, namespace, rules);
  const startedAt = Date.now();
  await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 }, { wait: false });
  const pod = await until('its pod', async () => {
    const [found] = await observePods(cluster, namespace, PURPOSE);
    return found?.name;
  });
  const target = { namespace, pod };
  await untilConfigured(cluster, target, rules);
  const seconds = (Date.now() - startedAt) / 1000;

  const agent = { ...target, container: 'sdewan-agent' };
  const grown = await readUsage(node, agent);
  await sleep(SETTLE_MS);
  const settled = await readUsage(node, agent);
  await sleep(AT_REST_MS);
  const rested = await readUsage(node, agent);
  await deleteCnf(cluster, namespace, PURPOSE);
  const mib = (bytes: number) => (bytes / MIB).toFixed(0);
  const millis = ((rested.cpu - settled.cpu) / AT_REST_MS) * 1e6;
  return (
    `${rules} rules: working set ${mib(rested.workingSet)} MiB, anonymous ${mib(rested.anonymous)} MiB, ` +
    `peak ${mib(rested.peak)} MiB, CPU at rest ${millis.toFixed(0)} m, ` +
    `configured ${seconds.toFixed(1)} s after the CNF was created, with ${grown.cpu.toFixed(1)} s of CPU`
  );
};

const main = async (sizes: readonly number[]): Promise<void> => {
  const cluster = await startStackCluster({ backend: 'node', say: console.log });
  try {
    const { node } = cluster;
    if (!node) throw new Error('no real node');
    await installProduct(cluster);
    await liftLimit(cluster);
    for (const size of sizes) console.log(await measure(cluster, node, size));
  } finally {
    await cluster.stop();
  }
};

const given = process.argv.slice(2).map(Number);
await main(given.length > 0 ? given : DEFAULT_SIZES);
