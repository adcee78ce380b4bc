import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import {
  containerOf,
  createBench,
  isReady,
  RUN_UNTIL_STOPPED,
  SHELL,
  type Bench,
} from './bench.ts';

/** Server of the image's port 80, which answers 200 once `/data/healthy` exists and 503 before. */
const WEB = 'harness.test/web';
const WEB_PROGRAM = `
  const { existsSync } = require('node:fs');
  const { createServer } = require('node:http');
  createServer((request, response) => {
    response.statusCode = existsSync(process.env.HEALTHY) ? 200 : 503;
    response.end();
  }).listen(Number(process.env.PORT_80), process.env.KTH_POD_IP);
  process.on('SIGTERM', () => process.exit(0));`;

let bench: Bench;
let directory: string;
beforeAll(async () => {
  bench = await createBench('lifecycle');
  directory = await mkdtemp(join(tmpdir(), 'lifecycle-'));
  bench.cluster.registerImages({
    [WEB]: { command: [process.execPath, '-e', WEB_PROGRAM], ports: { 80: 8080 } },
  });
});
afterAll(async () => {
  await rm(directory, { recursive: true });
});

const data = { name: 'data', mountPath: '/data' };
const volumes = [{ name: 'data', emptyDir: {} }];
const shell = (name: string, args: string, rest: object = {}) => ({
  name,
  image: SHELL,
  args: [args],
  volumeMounts: [data],
  ...rest,
});

describe('what the controller-manager does while it does not hear of the node', () => {
  const NODE = 'ubuntu18';
  const patchStatus = (what: string[], conditions: object[]) =>
    bench.kubectl(
      'patch',
      ...what,
      '--subresource=status',
      '--type=strategic',
      '-p',
      JSON.stringify({ status: { conditions } }),
    );

  it('is undone: the pod is ready again, and the node, too', async () => {
    await bench.run('unheard', { containers: [shell('main', RUN_UNTIL_STOPPED)], volumes });
    await bench.until('unheard', isReady);
    const unknown = { status: 'Unknown', reason: 'NodeStatusUnknown' };
    await patchStatus(['node', NODE], [{ type: 'Ready', ...unknown }]);
    await patchStatus(['pod', 'unheard'], [{ type: 'Ready', status: 'False' }]);
    const pod = await bench.until('unheard', isReady);
    expect(containerOf(pod, 'main')?.restartCount).toBe(0);
    const readiness = ['-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'];
    await vi.waitUntil(
      async () => (await bench.kubectl('get', 'node', NODE, ...readiness)) === 'True',
      { timeout: 300_000, interval: 500 },
    );
  });
});

describe('probes', () => {
  it('make a container ready and unready by httpGet on a mapped port', async () => {
    await bench.run('web', {
      containers: [
        {
          name: 'main',
          image: WEB,
          ports: [{ name: 'http', containerPort: 80 }],
          env: [{ name: 'HEALTHY', value: '/data/healthy' }],
          volumeMounts: [data],
          readinessProbe: {
            httpGet: { path: '/', port: 'http' },
            periodSeconds: 1,
            failureThreshold: 1,
          },
        },
      ],
      volumes,
    });
    const target = { namespace: bench.namespace, pod: 'web', container: 'main' };
    await bench.until('web', ({ status }) => status.phase === 'Running');
    await expect
      .poll(async () => await bench.events('web'))
      .toContainEqual(
        expect.objectContaining({
          reason: 'Unhealthy',
          message: 'Readiness probe failed: HTTP probe failed with statuscode: 503',
        }),
      );
    await bench.cluster.exec(target, ['touch', '/data/healthy']);
    await bench.until('web', isReady);
    await bench.cluster.exec(target, ['rm', '/data/healthy']);
    const pod = await bench.until('web', (view) => !isReady(view));
    expect(pod.status.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Ready',
        reason: 'ContainersNotReady',
        message: 'containers with unready status: [main]',
      }),
    );
    expect(containerOf(pod, 'main')?.restartCount).toBe(0);
  });

  it('ask by https whatever certificate answers', async () => {
    const { port } = new URL(bench.cluster.server);
    const server = { scheme: 'HTTPS', host: '127.0.0.1', port: Number(port) };
    const ask = (path: string) => ({ httpGet: { ...server, path }, periodSeconds: 1 });
    await bench.run('https', {
      containers: [
        shell('well', RUN_UNTIL_STOPPED, { readinessProbe: ask('/healthz') }),
        shell('badly', RUN_UNTIL_STOPPED, { readinessProbe: ask('/no-such-path') }),
      ],
      volumes,
    });
    const pod = await bench.until('https', (view) => containerOf(view, 'well')?.ready === true);
    expect(containerOf(pod, 'badly')?.ready).toBe(false);
  });

  it('restart a container that is stuck by its liveness', async () => {
    await bench.run('stuck', {
      containers: [
        shell('main', `touch /data/alive; ${RUN_UNTIL_STOPPED}`, {
          livenessProbe: {
            exec: { command: ['test', '-f', '/data/alive'] },
            initialDelaySeconds: 1,
            periodSeconds: 1,
            failureThreshold: 1,
          },
        }),
      ],
      volumes,
    });
    await bench.until('stuck', isReady);
    const target = { namespace: bench.namespace, pod: 'stuck', container: 'main' };
    await bench.cluster.exec(target, ['rm', '/data/alive']);
    const pod = await bench.until('stuck', (view) => containerOf(view, 'main')?.restartCount === 1);
    expect(containerOf(pod, 'main')?.lastState['terminated']?.exitCode).toBe(0);
    expect(await bench.events('stuck')).toContainEqual(
      expect.objectContaining({
        reason: 'Killing',
        message: 'Container main failed liveness probe, will be restarted',
      }),
    );
  });
});

describe('native sidecars', () => {
  it('start before the others when their startup probes let them, and end after them in reverse', async () => {
    const order = join(directory, 'order');
    const note = (name: string, before = '') =>
      `${before} echo start ${name} >>${order}; trap "echo stop ${name} >>${order}; exit 0" TERM; touch /data/${name}; while :; do sleep 0.05; done`;
    const sidecar = (name: string, before: string) =>
      shell(name, note(name, before), {
        restartPolicy: 'Always',
        startupProbe: {
          exec: { command: ['test', '-f', `/data/${name}`] },
          periodSeconds: 1,
          failureThreshold: 10,
        },
      });
    await bench.run('sidecars', {
      initContainers: [sidecar('one', 'sleep 0.5;'), sidecar('two', '')],
      containers: [shell('main', note('main'))],
      volumes,
    });
    const pod = await bench.until('sidecars', isReady);
    expect(containerOf(pod, 'one')).toMatchObject({ started: true, ready: true });

    await bench.kubectl('delete', 'pod', 'sidecars', '--timeout=500s');
    expect((await readFile(order, 'utf8')).trim().split('\n')).toEqual([
      'start one',
      'start two',
      'start main',
      'stop main',
      'stop two',
      'stop one',
    ]);
  });

  it('come back alone when they fail, while the main container goes on', async () => {
    await bench.run('alone', {
      initContainers: [shell('side', RUN_UNTIL_STOPPED, { restartPolicy: 'Always' })],
      containers: [shell('main', RUN_UNTIL_STOPPED)],
      volumes,
    });
    await bench.until('alone', isReady);
    const target = { namespace: bench.namespace, pod: 'alone', container: 'side' };
    await bench.cluster.killContainer(target, 'SIGKILL');
    await bench.until(
      'alone',
      (view) => containerOf(view, 'side')?.restartCount === 1 && isReady(view),
    );
    expect(containerOf(await bench.pod('alone'), 'main')?.restartCount).toBe(0);
  });

  it('are ended when the main containers are through', async () => {
    await bench.run('job', {
      restartPolicy: 'Never',
      initContainers: [shell('side', RUN_UNTIL_STOPPED, { restartPolicy: 'Always' })],
      containers: [shell('main', 'sleep 0.5')],
      volumes,
    });
    const pod = await bench.until('job', ({ status }) => status.phase === 'Succeeded');
    await bench.until(
      'job',
      (view) => containerOf(view, 'side')?.state['terminated'] !== undefined,
    );
    expect(containerOf(pod, 'main')?.state['terminated']?.reason).toBe('Completed');
  });
});

describe('deletion', () => {
  it('gives the grace that the pod asks for, then kills', async () => {
    await bench.run('stubborn', {
      terminationGracePeriodSeconds: 2,
      containers: [shell('main', 'trap "" TERM; touch /data/up; while :; do sleep 0.05; done')],
      volumes,
    });
    await bench.until('stubborn', isReady);
    const target = { namespace: bench.namespace, pod: 'stubborn', container: 'main' };
    await expect
      .poll(async () => (await bench.cluster.exec(target, ['test', '-f', '/data/up'])).code)
      .toBe(0);
    const startedAt = Date.now();
    await bench.kubectl('delete', 'pod', 'stubborn', '--timeout=500s');
    expect(Date.now() - startedAt).toBeGreaterThan(1900);
    expect(Date.now() - startedAt).toBeLessThan(8000);
  });

  it('runs preStop before SIGTERM', async () => {
    const order = join(directory, 'hooks');
    await bench.run('hooks', {
      containers: [
        shell('main', `trap "echo stopped >>${order}; exit 0" TERM; while :; do sleep 0.05; done`, {
          lifecycle: {
            postStart: { exec: { command: ['sh', '-c', `echo started >>${order}`] } },
            preStop: { exec: { command: ['sh', '-c', `echo stopping >>${order}`] } },
          },
        }),
      ],
      volumes,
    });
    await bench.until('hooks', isReady);
    await expect.poll(async () => await readFile(order, 'utf8').catch(() => '')).toBe('started\n');
    await bench.kubectl('delete', 'pod', 'hooks', '--timeout=500s');
    expect(await readFile(order, 'utf8')).toBe('started\nstopping\nstopped\n');
  });

  it('ends the process too by force, and a successor of the same name is another pod', async () => {
    const spec = { containers: [shell('main', RUN_UNTIL_STOPPED)], volumes };
    await bench.run('again', spec);
    const before = await bench.until('again', isReady);
    await bench.kubectl('delete', 'pod', 'again', '--force', '--grace-period=0');
    await bench.run('again', spec);
    const after = await bench.until('again', isReady);
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
    expect(after.status.podIP).not.toBe(before.status.podIP);
    const target = { namespace: bench.namespace, pod: 'again', container: 'main' };
    const { stdout } = await bench.cluster.exec(target, ['sh', '-c', 'echo $KTH_POD_IP']);
    expect(stdout.trim()).toBe(after.status.podIP);
  });
});
