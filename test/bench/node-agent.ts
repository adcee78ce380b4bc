/**
 * Real memory and CPU of the agent's container, from its control group on a real node, by number of rules. The requests and limits of
 * the sidecar are set from it. As root: `node test/bench/node-agent.ts [RULES …]`, by default 0 100 1000 5000 (10 minutes).
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, ContainerTarget, RealNode } from 'kind-test-harness';
import { createCnf } from '../stack/cnf.ts';
import { coordinatorReady } from '../stack/faults.ts';
import { installProduct } from '../stack/install.ts';
import { observePods, until } from '../stack/observe.ts';
import { apply } from '../stack/operator.ts';
import { rejectRule, zone } from '../stack/rules.ts';
import { startStackCluster } from '../stack/start.ts';

const PURPOSE = 'cnf-1';
const DEFAULT_SIZES = [0, 100, 1_000, 5_000];
/** Rules in one `kubectl apply`. */
const BATCH = 250;
const IN_SYNC_WITHIN_MS = 900_000;
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

/** Applies the rules from `from` to `to`, and waits until all are in sync. */
const grow = async (
  cluster: Cluster,
  namespace: string,
  from: number,
  to: number,
): Promise<void> => {
  for (let begin = from; begin < to; begin += BATCH) {
    const count = Math.min(BATCH, to - begin);
    const batch = Array.from({ length: count }, (_, index) => rejectRule(begin + index, 'lan1'));
    await apply(cluster, namespace, ...batch);
  }
  await until(`${to} rules in sync`, IN_SYNC_WITHIN_MS, async () => {
    await sleep(2_000);
    const path = 'jsonpath={.items[*].status.inSync}';
    const { stdout } = await cluster.kubectl(['get', 'firewallrules', '-n', namespace, '-o', path]);
    return stdout.split(' ').filter((each) => each === 'true').length >= to ? true : undefined;
  });
};

/** What it would use if it could. */
const liftLimit = async (cluster: Cluster): Promise<void> => {
  const coordinator = ['-n', 'sdewan-system', 'deployment/sdewan-coordinator'];
  await cluster.kubectl(['set', 'env', ...coordinator, 'SDEWAN_AGENT_MEMORY_LIMIT=1Gi']);
  await coordinatorReady(cluster);
};

const main = async (sizes: readonly number[]): Promise<void> => {
  const cluster = await startStackCluster({ backend: 'node', say: console.log });
  try {
    const { node } = cluster;
    if (!node) throw new Error('no real node');
    await installProduct(cluster);
    await liftLimit(cluster);
    const namespace = await cluster.createNamespace('bench');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 });
    await apply(cluster, namespace, zone('lan1', 'ovn-net1'));
    const [pod] = await observePods(cluster, namespace, PURPOSE);
    const agent = { namespace, pod: pod?.name ?? '', container: 'sdewan-agent' };

    let rules = 0;
    for (const size of sizes) {
      const before = await readUsage(node, agent);
      await grow(cluster, namespace, rules, size);
      rules = size;
      const grown = await readUsage(node, agent);
      await sleep(SETTLE_MS);
      const settled = await readUsage(node, agent);
      await sleep(AT_REST_MS);
      const rested = await readUsage(node, agent);
      const mib = (bytes: number) => (bytes / MIB).toFixed(0);
      const millis = ((rested.cpu - settled.cpu) / AT_REST_MS) * 1e6;
      console.log(
        `${size} rules: working set ${mib(rested.workingSet)} MiB, anonymous ${mib(rested.anonymous)} MiB, ` +
          `peak since the start ${mib(rested.peak)} MiB, CPU at rest ${millis.toFixed(0)} m, ` +
          `to come here ${(grown.cpu - before.cpu).toFixed(1)} s`,
      );
    }
  } finally {
    await cluster.stop();
  }
};

const given = process.argv.slice(2).map(Number);
await main(given.length > 0 ? given : DEFAULT_SIZES);
