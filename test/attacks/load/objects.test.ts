/**
 * A tenant with `create` in one namespace makes many rules with large annotations, as many as once took the coordinator over its limit of 512 MiB
 * at each start. The first half is of rules that were there before the policies; the second tries to make them now.
 */
import { connectCluster } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { firewallRule } from '#shared/resources/rules/firewall-rule.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { createWorld, eventually, type World } from '../../integration/admission/world.ts';
import { installedObjects } from '../../stack/installation.ts';
import { memoryOf } from '../memory.ts';

/** `SDEWAN_ATTACK_RULES=1100` is the attack as it was first made; with 10,000 of the largest a start takes longer than the test waits. */
const RULES = Number(process.env['SDEWAN_ATTACK_RULES'] ?? 60);
const ANNOTATION_BYTES = 250_000;
const LARGEST = RULES < 1_000 ? 100 : 10_000;
/** As tenants do, and few enough for the API server. */
const AT_ONCE = 10;

/** As the coordinator's Deployment has them. */
const nodeOptions = async (): Promise<string> => {
  const objects = await installedObjects(await connectCluster());
  return /"NODE_OPTIONS","value":"([^"]+)"/.exec(JSON.stringify(objects))?.[1] ?? '';
};

let world: World;
beforeAll(async () => {
  world = await createWorld({ NODE_OPTIONS: await nodeOptions() });
});
afterAll(() => world.close());

const zone = (namespace: string, name: string, annotations: Record<string, string>) => ({
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind: 'FirewallZone',
  metadata: { namespace, name, labels: { sdewanPurpose: 'cnf-1' }, annotations },
  spec: { network: ['ovn-net1'] },
});
const large = { a: 'x'.repeat(ANNOTATION_BYTES) };

/** As many characters as the schema takes, wherever it takes many. */
const largestRule = (namespace: string, name: string) => {
  const networks = Array.from({ length: 60 }, (_, at) => `100.100.${100 + at}.0/24`).join(' ');
  const ports = Array.from({ length: 85 }, (_, at) => `${10_000 + at}-${11_000 + at}`).join(' ');
  const macs = Array.from({ length: 56 }, () => '00:11:22:aa:bb:cc').join(' ');
  return {
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'FirewallRule',
    metadata: { namespace, name, labels: { sdewanPurpose: 'cnf-1' } },
    spec: {
      src: '*',
      dest: '*',
      src_ip: networks,
      dest_ip: networks,
      src_mac: macs,
      src_port: ports,
      dest_port: ports,
      proto: 'tcp udp',
      icmp_type: Array.from({ length: 64 }, () => 'network-unreachable'),
      target: 'REJECT',
    },
  };
};

const createMany = async (namespace: string, count: number): Promise<void> => {
  for (let made = 0; made < count; made += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, count - made) }, (_, index) =>
        world.client.create(firewallZone, zone(namespace, `zone-${made + index}`, large)),
      ),
    );
};

describe('rules with large annotations', { timeout: 600_000 }, () => {
  /** The most memory that the coordinator has had, in MiB, when a rule of another namespace has its status. */
  const peakOnceItServes = async (): Promise<number> => {
    const namespace = await world.createNamespace();
    await world.client.create(firewallZone, zone(namespace, 'lan', {}));
    await eventually(async () => {
      const { status } = await world.client.get(firewallZone, { namespace, name: 'lan' });
      return status;
    }).toBeDefined();
    return memoryOf(world.pid()).peak;
  };

  it('that are there already leave the coordinator small, and other namespaces alone', async () => {
    await world.stopCoordinator();
    // The policies of this installation look at labelled namespaces only.
    const full = await world.cluster.createNamespace('full');
    await createMany(full, RULES);
    const startedAt = performance.now();
    await world.startCoordinator();
    const readyAfter = performance.now() - startedAt;
    const peak = await peakOnceItServes();
    console.log(
      `${RULES} rules with ${ANNOTATION_BYTES} B: at most ${peak} MiB, ready after ${Math.round(readyAfter)} ms`,
    );
    expect(peak).toBeLessThan(200);
    await world.kubectl('delete', 'namespace', full, '--wait=false');
    const rest = async () => (await world.kubectl('get', 'namespace', full, '-o', 'name')).stdout;
    await expect.poll(rest, { timeout: 300_000, interval: 500 }).toBe('');
  });

  it('of the largest permitted spec stay below half of the limit', async () => {
    await world.stopCoordinator();
    const full = await world.cluster.createNamespace('largest');
    for (let made = 0; made < LARGEST; made += AT_ONCE)
      await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) =>
          world.client.create(firewallRule, largestRule(full, `rule-${made + index}`)),
        ),
      );
    await world.startCoordinator();
    const peak = await peakOnceItServes();
    console.log(`${LARGEST} FirewallRules of the largest spec: at most ${peak} MiB`);
    expect(peak).toBeLessThan(256);
    await world.kubectl('delete', 'namespace', full, '--wait=false');
  });

  it('are refused', async () => {
    const namespace = await world.createNamespace();
    await expect(
      world.client.create(firewallZone, zone(namespace, 'large', large)),
    ).rejects.toThrow('metadata.annotations: must be at most');
  });
});
