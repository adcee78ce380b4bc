import { startCluster, whyNoNode, type Cluster, type ContainerTarget } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { prepareTestImage } from './node/image.ts';
import {
  apply,
  get,
  pod,
  RESTRICTED,
  SERVE,
  service,
  shell,
  SLEEP,
  until,
  waitReady,
  type Scope,
} from './node/pods.ts';

const reason = await whyNoNode();
if (reason !== undefined) console.warn(`tests of the real node are skipped: ${reason}`);

type Status = {
  ready: boolean;
  restartCount: number;
  lastState: { terminated?: { reason: string; exitCode: number } };
  state: { waiting?: { reason: string } };
};
type PodObject = {
  metadata: { uid: string };
  status: {
    podIP: string;
    containerStatuses?: Status[];
    initContainerStatuses?: Status[];
  };
};

describe.skipIf(reason !== undefined)('pods on the real node', () => {
  let cluster: Cluster;
  let image: string;
  let scope: Scope;
  const container = (name: string, container = 'main'): ContainerTarget => ({
    namespace: scope.namespace,
    pod: name,
    container,
  });

  beforeAll(async () => {
    const test = await prepareTestImage();
    image = test.name;
    cluster = await startCluster({ backend: 'node', imageArchives: [test.archive] });
    scope = { cluster, namespace: await cluster.createNamespace('pods') };
    await apply(
      scope,
      pod('web', {
        containers: [
          {
            name: 'main',
            image,
            command: ['node', '-e', SERVE],
            readinessProbe: { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 1 },
          },
        ],
      }),
      service('web', 80, 8080),
      pod('strict', {
        initContainers: [
          {
            name: 'sidecar',
            image,
            restartPolicy: 'Always',
            command: ['sh', '-c', `echo first >/shared/order; ${SLEEP}`],
            startupProbe: { exec: { command: ['test', '-e', '/shared/order'] }, periodSeconds: 1 },
            securityContext: RESTRICTED,
            volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
          },
        ],
        containers: [
          {
            name: 'main',
            image,
            command: ['sh', '-c', `echo second >>/shared/order; ${SLEEP}`],
            volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
          },
        ],
        securityContext: { fsGroup: 65_532 },
        volumes: [{ name: 'shared', emptyDir: {} }],
      }),
    );
    await waitReady(scope, 'web', 'strict');
  });
  afterAll(async () => {
    await cluster?.stop();
  });

  it('start a native sidecar before the main container', async () => {
    expect(await cluster.readFile(container('strict'), '/shared/order')).toBe('first\nsecond\n');
  });

  it('run programs by kubectl exec, with their exit code', async () => {
    expect(await shell(cluster, container('web'), 'hostname')).toBe('web');
    expect((await cluster.exec(container('web'), ['sh', '-c', 'exit 3'])).code).not.toBe(0);
  });

  it('are strict where the spec says so: user, root, capabilities, seccomp', async () => {
    const sidecar = container('strict', 'sidecar');
    expect(await shell(cluster, sidecar, 'id -u')).toBe('65532');
    expect((await cluster.exec(sidecar, ['touch', '/x'])).stderr).toContain('Read-only');
    const status = await cluster.readFile(sidecar, '/proc/1/status');
    expect(status).toMatch(/^CapBnd:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
  });

  it('are killed and restarted in place', async () => {
    const before = await get<PodObject>(scope, 'pod', 'strict');
    await cluster.killContainer(container('strict', 'sidecar'), 'SIGKILL');
    const after = await until(
      async () => await get<PodObject>(scope, 'pod', 'strict'),
      ({ status }) =>
        status.initContainerStatuses?.[0]?.restartCount === 1 &&
        status.initContainerStatuses[0].ready,
    );
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(after.status.initContainerStatuses?.[0]?.lastState.terminated?.exitCode).toBe(137);
    expect(after.status.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  it('reach Services by name, and so does this machine by address', async () => {
    const url = `http://web.${scope.namespace}.svc/`;
    expect(await shell(cluster, container('strict'), `wget -qO- ${url}`)).toBe('web');
    const { spec } = await get<{ spec: { clusterIP: string } }>(scope, 'service', 'web');
    expect(await (await fetch(`http://${spec.clusterIP}/`)).text()).toBe('web');
  });

  it('reach the API server with a token that tells it which pod asks', async () => {
    const read = `require('node:fs').readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/' + f, 'utf8')`;
    const script = `const read = (f) => ${read};
      require('node:https').request('https://kubernetes.default.svc/apis/authentication.k8s.io/v1/selfsubjectreviews', {
        method: 'POST', ca: read('ca.crt'),
        headers: { authorization: 'Bearer ' + read('token'), 'content-type': 'application/json' },
      }, (response) => response.pipe(process.stdout)).end('{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}')`;
    const { stdout, stderr } = await cluster.exec(container('web'), ['node', '-e', script]);
    expect(stderr).toBe('');
    const { userInfo } = JSON.parse(stdout).status;
    expect(userInfo.username).toBe(`system:serviceaccount:${scope.namespace}:default`);
    expect(userInfo.extra['authentication.kubernetes.io/pod-name']).toEqual(['web']);
  });

  it('have the extra interfaces that their annotation names', async () => {
    const networks = {
      type: 'ovn4nfv',
      interface: [
        { interface: 'net1', name: 'a' },
        { interface: 'net2', name: 'b' },
      ],
    };
    const spec = { containers: [{ name: 'main', image, command: ['sh', '-c', SLEEP] }] };
    await apply(
      scope,
      pod('cnf', spec, { 'k8s.plugin.opnfv.org/nfn-network': JSON.stringify(networks) }),
      pod('bad', spec, {
        'k8s.plugin.opnfv.org/nfn-network': '{"interface":[{"interface":"a/b"}]}',
      }),
    );
    await waitReady(scope, 'cnf');
    const links = await shell(cluster, container('cnf'), 'ls /sys/class/net');
    expect(links.split(/\s+/).sort()).toEqual(['eth0', 'lo', 'net1', 'net2']);
    await until(
      async () => (await cluster.kubectl(['-n', scope.namespace, 'get', 'events'])).stdout,
      (events) => events.includes('"a/b" is no name for an interface'),
    );
  });

  it('may be privileged', async () => {
    const spec = {
      containers: [
        {
          name: 'main',
          image,
          command: ['sh', '-c', SLEEP],
          securityContext: { privileged: true },
        },
      ],
    };
    await apply(scope, pod('privileged', spec));
    await waitReady(scope, 'privileged');
    expect(
      await shell(cluster, container('privileged'), 'ip link set lo mtu 1500 && echo done'),
    ).toBe('done');
  });

  it('are killed at their memory limit and come back', async () => {
    const grow =
      'setTimeout(() => { const all = []; setInterval(() => all.push(Buffer.alloc(8e6, 1)), 10); }, 500)';
    const spec = {
      containers: [
        {
          name: 'main',
          image,
          command: ['node', '-e', grow],
          resources: { limits: { memory: '96Mi' } },
        },
      ],
    };
    await apply(scope, pod('hungry', spec));
    const { status } = await until(
      async () => await get<PodObject>(scope, 'pod', 'hungry'),
      (found) => (found.status.containerStatuses?.[0]?.restartCount ?? 0) > 0,
    );
    expect(status.containerStatuses?.[0]?.lastState.terminated?.reason).toBe('OOMKilled');
  });

  it('say so when their image is not there', async () => {
    await apply(
      scope,
      pod('missing', { containers: [{ name: 'main', image: 'not.there/at-all:1' }] }),
    );
    const { status } = await until(
      async () => await get<PodObject>(scope, 'pod', 'missing'),
      (found) => /Image/.test(found.status.containerStatuses?.[0]?.state.waiting?.reason ?? ''),
    );
    const { reason } = status.containerStatuses?.[0]?.state.waiting ?? {};
    expect(['ErrImagePull', 'ImagePullBackOff']).toContain(reason);
  });

  it('have their memory and processor time in control groups of this machine', async () => {
    const { node } = cluster;
    const directory = await node?.cgroup(container('web'), 'memory');
    expect(directory).toMatch(/^\/sys\/fs\/cgroup\/.*kubepods/);
  });
});
