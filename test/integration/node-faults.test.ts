import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  startCluster,
  whyNoNode,
  type Cluster,
  type ContainerTarget,
  type RealNode,
} from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createCa, issueServing } from '../../coordinator/controllers/certificates/x509.ts';
import { prepareTestImage } from './node/image.ts';
import {
  apply,
  get,
  pod,
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

type PodObject = {
  status: { podIP: string; containerStatuses: { restartCount: number; ready: boolean }[] };
};

describe.skipIf(reason !== undefined)('faults and ways in on the real node', () => {
  let cluster: Cluster;
  let node: RealNode;
  let image: string;
  let scope: Scope;
  const container = (name: string): ContainerTarget => ({
    namespace: scope.namespace,
    pod: name,
    container: 'main',
  });

  beforeAll(async () => {
    const test = await prepareTestImage();
    image = test.name;
    cluster = await startCluster({ backend: 'node', imageArchives: [test.archive] });
    if (!cluster.node) throw new Error('the cluster has no real node');
    node = cluster.node;
    scope = { cluster, namespace: await cluster.createNamespace('faults') };
    const probe = {
      exec: { command: ['test', '-e', '/bin/sh'] },
      periodSeconds: 1,
      failureThreshold: 1,
    };
    await apply(
      scope,
      pod('web', {
        containers: [
          {
            name: 'main',
            image,
            command: ['node', '-e', SERVE],
            livenessProbe: probe,
            readinessProbe: probe,
          },
        ],
      }),
    );
    await waitReady(scope, 'web');
  });
  afterAll(async () => {
    await cluster?.stop();
  });

  it('include a second node beside the first, on other subnets', async () => {
    const second = await startCluster({ backend: 'node' });
    try {
      expect(second.node?.hostAddress).not.toBe(node.hostAddress);
      const { stdout } = await second.kubectl(['get', 'nodes', '-o', 'name']);
      expect(stdout).toBe('node/ubuntu18\n');
    } finally {
      await second.stop();
    }
    expect(await shell(cluster, container('web'), 'echo alive')).toBe('alive');
  });

  it('include a firewall in the pod that cuts it off, and its exec probes go on', async () => {
    const { status } = await get<PodObject>(scope, 'pod', 'web');
    const answers = async () =>
      await fetch(`http://${status.podIP}:8080/`, { signal: AbortSignal.timeout(500) }).then(
        () => true,
        () => false,
      );
    expect(await answers()).toBe(true);
    const firewall = async (action: string) =>
      await node.inPodNetwork(container('web'), ['iptables', action, 'INPUT', '-j', 'DROP']);
    expect(await firewall('-I')).toMatchObject({ code: 0, stderr: '' });
    expect(await answers()).toBe(false);
    await sleep(3000); // three periods of each probe
    const during = await get<PodObject>(scope, 'pod', 'web');
    expect(during.status.containerStatuses[0]).toMatchObject({ restartCount: 0, ready: true });
    expect((await firewall('-D')).code).toBe(0);
    expect(await answers()).toBe(true);
  });

  it.each(['kubelet', 'containerd'] as const)(
    'pods outlive a dead %s, which then goes on',
    async (name) => {
      const startOf = async () =>
        (await cluster.readFile(container('web'), '/proc/1/stat')).split(' ')[21];
      const startedAt = await startOf();
      await node.stopDaemon(name);
      expect(await startOf()).toBe(startedAt);
      await node.startDaemon(name);
      await apply(
        scope,
        pod(`after-${name}`, {
          containers: [{ name: 'main', image, command: ['sh', '-c', SLEEP] }],
        }),
      );
      await waitReady(scope, `after-${name}`);
      const { status } = await get<PodObject>(scope, 'pod', 'web');
      expect(status.containerStatuses[0]?.restartCount).toBe(0);
    },
  );

  it('include webhooks behind a Service that the API server calls', async () => {
    const name = `hook.${scope.namespace}.svc`;
    const validity = { issuedAt: Date.now(), lifetimeMs: 86_400_000 };
    const ca = await createCa('node-test', validity);
    const { cert, key } = await issueServing(ca, [name], validity);
    const serve = `
      const { readFileSync } = require('node:fs');
      require('node:https').createServer({ cert: readFileSync('/tls/cert'), key: readFileSync('/tls/key') }, (request, response) => {
        let text = '';
        request.on('data', (chunk) => (text += chunk)).on('end', () => {
          if (!text) return response.end('ok');
          const { request: { uid } } = JSON.parse(text);
          response.setHeader('content-type', 'application/json');
          response.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview',
            response: { uid, allowed: false, status: { message: 'refused by the pod' } } }));
        });
      }).listen(8443)`;
    await apply(
      scope,
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'tls' }, stringData: { cert, key } },
      pod('hook', {
        containers: [
          {
            name: 'main',
            image,
            command: ['node', '-e', serve],
            readinessProbe: {
              httpGet: { path: '/', port: 8443, scheme: 'HTTPS' },
              periodSeconds: 1,
            },
            volumeMounts: [{ name: 'tls', mountPath: '/tls' }],
          },
        ],
        volumes: [{ name: 'tls', secret: { secretName: 'tls' } }],
      }),
      service('hook', 443, 8443),
    );
    await waitReady(scope, 'hook');
    await apply(scope, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: scope.namespace },
      webhooks: [
        {
          name: 'hook.test.local',
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Ignore', // so that only the pod's own answer can refuse
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': scope.namespace } },
          rules: [
            {
              apiGroups: [''],
              apiVersions: ['v1'],
              resources: ['configmaps'],
              operations: ['CREATE'],
            },
          ],
          clientConfig: {
            caBundle: Buffer.from(ca.cert).toString('base64'),
            service: { name: 'hook', namespace: scope.namespace, path: '/' },
          },
        },
      ],
    });
    const create = async () =>
      await cluster.kubectl(['-n', scope.namespace, 'create', 'configmap', `c${Date.now()}`], {
        allowFailure: true,
      });
    const refused = await until(create, ({ code }) => code !== 0);
    expect(refused.stderr).toContain('refused by the pod');
  });

  it('include a server of this machine that a pod reaches', async () => {
    const server = createServer((_, response) => response.end('from the host'));
    await new Promise<void>((resolve) => server.listen(0, node.hostAddress, resolve));
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    try {
      const url = `http://${node.hostAddress}:${port}/`;
      expect(await shell(cluster, container('web'), `wget -qO- ${url}`)).toBe('from the host');
    } finally {
      server.close();
    }
  });

  it('logs lie where the kubelet writes them', async () => {
    await apply(
      scope,
      pod('talker', {
        containers: [{ name: 'main', image, command: ['sh', '-c', `echo spoken; ${SLEEP}`] }],
      }),
    );
    await waitReady(scope, 'talker');
    const { metadata } = await get<{ metadata: { uid: string } }>(scope, 'pod', 'talker');
    const folder = `${scope.namespace}_talker_${metadata.uid}`;
    const log = await readFile(join(cluster.logsDirectory, folder, 'main/0.log'), 'utf8');
    expect(log).toContain('stdout F spoken');
  });
});
