import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createBench, isReady, RUN_UNTIL_STOPPED, SHELL, type Bench } from './bench.ts';

/** For two clusters that start at once; some seconds on an idle machine. */
const TIMEOUT_MS = 120_000;
const CLEAN_UP_TIMEOUT_MS = 20_000;

type Owner = { process: ChildProcess; env: Record<string, string>; directory: string };

const startOwner = async (program = 'owner.ts', more: NodeJS.ProcessEnv = {}): Promise<Owner> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, program)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, KUBECONFIG: '', ...more },
  });
  const lines = createInterface({ input: child.stdout });
  const first = await lines[Symbol.asyncIterator]().next();
  if (first.done) throw new Error('the owner ended before its cluster was up');
  const started: Pick<Owner, 'env' | 'directory'> = JSON.parse(first.value);
  return { process: child, ...started };
};

/** Processes that a cluster started, told by their mark. */
const processesOf = async ({ directory }: Owner): Promise<string[]> => {
  const mark = `KTH_CLUSTER_ID=${basename(directory)}`;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      return environment.split('\0').includes(mark) ? [pid] : [];
    }),
  );
  return found.flat();
};

const apiServerOf = async (owner: Owner): Promise<string[]> => {
  const found = (await processesOf(owner)).map(async (pid) => {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return command
      .split('\0')
      .slice(0, 2)
      .some((word) => basename(word) === 'kube-apiserver')
      ? [pid]
      : [];
  });
  return (await Promise.all(found)).flat();
};

const untilGone = async ({ directory }: Owner) => {
  const deadline = Date.now() + CLEAN_UP_TIMEOUT_MS;
  while (existsSync(directory) && Date.now() < deadline) await sleep(50);
};

const runPod = async (bench: Bench) => {
  await bench.run('pod', {
    containers: [
      {
        name: 'main',
        image: SHELL,
        args: [`setsid sleep 300 & ${RUN_UNTIL_STOPPED}`],
        volumeMounts: [{ name: 'token', mountPath: '/token' }],
      },
    ],
    volumes: [
      { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
    ],
  });
  await bench.until('pod', isReady);
};

/** Two at once, as two clones of the project have. */
let one: Owner;
let two: Owner;
beforeAll(async () => {
  [one, two] = await Promise.all([startOwner(), startOwner()]);
});
afterAll(async () => {
  for (const { process } of [one, two]) process.kill('SIGKILL');
  await Promise.all([one, two].map(async (owner) => await untilGone(owner)));
});

describe('two clusters of one machine', () => {
  it('have pods and servers at different addresses', async () => {
    const benches = await Promise.all(
      [one, two].map(async ({ env }) => await createBench('beside', env)),
    );
    await Promise.all(benches.map(runPod));
    const pods = await Promise.all(benches.map(async (bench) => await bench.pod('pod')));
    expect(pods[0]?.status.podIP).not.toBe(pods[1]?.status.podIP);
    expect(benches[0]?.cluster.server).not.toBe(benches[1]?.cluster.server);
  });
});

describe('a cluster', () => {
  it('renews tokens in place', async () => {
    const bench = await createBench('renew', one.env);
    await runPod(bench);
    const target = { namespace: bench.namespace, pod: 'pod', container: 'main' };
    const read = async () => await bench.cluster.readFile(target, '/token/token');
    const first = await read();
    await expect.poll(read).not.toBe(first);
  });

  it('survives the death of its API server, and so do its pods', async () => {
    const bench = await createBench('faults', one.env);
    await runPod(bench);
    const version = async () =>
      (await bench.cluster.kubectl(['version'], { allowFailure: true })).code;
    const killed = await apiServerOf(one);
    expect(killed).toHaveLength(1);
    await bench.cluster.signalControlPlane('kube-apiserver', 'SIGKILL');
    // By its process: on a busy machine it is there again before kubectl has looked.
    await expect.poll(() => apiServerOf(one)).not.toEqual(killed);
    await expect.poll(version).toBe(0);
    expect(isReady(await bench.pod('pod'))).toBe(true);
    await bench.kubectl('delete', 'pod', 'pod', '--timeout=500s');
    await runPod(bench);
  });

  it.each([
    ['SIGKILL', () => one],
    ['SIGINT', () => two],
  ] as const)('leaves no process and no file when its owner ends by %s', async (signal, pick) => {
    const owner = pick();
    const bench = await createBench('leak', owner.env);
    await runPod(bench);
    // etcd, API server, controller-manager, scheduler; the container's shell and what it started
    expect((await processesOf(owner)).length).toBeGreaterThanOrEqual(6);

    owner.process.kill(signal);
    await untilGone(owner);
    expect(existsSync(owner.directory)).toBe(false);
    expect(await processesOf(owner)).toEqual([]);
  });
});

describe('an existing cluster', () => {
  it(
    'gets a node for as long as the harness runs, and is left as it was',
    async () => {
      const existing = await startOwner('bare-owner.ts');
      const guest = await startOwner('owner.ts', existing.env);
      try {
        const bench = await createBench('guest', guest.env);
        expect(bench.cluster.reason).toContain('the existing cluster of KUBECONFIG');
        expect(bench.cluster.kubeconfig).toBe(existing.env['KUBECONFIG']);
        await runPod(bench);
        await bench.kubectl('delete', 'pod', 'pod', '--timeout=500s');

        guest.process.kill('SIGTERM');
        await untilGone(guest);
        expect(await bench.kubectl('get', 'nodes', '-o', 'name')).toBe('');
      } finally {
        for (const { process } of [guest, existing]) process.kill('SIGKILL');
        await untilGone(existing);
      }
    },
    TIMEOUT_MS,
  );
});
