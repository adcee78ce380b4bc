/**
 * A coordinator with the memory that its Deployment gives it: what Node is told of it, and the
 * limit, which the kernel enforces where root is there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { createWorld, type World } from '../integration/admission/world.ts';
import { isStatusWritten } from '../stack/rules.ts';
import { createControlGroup, nodeOptions } from './control-group.ts';
import { zoneWith } from './largest.ts';
import { memoryOf } from './memory.ts';

/** Closing it throws when the kernel has killed anything at the limit. */
export const createLimitedWorld = async (env: Record<string, string> = {}): Promise<World> => {
  const group = await createControlGroup();
  const world = await createWorld({ NODE_OPTIONS: await nodeOptions(), ...env }, group);
  return {
    ...world,
    close: async () => {
      await world.close();
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
export const peakOnceItServes = async (world: World): Promise<number> => {
  const namespace = await world.createNamespace();
  await world.client.create(firewallZone, zoneWith(0)(namespace, 'lan'));
  const hasStatus = async (): Promise<boolean> =>
    isStatusWritten(await world.client.get(firewallZone, { namespace, name: 'lan' }));
  await vi.waitUntil(hasStatus, { timeout: 300_000 });
  let { peak } = memoryOf(world.pid());
  for (;;) {
    await sleep(QUIET_MS);
    const later = memoryOf(world.pid()).peak;
    if (later === peak) return peak;
    peak = later;
  }
};

/**
 * The same of a coordinator before the attack: the less of two starts, since one was seen to take a
 * third more than any other.
 */
export const peakBefore = async (world: World): Promise<number> => {
  const first = await peakOnceItServes(world);
  await world.stopCoordinator();
  await world.startCoordinator();
  return Math.min(first, await peakOnceItServes(world));
};
