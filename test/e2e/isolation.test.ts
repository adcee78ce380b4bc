import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../stack/cnf.ts';
import { observePods, readCnf } from '../stack/observe.ts';
import { apply, waitForPods, waitInSync } from '../stack/operator.ts';
import { zone } from '../stack/rules.ts';
import { e2eCluster } from './cluster.ts';

describe('each CNF gets its own rules only', async () => {
  const cluster = await e2eCluster();
  const cnfs: { namespace: string; purpose: string; zoneName: string }[] = [];

  beforeAll(async () => {
    const [first, second] = [
      await cluster.createNamespace('tenant-a'),
      await cluster.createNamespace('tenant-b'),
    ];
    cnfs.push(
      { namespace: first, purpose: 'cnf-1', zoneName: 'a1' },
      { namespace: first, purpose: 'cnf-2', zoneName: 'a2' },
      { namespace: second, purpose: 'cnf-1', zoneName: 'b1' },
    );
    // One after the other: CNFs of a namespace share objects, and of two kubectl that apply one at once, one fails.
    for (const { namespace, purpose, zoneName } of cnfs) {
      await createCnf(cluster, { namespace, purpose, replicas: 1 }, { wait: false });
      await apply(cluster, namespace, zone(zoneName, 'ovn-net1', purpose));
    }
    await Promise.all(
      cnfs.map(async ({ namespace, purpose, zoneName }) => {
        await waitForPods(cluster, namespace, purpose, 1);
        await waitInSync(cluster, namespace, [`FirewallZone/${zoneName}`]);
      }),
    );
  });

  it('two CNFs in one namespace, and the same purpose in another', async () => {
    for (const { namespace, purpose, zoneName } of cnfs) {
      const [pod] = await observePods(cluster, namespace, purpose);
      const config = await readCnf(cluster, { namespace, pod: pod?.name ?? '' });
      const zones = (config.get('firewall') ?? [])
        .filter(({ type }) => type === 'zone')
        .map(({ options }) => options['name']);
      expect(zones).toContain(zoneName);
      for (const other of cnfs.filter((each) => each.zoneName !== zoneName)) {
        expect(zones).not.toContain(other.zoneName);
      }
    }
  });
});
