import { connectCluster, type Cluster } from 'kind-test-harness';
import { beforeAll, describe, expect, it } from 'vitest';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await connectCluster();
});

describe('the control plane', () => {
  it('is a real one: its API server and controllers work', async () => {
    const { stdout } = await cluster.kubectl(['get', '--raw', '/readyz?verbose']);
    expect(stdout).toContain('readyz check passed');

    const namespace = await cluster.createNamespace('control-plane');
    await cluster.kubectl([
      '--namespace',
      namespace,
      'create',
      'deployment',
      'web',
      '--image=none',
    ]);
    await expect
      .poll(async () => {
        const pods = await cluster.kubectl(['--namespace', namespace, 'get', 'pods', '-o', 'name']);
        return pods.stdout;
      })
      .toContain('pod/web-');
  });

  it('rejects with what kubectl said', async () => {
    await expect(cluster.kubectl(['get', 'no-such-kind'])).rejects.toThrow(
      `the server doesn't have a resource type "no-such-kind"`,
    );
  });
});
