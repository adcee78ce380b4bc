/**
 * A coordinator with the memory that its Deployment gives it: what Node is told of it, and the
 * limit, which the kernel enforces where root is there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { createFixture, type Fixture } from '../integration/admission/fixture.ts';
import { isStatusWritten } from '../stack/rules.ts';
import { createControlGroup, nodeOptions } from './control-group.ts';
import { zoneWith } from './largest.ts';
import { memoryOf } from './memory.ts';

/** Closing it throws when the kernel has killed anything at the limit. */
export const createLimitedCoordinator = async (
  env: Record<string, string> = {},
): Promise<Fixture> => {
  const group = await createControlGroup();
  const fixture = await createFixture({ NODE_OPTIONS: await nodeOptions(), ...env }, group);
  return {
    ...fixture,
    close: async () => {
      await fixture.close();
      await group?.end();
    },
  };
};

/** Lists are read beside each other: one may come after another namespace has been served. */
const QUIET_MS = 3_000;

/**
 * The most memory that the coordinator has had, in MiB, when a rule of another namespace has its
 * status and no more has been added for a while.
 */
export const peakOnceItServes = async (fixture: Fixture): Promise<number> => {
  const namespace = await fixture.createNamespace();
  await fixture.client.create(firewallZone, zoneWith(0)(namespace, 'lan'));
  const hasStatus = async (): Promise<boolean> =>
    isStatusWritten(await fixture.client.get(firewallZone, { namespace, name: 'lan' }));
  await vi.waitUntil(hasStatus, { timeout: 300_000 });
  let { peak } = memoryOf(fixture.pid());
  for (;;) {
    await sleep(QUIET_MS);
    const later = memoryOf(fixture.pid()).peak;
    if (later === peak) return peak;
    peak = later;
  }
};

/**
 * The same of a coordinator before the attack: the less of two starts, since one was seen to take a
 * third more than any other.
 */
export const peakBefore = async (fixture: Fixture): Promise<number> => {
  const first = await peakOnceItServes(fixture);
  await fixture.stopCoordinator();
  await fixture.startCoordinator();
  return Math.min(first, await peakOnceItServes(fixture));
};
