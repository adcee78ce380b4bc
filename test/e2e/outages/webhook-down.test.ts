/**
 * What the webhooks block when they are not answered, what they never block, and that everything
 * recovers.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../../stack/cnf.ts';
import { RETRIED_AT_ANNOTATION } from '#shared/names.ts';
import { coordinatorDown, webhooksDown, type Restore } from '../../stack/faults.ts';
import { CNF_IMAGE } from '../../stack/images.ts';
import { observePods, readCnf, until } from '../../stack/observe.ts';
import { apply, remove, waitGone, waitInSync } from '../../stack/operator.ts';
import { zone } from '../../stack/rules.ts';
import { e2eCluster } from '../cluster.ts';

const OUTAGE_MS = 30_000;
const lan = zone('lan1', 'ovn-net1');

describe('with the webhooks down', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let going = '';
  let restore: Restore = async () => {};

  beforeAll(async () => {
    [namespace, going] = [
      await cluster.createNamespace('webhook-down'),
      await cluster.createNamespace('going'),
    ];
    await Promise.all(
      [namespace, going].map(async (each) => {
        await createCnf(cluster, { namespace: each, purpose: 'cnf-1', replicas: 1 });
        await apply(cluster, each, lan);
        await waitInSync(cluster, each, [lan]);
      }),
    );
    const anna = ['--clusterrole=cluster-admin', '--user=anna', '-n', namespace];
    await cluster.kubectl(['create', 'rolebinding', 'anna', ...anna]);
    restore = await webhooksDown(cluster);
  });
  afterAll(() => restore());

  it('pods of others start', async () => {
    await apply(cluster, namespace, otherPod('other'));
    await waitRunning('other');
  });

  it('rules are accepted, get the finalizer and are confirmed; only those of a bucket are refused', async () => {
    const wan = zone('wan1', 'ovn-net2');
    await apply(cluster, namespace, wan);
    await waitInSync(cluster, namespace, [wan]);
    const { stdout } = await cluster.kubectl([
      'get',
      '-n',
      namespace,
      'firewallzone/wan1',
      '-o',
      'jsonpath={.metadata.finalizers}',
    ]);
    expect(stdout).toContain('sdewan.akraino.org/agents');
    await remove(cluster, namespace, wan);
    await waitGone(cluster, namespace, [wan]);
    const labels = { ...wan.metadata.labels, 'sdewan-bucket-type': 'basic' };
    const inBucket = { ...wan, metadata: { ...wan.metadata, labels } };
    const refused = await cluster.kubectl(['create', '-n', namespace, '--as=anna', '-f', '-'], {
      stdin: JSON.stringify(inBucket),
      allowFailure: true,
    });
    expect(refused.stderr).toMatch(/buckets\.sdewan/);
    // A user that repairs the cluster is not blocked.
    await apply(cluster, namespace, inBucket);
    await remove(cluster, namespace, inBucket);
  });

  it('lets a namespace with a CNF and rules be deleted', async () => {
    await cluster.kubectl(['delete', 'namespace', going, '--timeout=500s']);
  });

  it('pods of CNFs wait, and an Event says for what', async () => {
    await createCnf(cluster, { namespace, purpose: 'cnf-2', replicas: 1 }, { wait: false });
    await until('an Event of the ReplicaSet', async () => {
      const { stdout } = await cluster.kubectl(['get', 'events', '-n', namespace]);
      return /FailedCreate.*pods\.sdewan\.akraino\.org/.test(stdout) ? true : undefined;
    });
    expect(await observePods(cluster, namespace, 'cnf-2')).toEqual([]);
  });

  it('has the CNFs that waited up when they are back', async () => {
    await restore();
    restore = async () => {};
    // The ReplicaSet controller tries again at growing intervals.
    const waited = await until('the CNF is ready', async () => {
      const [pod] = await observePods(cluster, namespace, 'cnf-2');
      return pod?.ready ? pod : undefined;
    });
    expect(waited.terminating).toBe(false);
  });

  const waitRunning = (name: string): Promise<true> =>
    until(`pod ${name} runs`, async () => {
      const phase = ['get', 'pod', name, '-n', namespace, '-o', 'jsonpath={.status.phase}'];
      return (await cluster.kubectl(phase)).stdout === 'Running' ? true : undefined;
    });
});

describe('with the coordinator down, too', async () => {
  const cluster = await e2eCluster();

  it('still removes a rule without our finalizer from the CNF, and deletes a namespace once the coordinator is back', async () => {
    const namespace = await cluster.createNamespace('all-down');
    await createCnf(cluster, { namespace, purpose: 'cnf-1', replicas: 1 });
    await apply(cluster, namespace, lan);
    await waitInSync(cluster, namespace, [lan]);
    const restore = await coordinatorDown(cluster);
    try {
      const wan = zone('wan1', 'ovn-net2');
      await apply(cluster, namespace, wan);
      await waitForZones(namespace, (zones) => zones.includes('wan1'));
      await remove(cluster, namespace, wan);
      await waitGone(cluster, namespace, [wan]);
      await waitForZones(namespace, (zones) => !zones.includes('wan1'));
      await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
      await until('no CNF pods', async () =>
        (await observePods(cluster, namespace, 'cnf-1')).length === 0 ? true : undefined,
      );
    } finally {
      await restore();
    }
    await cluster.kubectl(['wait', '--for=delete', `namespace/${namespace}`, '--timeout=500s']);
  });

  it('has the pods of a CNF again within ten seconds of a coordinator being there', async () => {
    const namespace = await cluster.createNamespace('emptied');
    await createCnf(cluster, { namespace, purpose: 'cnf-1', replicas: 2 });
    const restore = await coordinatorDown(cluster);
    const pods = () => observePods(cluster, namespace, 'cnf-1');
    try {
      await cluster.kubectl(['delete', 'pods', '-n', namespace, '-l', 'sdewanPurpose=cnf-1']);
      // Each refused try makes the ReplicaSet controller wait twice as long for the next: half a
      // minute by then.
      await pause(OUTAGE_MS);
      expect(await pods()).toEqual([]);
    } finally {
      await restore();
    }
    await until('the pods are there again', async () =>
      (await pods()).length === 2 ? true : undefined,
    );
    const { stdout } = await cluster.kubectl(['get', 'replicasets', '-n', namespace, '-o', 'yaml']);
    expect(stdout).toContain(RETRIED_AT_ANNOTATION);
    await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  const waitForZones = async (
    namespace: string,
    holds: (zones: readonly unknown[]) => boolean,
  ): Promise<void> => {
    const [pod] = await observePods(cluster, namespace, 'cnf-1');
    await until('the zones of the CNF', async () => {
      const config = await readCnf(cluster, { namespace, pod: pod?.name ?? '' });
      const zones = (config.get('firewall') ?? []).map(({ options }) => options['name']);
      return holds(zones) ? true : undefined;
    });
  };
});

/** For an outage that lasts. */
const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Stands for whatever else runs in a cluster. */
const otherPod = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'main', image: CNF_IMAGE }], terminationGracePeriodSeconds: 1 },
});
