/**
 * A tenant with `create` in one namespace makes many rules with large annotations, as many as once
 * took the coordinator over its limit of 512 MiB at each start. The first half is of rules that
 * were there before the policies; the second tries to make them now.
 */
import type { KubeObject } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NewObject } from '#shared/kube/client.ts';
import type { ResourceType } from '#shared/kube/objects.ts';
import { firewallRule } from '#shared/resources/rules/firewall-rule.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { ipsecSite } from '#shared/resources/rules/ipsec-site.ts';
import { isStatusWritten } from '../../stack/rules.ts';
import type { Fixture } from '../../integration/admission/fixture.ts';
import { largestFirewallRule, largestSite, zoneWith } from '../largest.ts';
import { createLimitedCoordinator, peakBefore, peakOnceItServes } from '../limited-coordinator.ts';
import { makeMany } from '../many.ts';

/**
 * As many as a coordinator that kept them whole would show: 75 MB. `SDEWAN_ATTACK_RULES=1100` is
 * the attack as it was first made.
 */
const RULES = Number(process.env['SDEWAN_ATTACK_RULES'] ?? 300);
const ANNOTATION_BYTES = 250_000;
const BYTES_PER_MEBIBYTE = 1_048_576;
/**
 * So many of each kind that their specs, kept, weigh far more than what two starts of a coordinator
 * differ by.
 */
const LARGEST = 200;
/**
 * Measured with the IpsecSites: 19 to 48 more than without any, be they 100 or 200, and 100 when
 * the coordinator keeps the specs of 200.
 */
const LARGEST_MEBIBYTES = 75;

/** A busy machine writes one such status in a second. */
const PATIENCE = { timeout: 300_000, interval: 100 };

type Watched = KubeObject & { status?: object };

let fixture: Fixture;
/** The most memory, in MiB, of a coordinator without any of them. */
let base: number;
beforeAll(async () => {
  fixture = await createLimitedCoordinator();
  base = await peakBefore(fixture);
});
afterAll(() => fixture.close());

const createMany = (
  resource: ResourceType,
  count: number,
  object: (name: string) => NewObject,
): Promise<object[]> =>
  makeMany(count, (at) => fixture.client.create(resource, object(`rule-${at}`)));

describe('rules with large annotations', () => {
  it('leave the coordinator small, and other namespaces alone, when they are there already', async () => {
    await fixture.stopCoordinator();
    // The policies of this installation look at labelled namespaces only.
    const full = await fixture.cluster.createNamespace('full');
    await createMany(firewallZone, RULES, (name) => zoneWith(ANNOTATION_BYTES)(full, name));
    const startedAt = performance.now();
    await fixture.startCoordinator();
    const readyAfter = performance.now() - startedAt;
    const peak = await peakOnceItServes(fixture);
    console.log(
      `${RULES} rules with ${ANNOTATION_BYTES} B: at most ${peak} MiB, ${base} without them, ready after ${Math.round(readyAfter)} ms`,
    );
    await fixture.kubectl('delete', 'namespace', full, '--wait=false');
    const rest = async () => (await fixture.kubectl('get', 'namespace', full, '-o', 'name')).stdout;
    await expect.poll(rest, { interval: 500 }).toBe('');
    expect(peak).toBeLessThan(200);
    // All of them weigh 72 MiB: 16 to 36 more were seen, and 143 with 400 that are kept whole.
    expect(peak - base).toBeLessThan((RULES * ANNOTATION_BYTES) / BYTES_PER_MEBIBYTE);
  });

  it.each([
    { what: 'FirewallRules', resource: firewallRule, object: largestFirewallRule },
    { what: 'IpsecSites, whose spec can be largest', resource: ipsecSite, object: largestSite },
  ])(
    'leave the coordinator small, and others their turn, at the largest permitted size: $what',
    async (attack) => {
      const { what, resource, object } = attack;
      await fixture.stopCoordinator();
      const full = await fixture.cluster.createNamespace('largest');
      const other = await fixture.cluster.createNamespace('other');
      await createMany(resource, LARGEST, (name) => object(full, name));
      // The last of each list.
      await fixture.client.create(resource, object(other, 'theirs'));
      const order = await orderOfStatuses(resource, [full, other]);
      await fixture.startCoordinator();
      const peak = await peakOnceItServes(fixture);
      const theirs = `${other}/theirs`;
      await expect.poll(() => order.has(theirs), PATIENCE).toBe(true);
      const before = [...order].indexOf(theirs);
      console.log(
        `${LARGEST} ${what}: at most ${peak} MiB, ${base} without them; ${before} before another namespace's`,
      );
      expect(peak - base).toBeLessThan(LARGEST_MEBIBYTES);
      expect(before).toBeLessThan(LARGEST / 4);
      await expect.poll(() => order.size, PATIENCE).toBeGreaterThanOrEqual(LARGEST + 1);
      await fixture.kubectl('delete', 'namespace', full, other, '--wait=false');
    },
  );

  /**
   * In which order the coordinator writes the first status of rules of the kind in these namespaces
   * from now on, as `namespace/name`.
   */
  const orderOfStatuses = async (
    { group, version, plural }: ResourceType,
    namespaces: readonly string[],
  ): Promise<ReadonlySet<string>> => {
    const order = new Set<string>();
    await fixture.cluster.api.watch<Watched>(`/apis/${group}/${version}/${plural}`, {
      onChange: (object) => {
        const { namespace, name } = object.metadata;
        if (isStatusWritten(object) && namespaces.includes(namespace))
          order.add(`${namespace}/${name}`);
      },
      onDelete: () => undefined,
    });
    return order;
  };

  it('are refused', async () => {
    const namespace = await fixture.createNamespace();
    await expect(
      fixture.client.create(firewallZone, zoneWith(ANNOTATION_BYTES)(namespace, 'large')),
    ).rejects.toThrow('metadata.annotations: must be at most');
  });
});
