import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { startCluster, whyNoNode } from 'kind-test-harness';
import { afterEach, describe, expect, it } from 'vitest';

import { prepareTestImage } from './node/image.ts';
import { until } from './node/pods.ts';

const execute = promisify(execFile);
const CLI = join(import.meta.dirname, '../kind-test-harness/src/cli/main.ts');

const reason = await whyNoNode();
if (reason !== undefined) console.warn(`tests of the real node are skipped: ${reason}`);

type Held = {
  holder: ChildProcess;
  clusterDirectory: string;
  runDirectory: string;
  initPid: number;
  hostAddress: string;
};

let held: Held | undefined;
afterEach(() => {
  held?.holder.kill('SIGKILL');
});

const hold = async (): Promise<Held> => {
  const holder = spawn(process.execPath, [join(import.meta.dirname, 'node/hold.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(holder.stdout), 'line');
  const clusterDirectory = String(line);
  const { runDirectory, initPid, subnets } = JSON.parse(
    await readFile(join(clusterDirectory, 'node.json'), 'utf8'),
  );
  const { hostAddress } = subnets;
  held = { holder, clusterDirectory, runDirectory, initPid, hostAddress };
  return held;
};

const guardPid = async (initPid: number): Promise<number> => {
  const status = await readFile(`/proc/${initPid}/status`, 'utf8');
  return Number(/^PPid:\t(\d+)$/m.exec(status)?.[1]);
};

/** What is left of a node on this machine, by name; empty when all is gone. */
const traces = async (node: Held, network: string): Promise<string[]> => {
  const cgroup = basename(node.runDirectory);
  const hierarchies = ['', ...(await readdir('/sys/fs/cgroup'))];
  const groups = hierarchies.map((name) => join('/sys/fs/cgroup', name, cgroup)).filter(existsSync);
  const folders = [node.runDirectory, node.clusterDirectory].filter(existsSync);
  const processes = (await readdir('/proc')).filter((pid) => Number(pid) > 0);
  const inside = await Promise.all(
    processes.map(
      async (pid) => (await readlink(`/proc/${pid}/ns/net`).catch(() => '')) === network,
    ),
  );
  const addresses = Object.values(networkInterfaces()).flatMap((own = []) => own);
  const links = addresses.filter(({ address }) => address === node.hostAddress);
  return [
    ...groups,
    ...folders,
    ...inside.filter(Boolean).map(() => 'process'),
    ...links.map(() => 'link'),
  ];
};

describe.skipIf(reason !== undefined)('a real node goes without a trace', () => {
  it('does so when its holder is killed', async () => {
    const node = await hold();
    const network = await readlink(`/proc/${node.initPid}/ns/net`);
    expect(await traces(node, network)).toEqual(expect.arrayContaining(['process', 'link']));
    node.holder.kill('SIGKILL');
    expect(
      await until(
        async () => await traces(node, network),
        (left) => left.length === 0,
      ),
    ).toEqual([]);
  });

  it('does so when holder and guard are killed: its processes at once, the rest with the next start', async () => {
    const node = await hold();
    const network = await readlink(`/proc/${node.initPid}/ns/net`);
    process.kill(await guardPid(node.initPid), 'SIGKILL');
    node.holder.kill('SIGKILL');
    await until(
      async () => await traces(node, network),
      (left) => !left.includes('process'),
    );
    const next = await startCluster({ backend: 'node' });
    await next.stop();
    expect(await traces(node, network)).toEqual([]);
  });

  it('does so when it is stopped, or stopped twice', async () => {
    const cluster = await startCluster({ backend: 'node' });
    const directory = cluster.env['KIND_TEST_HARNESS_CLUSTER'] ?? '';
    const record = JSON.parse(await readFile(join(directory, 'node.json'), 'utf8'));
    await Promise.all([cluster.stop(), cluster.stop()]);
    const { hostAddress } = record.subnets;
    const node = { ...record, clusterDirectory: directory, hostAddress };
    expect(await traces(node, 'none')).toEqual([]);
  });

  it('does so from the command line: up, an image into it, kubectl, down', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kth-cli-'));
    const cli = async (...args: string[]): Promise<string> => {
      const command = [CLI, ...args];
      const { stdout } = await execute(process.execPath, command, { cwd: folder });
      return stdout;
    };
    const test = await prepareTestImage();
    expect(await cli('up', '--backend', 'node', '--detach')).toContain('The cluster is up');
    try {
      expect(await cli('status')).toContain(`started in ${folder}`);
      await cli('load-image', test.archive);
      await cli('kubectl', 'wait', '--for=create', 'serviceaccount/default', '--timeout=500s');
      await cli('kubectl', 'run', 'web', `--image=${test.name}`, '--', 'sleep', '600');
      await cli('kubectl', 'wait', '--for=condition=Ready', 'pod/web', '--timeout=500s');
    } finally {
      expect(await cli('down')).toContain('is down');
    }
    expect(await cli('status')).not.toContain(folder);
    await rm(folder, { recursive: true });
  });
});
