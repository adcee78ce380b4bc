import { beforeAll, describe, expect, it } from 'vitest';

import {
  createBench,
  isReady,
  RUN_UNTIL_STOPPED,
  SHELL,
  waitingReason,
  type Bench,
} from './bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await createBench('volumes');
  await bench.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings' },
    data: { level: 'info', 'ca.crt': 'CA' },
  });
  await bench.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'login' },
    stringData: { password: 'pä$$word' },
  });
});

const target = (pod: string) => ({ namespace: bench.namespace, pod, container: 'main' });
const read = async (pod: string, path: string) => await bench.cluster.readFile(target(pod), path);

describe('volumes', () => {
  it('hold ConfigMaps, Secrets, fields of the pod and its token, together or alone', async () => {
    await bench.run(
      'all',
      {
        containers: [
          {
            name: 'main',
            image: SHELL,
            args: [`cat $CA_FILE; ${RUN_UNTIL_STOPPED}`],
            env: [{ name: 'CA_FILE', value: '/etc/all/ca.crt' }],
            volumeMounts: [
              { name: 'all', mountPath: '/etc/all' },
              { name: 'login', mountPath: '/etc/login/password', subPath: 'password' },
              { name: 'state', mountPath: '/var/lib/state', subPath: 'main' },
            ],
          },
        ],
        volumes: [
          {
            name: 'all',
            projected: {
              sources: [
                { configMap: { name: 'settings', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
                { secret: { name: 'none', optional: true } },
                { serviceAccountToken: { path: 'token', audience: 'a' } },
                {
                  downwardAPI: {
                    items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }],
                  },
                },
              ],
            },
          },
          { name: 'login', secret: { secretName: 'login' } },
          { name: 'state', emptyDir: { medium: 'Memory' } },
        ],
      },
      { labels: { app: 'all' } },
    );
    await bench.until('all', isReady);
    expect(await read('all', '/etc/all/ca.crt')).toBe('CA');
    expect(await read('all', '/etc/all/labels')).toBe('app="all"');
    expect(await read('all', '/etc/all/token')).toMatch(/^ey.*\..*\..*$/);
    expect(await read('all', '/etc/login/password')).toBe('pä$$word');
    expect(await read('all', '/var/run/secrets/kubernetes.io/serviceaccount/namespace')).toBe(
      bench.namespace,
    );
    await bench.cluster.exec(target('all'), ['sh', '-c', 'echo x >/var/lib/state/file']);
    expect(await read('all', '/var/lib/state/file')).toBe('x\n');
    await expect.poll(async () => await bench.log('all', 'main')).toBe('CA');

    await bench.kubectl('label', 'pod', 'all', 'more=yes');
    await expect
      .poll(async () => await read('all', '/etc/all/labels'))
      .toBe('app="all"\nmore="yes"');
  });

  it('follow their ConfigMap', async () => {
    await bench.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'changing' },
      data: { a: '1', b: '1' },
    });
    await bench.run('follower', {
      containers: [
        {
          name: 'main',
          image: SHELL,
          args: [RUN_UNTIL_STOPPED],
          volumeMounts: [{ name: 'map', mountPath: '/map' }],
        },
      ],
      volumes: [{ name: 'map', configMap: { name: 'changing' } }],
    });
    await bench.until('follower', isReady);
    expect(await read('follower', '/map/a')).toBe('1');
    await bench.kubectl(
      'patch',
      'configmap',
      'changing',
      '--type=merge',
      '-p',
      '{"data":{"a":"2","b":null}}',
    );
    await expect.poll(async () => await read('follower', '/map/a')).toBe('2');
    const { stdout } = await bench.cluster.exec(target('follower'), ['sh', '-c', 'ls /map']);
    expect(stdout).toBe('a\n');
  });
});

describe('the environment', () => {
  it('waits for what it is made of', async () => {
    await bench.run('waiting', {
      containers: [
        {
          name: 'main',
          image: SHELL,
          args: [`echo $(GREETING); ${RUN_UNTIL_STOPPED}`],
          env: [
            { name: 'NAME', valueFrom: { configMapKeyRef: { name: 'later', key: 'name' } } },
            { name: 'GREETING', value: 'hello $(NAME)' },
          ],
        },
      ],
    });
    const pod = await bench.until(
      'waiting',
      (view) => waitingReason(view, 'main') === 'CreateContainerConfigError',
    );
    expect(pod.status.containerStatuses?.[0]?.state['waiting']?.message).toBe(
      'configmap "later" not found',
    );
    await bench.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'later' },
      data: { name: 'you' },
    });
    await bench.until('waiting', isReady);
    await expect.poll(async () => await bench.log('waiting', 'main')).toBe('hello you\n');
  });
});
