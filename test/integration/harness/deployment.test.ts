import { connectCluster, type Cluster } from 'kind-test-harness';
import { beforeAll, describe, expect, it } from 'vitest';

/** A "container" that runs until it is told to stop. */
const RUN_UNTIL_STOPPED = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
const AUDIENCE = 'harness-test';

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          {
            name: 'main',
            image: 'shell',
            args: [`echo address $POD_IP; ${RUN_UNTIL_STOPPED}`],
            env: [
              { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
              { name: 'TOKEN_FILE', value: '/var/run/secrets/test/token' },
            ],
            volumeMounts: [{ name: 'identity', mountPath: '/var/run/secrets/test' }],
          },
        ],
        volumes: [
          {
            name: 'identity',
            projected: {
              sources: [{ serviceAccountToken: { audience: AUDIENCE, path: 'token' } }],
            },
          },
        ],
      },
    },
  },
};

type PodList = { items: { metadata: { name: string; uid: string }; status: { podIP: string } }[] };

let cluster: Cluster;
let namespace: string;
beforeAll(async () => {
  cluster = await connectCluster();
  cluster.registerImages({ shell: { command: ['/bin/sh', '-c'] } });
  namespace = await cluster.createNamespace('pods');
  await cluster.kubectl(['-n', namespace, 'apply', '-f', '-'], {
    stdin: JSON.stringify(deployment),
  });
  await cluster.kubectl(['-n', namespace, 'rollout', 'status', 'deployment/web', '--timeout=500s']);
});

const listPods = async (): Promise<PodList['items']> => {
  const { stdout } = await cluster.kubectl(['-n', namespace, 'get', 'pods', '-o', 'json']);
  const list: PodList = JSON.parse(stdout);
  return list.items;
};

describe('a Deployment, scaled with kubectl', () => {
  it('gives as many running pods, each with an address of its own', async () => {
    await cluster.kubectl(['-n', namespace, 'scale', 'deployment/web', '--replicas=3']);
    await cluster.kubectl(['-n', namespace, 'rollout', 'status', 'deployment/web']);
    const pods = await listPods();
    expect(pods).toHaveLength(3);
    expect(new Set(pods.map(({ status }) => status.podIP)).size).toBe(3);
    for (const { metadata, status } of pods) {
      const target = { namespace, pod: metadata.name, container: 'main' };
      const { stdout } = await cluster.exec(target, ['sh', '-c', 'echo $POD_IP']);
      expect(stdout.trim()).toBe(status.podIP);
    }
  });

  it('gives tokens in which the API server sees the pod', async () => {
    const [pod] = await listPods();
    const target = { namespace, pod: pod?.metadata.name ?? '', container: 'main' };
    const token = await cluster.readFile(target, '/var/run/secrets/test/token');
    const review = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, audiences: [AUDIENCE] },
    };
    const { stdout } = await cluster.kubectl(['create', '-o', 'json', '-f', '-'], {
      stdin: JSON.stringify(review),
    });
    expect(JSON.parse(stdout)).toMatchObject({
      status: {
        authenticated: true,
        audiences: [AUDIENCE],
        user: {
          extra: {
            'authentication.kubernetes.io/pod-name': [pod?.metadata.name],
            'authentication.kubernetes.io/pod-uid': [pod?.metadata.uid],
          },
        },
      },
    });
  });

  it('ends pods when scaled down', async () => {
    await cluster.kubectl(['-n', namespace, 'scale', 'deployment/web', '--replicas=1']);
    await expect.poll(async () => (await listPods()).length, { timeout: 300_000 }).toBe(1);
  });
});
