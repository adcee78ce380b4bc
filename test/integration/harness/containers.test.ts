import { beforeAll, describe, expect, it } from 'vitest';

import {
  containerOf,
  createBench,
  isReady,
  RUN_UNTIL_STOPPED,
  SHELL,
  waitingReason,
  type Bench,
} from './bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await createBench('containers');
});

const main = (args: string, rest: object = {}) => ({
  name: 'main',
  image: SHELL,
  args: [args],
  ...rest,
});

describe('an image', () => {
  it('is ErrImagePull when nothing stands for it, then ImagePullBackOff, until it is registered', async () => {
    const image = 'harness.test/late';
    await bench.run('late', { containers: [{ name: 'main', image }] });
    await bench.until('late', (pod) => waitingReason(pod, 'main') === 'ErrImagePull');
    await bench.until('late', (pod) => waitingReason(pod, 'main') === 'ImagePullBackOff');
    const events = await bench.events('late');
    const failed = events.find(({ reason }) => reason === 'Failed')?.message;
    expect(failed).toMatch(/^Failed to pull image "harness\.test\/late": .*; there is: .*/);
    expect(failed).toContain(SHELL);

    bench.cluster.registerImages({ [image]: { command: ['/bin/sh', '-c', RUN_UNTIL_STOPPED] } });
    const pod = await bench.until('late', isReady);
    expect(containerOf(pod, 'main')?.restartCount).toBe(0);
  });

  it('is a StartError when its program is not there', async () => {
    bench.cluster.registerImages({ 'harness.test/gone': { command: ['/no/such/program'] } });
    await bench.run('gone', {
      containers: [{ name: 'main', image: 'harness.test/gone' }],
      restartPolicy: 'Never',
    });
    const pod = await bench.until('gone', ({ status }) => status.phase === 'Failed');
    expect(containerOf(pod, 'main')?.state['terminated']).toMatchObject({
      reason: 'StartError',
      exitCode: 128,
      message: expect.stringContaining('/no/such/program'),
    });
  });
});

describe('a container', () => {
  it('is restarted when it fails, the first time at once, then with a growing delay', async () => {
    await bench.run('crash', { containers: [main('echo started; exit 3')] });
    const pod = await bench.until('crash', (view) => {
      const container = containerOf(view, 'main');
      return (
        container?.state['waiting']?.reason === 'CrashLoopBackOff' && container.restartCount > 1
      );
    });
    expect(containerOf(pod, 'main')).toMatchObject({
      ready: false,
      started: false,
      lastState: { terminated: { exitCode: 3, reason: 'Error' } },
      state: { waiting: { message: expect.stringContaining('restarting failed container=main') } },
    });
    await bench.kubectl('delete', 'pod', 'crash', '--wait=false');
  });

  it('comes back fresh when it is killed, with its volumes, without what it left running', async () => {
    await bench.run('fresh', {
      containers: [
        main(
          `echo runs >>/data/runs; setsid sleep 300 & echo mine >own; ls; ${RUN_UNTIL_STOPPED}`,
          { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
        ),
      ],
      volumes: [{ name: 'data', emptyDir: {} }],
    });
    await bench.until('fresh', isReady);
    const target = { namespace: bench.namespace, pod: 'fresh', container: 'main' };
    await expect
      .poll(async () => await bench.cluster.readFile(target, '/data/runs'))
      .toBe('runs\n');
    const { stdout } = await bench.cluster.exec(target, ['sh', '-c', 'echo $KTH_CONTAINER_ID']);

    await bench.cluster.killContainer(target, 'SIGKILL');
    const pod = await bench.until('fresh', (view) => containerOf(view, 'main')?.restartCount === 1);
    expect(containerOf(pod, 'main')?.lastState['terminated']?.exitCode).toBe(137);
    await bench.until('fresh', isReady);
    await expect
      .poll(async () => await bench.cluster.readFile(target, '/data/runs'))
      .toBe('runs\nruns\n');
    const left = await bench.cluster.exec(target, [
      'sh',
      '-c',
      `grep -lz KTH_CONTAINER_ID=${stdout.trim()} /proc/[0-9]*/environ 2>/dev/null || true`,
    ]);
    expect(left.stdout).toBe('');
  });

  it('makes its pod Succeeded or Failed when it ends for good', async () => {
    const once = { restartPolicy: 'Never' };
    await bench.run('well', {
      ...once,
      containers: [main('echo done >$KTH_ROOT/dev/termination-log')],
    });
    await bench.run('badly', { ...once, containers: [main('exit 9')] });
    const well = await bench.until('well', ({ status }) => status.phase === 'Succeeded');
    expect(containerOf(well, 'main')?.state['terminated']).toMatchObject({
      exitCode: 0,
      reason: 'Completed',
      message: 'done\n',
    });
    expect(well.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False', reason: 'PodCompleted' }),
    );
    await bench.until('badly', ({ status }) => status.phase === 'Failed');
  });
});

describe('init containers', () => {
  it('run one after the other, each to its end, before the others', async () => {
    const step = (name: string, args: string) => ({
      name,
      image: SHELL,
      args: [args],
      volumeMounts,
    });
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    await bench.run('steps', {
      initContainers: [
        step('first', 'sleep 0.3; echo first >>/data/order'),
        // Fails once: the others must wait for its second run.
        step(
          'second',
          'test -e /data/again || { touch /data/again; exit 1; }; echo second >>/data/order',
        ),
      ],
      containers: [main(`echo main >>/data/order; ${RUN_UNTIL_STOPPED}`, { volumeMounts })],
      volumes: [{ name: 'data', emptyDir: {} }],
    });
    const pod = await bench.until('steps', isReady);
    expect(containerOf(pod, 'second')?.restartCount).toBe(1);
    const target = { namespace: bench.namespace, pod: 'steps', container: 'main' };
    expect(await bench.cluster.readFile(target, '/data/order')).toBe('first\nsecond\nmain\n');
  });
});

describe('an init container with a command that nothing stands for', () => {
  it('ends, whatever the program of its image does', async () => {
    const image = 'harness.test/service';
    bench.cluster.registerImages({ [image]: { command: ['/bin/sh', '-c', RUN_UNTIL_STOPPED] } });
    const command = ['sh', '-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward'];
    await bench.run('prepared', {
      initContainers: [{ name: 'forwarding', image, command }],
      containers: [{ name: 'main', image }],
    });
    const pod = await bench.until('prepared', isReady);
    expect(containerOf(pod, 'forwarding')?.state['terminated']).toMatchObject({ exitCode: 0 });
  });
});

describe('what processes can not have', () => {
  it('is one Event on the pod, and the pod runs', async () => {
    await bench.run('wishes', {
      hostNetwork: true,
      containers: [
        main(RUN_UNTIL_STOPPED, {
          command: ['/bin/other'],
          securityContext: { privileged: true },
          resources: { limits: { memory: '64Mi' } },
        }),
      ],
    });
    await expect
      .poll(async () =>
        (await bench.events('wishes')).filter(({ reason }) => reason === 'NotEmulated'),
      )
      .toEqual([
        expect.objectContaining({
          message: expect.stringMatching(
            /spec\.hostNetwork.*main\.command.*main\.securityContext.*main\.resources\.limits/,
          ),
        }),
      ]);
  });

  it('keeps a pod waiting where it can not run without, and says why', async () => {
    await bench.run('claim', {
      containers: [
        main(RUN_UNTIL_STOPPED, { volumeMounts: [{ name: 'disk', mountPath: '/disk' }] }),
      ],
      volumes: [{ name: 'disk', nfs: { server: 'nowhere', path: '/' } }],
    });
    await expect
      .poll(async () => await bench.events('claim'))
      .toContainEqual(
        expect.objectContaining({
          reason: 'FailedMount',
          message: expect.stringContaining('this kubelet has no volumes of kind nfs'),
        }),
      );
    expect(waitingReason(await bench.pod('claim'), 'main')).toBe('PodInitializing');
  });
});

describe('a living pod', () => {
  it('restarts a container whose image is changed', async () => {
    const image = 'harness.test/other';
    bench.cluster.registerImages({ [image]: { command: ['/bin/sh', '-c'] } });
    await bench.run('changed', { containers: [main(RUN_UNTIL_STOPPED)] });
    await bench.until('changed', isReady);
    await bench.kubectl('set', 'image', 'pod/changed', `main=${image}`);
    const pod = await bench.until(
      'changed',
      (view) => isReady(view) && containerOf(view, 'main')?.restartCount === 1,
    );
    expect(containerOf(pod, 'main')?.image).toBe(image);
  });

  it('keeps its object until others let go of it, and nothing runs meanwhile', async () => {
    await bench.run(
      'held',
      { containers: [main(RUN_UNTIL_STOPPED)] },
      { finalizers: ['harness.test/hold'] },
    );
    await bench.until('held', isReady);
    await bench.kubectl('delete', 'pod', 'held', '--wait=false');
    const pod = await bench.until('held', ({ status }) => status.phase === 'Succeeded');
    expect(containerOf(pod, 'main')?.state['terminated']).toMatchObject({ exitCode: 0 });
    await bench.kubectl(
      'patch',
      'pod',
      'held',
      '--type=merge',
      '-p',
      '{"metadata":{"finalizers":null}}',
    );
    await bench.kubectl('wait', '--for=delete', 'pod/held', '--timeout=10s');
  });
});
