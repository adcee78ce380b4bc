/**
 * What one agent costs: `node test/bench/agent.ts [rules] [idle seconds]`. The bundled agent as its
 * own process, a real API server, a simulator in a process of its own whose `fw4 reload` takes the
 * measured 0.6 ms per section. Prints a table.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, type Cluster } from 'kind-test-harness';
import { bundle } from '../../deploy/images/bundle.ts';
import { agentFlags } from '../stack/agent-flags.ts';
import { applyCrds } from '../integration/support/crds.ts';
import { startCoordinator, type ListeningCoordinator } from '../integration/support/coordinator.ts';

const RULES = Number(process.argv[2] ?? 1_000);
const IDLE_SECONDS = Number(process.argv[3] ?? 60);
/** BENCH_NODE_FLAGS to try others. */
const NODE_FLAGS =
  process.env['BENCH_NODE_FLAGS']?.split(' ').filter((flag) => flag !== '') ?? agentFlags();
const ROOT = join(import.meta.dirname, '../..');
const RELOAD_MS_PER_SECTION = 0.6;
const PASSWORD = 'bench-password';
const folder = mkdtempSync(join(tmpdir(), 'sdewan-bench-'));
const children: ChildProcess[] = [];

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
};

const start = (args: readonly string[], env: Record<string, string>): ChildProcess => {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', process.env['BENCH_OUTPUT'] ? 'inherit' : 'ignore', 'inherit'],
  });
  children.push(child);
  return child;
};

const startSimulatorProcess = async (): Promise<{ url: string; directory: string }> => {
  const port = await freePort();
  const directory = join(folder, 'openwrt');
  start(['test/openwrt/simulator/main.ts'], {
    KTH_POD_IP: '127.0.0.1',
    PORT_80: String(port),
    SIMULATOR_STATE_DIRECTORY: directory,
    SIMULATOR_AGENT_PASSWORD: PASSWORD,
    SIMULATOR_RELOAD_MS_PER_RULE: String(RELOAD_MS_PER_SECTION),
  });
  const url = `http://127.0.0.1:${port}`;
  await until('the simulator', () =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return { url, directory };
};

const until = async (what: string, holds: () => Promise<boolean> | boolean): Promise<void> => {
  const deadline = Date.now() + 120_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${what}: not there after two minutes`);
    await sleep(5);
  }
};

const manifest = (namespace: string, kind: string, name: string, spec: object): object => ({
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind,
  metadata: { name, namespace, labels: { sdewanPurpose: 'bench' } },
  spec,
});

const createRules = async (cluster: Cluster, namespace: string): Promise<void> => {
  const items = [
    manifest(namespace, 'FirewallZone', 'lan1', { network: ['ovn-net1'], input: 'ACCEPT' }),
    ...Array.from({ length: RULES }, (_, at) =>
      manifest(namespace, 'FirewallRule', `rule-${at}`, {
        src: 'lan1',
        src_ip: `10.${at >> 8}.${at & 255}.0/24`,
        proto: 'tcp',
        dest_port: 1_024 + at,
        target: 'REJECT',
      }),
    ),
  ];
  const list = { apiVersion: 'v1', kind: 'List', items };
  await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(list), timeoutMs: 300_000 });
};

const startAgent = (options: {
  /** Where the API server and the service account are. */
  apiServer: Record<string, string>;
  namespace: string;
  openwrtUrl: string;
  coordinatorUrl: string;
}): ChildProcess => {
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  mkdirSync(join(folder, 'state'), { recursive: true });
  const networks = { type: 'ovn4nfv', interface: [{ name: 'ovn-net1', interface: 'net1' }] };
  return start([...NODE_FLAGS, join(folder, 'bundle', 'main.mjs')], {
    ...options.apiServer,
    SDEWAN_PURPOSE: 'bench',
    SDEWAN_NAMESPACE: options.namespace,
    SDEWAN_POD_NAME: 'bench-0',
    SDEWAN_OPENWRT_URL: options.openwrtUrl,
    SDEWAN_OPENWRT_USERNAME_FILE: file('username', 'sdewan'),
    SDEWAN_OPENWRT_PASSWORD_FILE: file('password', PASSWORD),
    SDEWAN_COORDINATOR_URL: options.coordinatorUrl,
    SDEWAN_COORDINATOR_TOKEN_FILE: file('token', 'token'),
    SDEWAN_NETWORKS_FILE: file('networks', JSON.stringify(networks)),
    SDEWAN_STATE_DIR: join(folder, 'state'),
    SDEWAN_HTTP_PORT: '0',
    SDEWAN_LOG_LEVEL: process.env['BENCH_LOG_LEVEL'] ?? 'info',
  });
};

/** As in a pod, so that what only reads kubeconfigs is not loaded. */
const prepareServiceAccount = async (
  cluster: Cluster,
  namespace: string,
): Promise<Record<string, string>> => {
  const directory = join(folder, 'service-account');
  mkdirSync(directory);
  await cluster.kubectl(['-n', namespace, 'create', 'serviceaccount', 'agent']);
  const role = ['create', 'rolebinding', 'agent', '--clusterrole=cluster-admin'];
  await cluster.kubectl(['-n', namespace, ...role, `--serviceaccount=${namespace}:agent`]);
  const token = await cluster.kubectl(['-n', namespace, 'create', 'token', 'agent']);
  writeFileSync(join(directory, 'token'), token.stdout);
  writeFileSync(join(directory, 'namespace'), namespace);
  const raw = ['config', 'view', '--raw', '-o', 'json'];
  const { clusters } = JSON.parse((await cluster.kubectl(raw)).stdout);
  const ca = clusters[0].cluster['certificate-authority-data'];
  const caFile = clusters[0].cluster['certificate-authority'];
  writeFileSync(join(directory, 'ca.crt'), ca ? Buffer.from(ca, 'base64') : readFileSync(caFile));
  const { hostname, port } = new URL(cluster.server);
  return {
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
    SDEWAN_SERVICE_ACCOUNT_DIR: directory,
  };
};

type JournalLine = { event: string; ms: number; by?: { call: string }; service?: string };

const journal = (directory: string): JournalLine[] =>
  readFileSync(join(directory, 'journal.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

const memoryKb = (pid: number | undefined, field: string): number => {
  const line = readFileSync(`/proc/${pid}/status`, 'utf8')
    .split('\n')
    .find((candidate) => candidate.startsWith(field));
  return Number(/\d+/.exec(line ?? '')?.[0] ?? 0);
};

const cpuSeconds = (pid: number | undefined): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
};

/**
 * Requests for rule CRs that the API server has taken since it started. Watches count when they
 * end.
 */
const ruleRequests = async (cluster: Cluster): Promise<number> => {
  const { stdout } = await cluster.kubectl(['get', '--raw', '/metrics']);
  return stdout
    .split('\n')
    .filter((line) => /^apiserver_request_total\{.*group="batch\.sdewan\.akraino\.org"/.test(line))
    .filter((line) => /verb="(LIST|WATCH|GET)"/.test(line))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
};

const areAllApplied = ({ rules }: ListeningCoordinator): boolean =>
  rules().length === RULES + 1 && rules().every(({ state }) => state === 'Applied');

const run = async (): Promise<void> => {
  const size = await bundle(join(ROOT, 'agent/main.ts'), join(folder, 'bundle'));
  const cluster = await startCluster({});
  const coordinator = await startCoordinator();
  try {
    await applyCrds(cluster);
    const namespace = await cluster.createNamespace('bench');
    const apiServer = await prepareServiceAccount(cluster, namespace);
    const openwrt = await startSimulatorProcess();
    await createRules(cluster, namespace);
    // The first list of a CRD's objects fills the API server's cache, and is put off by a second:
    // not the agent's doing.
    await cluster.kubectl(['get', 'sdewan', '--all-namespaces', '--output', 'name'], {
      timeoutMs: 60_000,
    });

    const startedAt = Date.now();
    const agent = startAgent({
      apiServer,
      namespace,
      openwrtUrl: openwrt.url,
      coordinatorUrl: coordinator.url,
    });
    await until('all rules in sync', () => areAllApplied(coordinator));
    const inSyncMs = Date.now() - startedAt;
    const cpuInSync = cpuSeconds(agent.pid);
    const events = journal(openwrt.directory).filter(({ ms }) => ms >= startedAt);
    const transactions = events.filter(
      ({ event, by }) => event === 'write' && by?.call === 'uci apply',
    );
    const reloads = events.filter(({ event }) => event === 'reload');
    const sections = readFileSync(join(openwrt.directory, 'root/etc/config/firewall'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('config ')).length;
    const reloadMs = sections * RELOAD_MS_PER_SECTION;
    const peakKb = memoryKb(agent.pid, 'VmHWM');
    const row = (name: string, value: string): void => console.log(`| ${name} | ${value} |`);
    row(`${RULES} rules on a fresh OpenWRT`, 'measured');
    row('---', '---');
    row('transactions', String(transactions.length));
    row('reloads', String(reloads.length));
    row('agent start to in sync', `${inSyncMs} ms`);
    row('less the simulated reload', `${Math.round(inSyncMs - reloadMs)} ms`);
    row('CPU of the agent until then', `${(cpuInSync * 1_000).toFixed(0)} ms`);
    row('first write after the start', `${(transactions[0]?.ms ?? 0) - startedAt} ms`);

    const requests = await ruleRequests(cluster);
    const cpu = cpuSeconds(agent.pid);
    const heartbeats = coordinator.reports.length;
    await sleep(IDLE_SECONDS * 1_000);
    const perMinute = (count: number): string => ((count * 60) / IDLE_SECONDS).toFixed(2);
    row('memory (RSS), peak', `${(peakKb / 1_024).toFixed(0)} MiB`);
    row('memory (RSS), idle', `${(memoryKb(agent.pid, 'VmRSS') / 1_024).toFixed(0)} MiB`);
    row('CPU, idle', `${perMinute(cpuSeconds(agent.pid) - cpu)} s per minute`);
    row(
      'requests at the API server, idle',
      `${perMinute((await ruleRequests(cluster)) - requests)} per minute`,
    );
    row('reports, idle', `${perMinute(coordinator.reports.length - heartbeats)} per minute`);
    row('bundle', `${(size / 1_000).toFixed(0)} kB`);
  } finally {
    for (const child of children) child.kill();
    await coordinator.stop();
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

await run();
