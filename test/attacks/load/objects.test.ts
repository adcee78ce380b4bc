/**
 * A tenant with `create` in one namespace makes many rules with large annotations, as many as once took the coordinator over its limit of 512 MiB
 * at each start. The first half is of rules that were there before the policies; the second tries to make them now.
 */
import type { KubeObject } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NewObject } from '#shared/kube/client.ts';
import type { ResourceType } from '#shared/kube/objects.ts';
import { firewallRule } from '#shared/resources/rules/firewall-rule.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { ipsecSite } from '#shared/resources/rules/ipsec-site.ts';
import { eventually, type World } from '../../integration/admission/world.ts';
import { largestFirewallRule, largestSite, zoneWith } from '../largest.ts';
import { createLimitedWorld } from '../limited-world.ts';
import { memoryOf } from '../memory.ts';

/** `SDEWAN_ATTACK_RULES=1100` is the attack as it was first made; with 10,000 of the largest a start takes longer than the test waits. */
const RULES = Number(process.env['SDEWAN_ATTACK_RULES'] ?? 60);
const ANNOTATION_BYTES = 250_000;
const LARGEST = RULES < 1_000 ? 100 : 10_000;
/** Of 0.4 MiB each. */
const SITES = 100;
/** As tenants do, and few enough for the API server. */
const AT_ONCE = 10;

type Watched = KubeObject & { status?: object };

let world: World;
beforeAll(async () => {
  world = await createLimitedWorld();
});
afterAll(() => world.close());

const createMany = async (
  resource: ResourceType,
  count: number,
  object: (name: string) => NewObject,
): Promise<void> => {
  for (let made = 0; made < count; made += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, count - made) }, (_, index) =>
        world.client.create(resource, object(`rule-${made + index}`)),
      ),
    );
};

describe('rules with large annotations', { timeout: 600_000 }, () => {
  /** The most memory that the coordinator has had, in MiB, when a rule of another namespace has its status. */
  const peakOnceItServes = async (): Promise<number> => {
    const namespace = await world.createNamespace();
    await world.client.create(firewallZone, zoneWith(0)(namespace, 'lan'));
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
    await createMany(firewallZone, RULES, (name) => zoneWith(ANNOTATION_BYTES)(full, name));
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

  it.each([
    { what: 'FirewallRules', count: LARGEST, resource: firewallRule, object: largestFirewallRule },
    {
      what: 'IpsecSites, whose spec can be largest',
      count: SITES,
      resource: ipsecSite,
      object: largestSite,
    },
  ])(
    'of the largest permitted size leave the coordinator small, and others their turn: $what',
    async (attack) => {
      const { what, count, resource, object } = attack;
      await world.stopCoordinator();
      const full = await world.cluster.createNamespace('largest');
      const other = await world.cluster.createNamespace('other');
      await createMany(resource, count, (name) => object(full, name));
      // The last of each list.
      await world.client.create(resource, object(other, 'theirs'));
      const order = await orderOfStatuses(resource, [full, other]);
      await world.startCoordinator();
      const peak = await peakOnceItServes();
      await eventually(() => order.size).toBeGreaterThanOrEqual(count + 1);
      const before = [...order].indexOf(`${other}/theirs`);
      console.log(`${count} ${what}: at most ${peak} MiB; ${before} before another namespace's`);
      expect(peak).toBeLessThan(160);
      expect(before).toBeGreaterThanOrEqual(0);
      expect(before).toBeLessThan(count / 2);
      await world.kubectl('delete', 'namespace', full, other, '--wait=false');
    },
  );

  /** In which order rules of the kind in these namespaces get their first status from now on, as `namespace/name`. */
  const orderOfStatuses = async (
    { group, version, plural }: ResourceType,
    namespaces: readonly string[],
  ): Promise<ReadonlySet<string>> => {
    const order = new Set<string>();
    await world.cluster.api.watch<Watched>(`/apis/${group}/${version}/${plural}`, {
      onChange: ({ metadata: { namespace, name }, status }) => {
        if (status && namespaces.includes(namespace)) order.add(`${namespace}/${name}`);
      },
      onDelete: () => undefined,
    });
    return order;
  };

  it('are refused', async () => {
    const namespace = await world.createNamespace();
    await expect(
      world.client.create(firewallZone, zoneWith(ANNOTATION_BYTES)(namespace, 'large')),
    ).rejects.toThrow('metadata.annotations: must be at most');
  });
});
