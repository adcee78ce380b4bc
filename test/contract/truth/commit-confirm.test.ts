/**
 * Commit-confirm on each driver: a rule, a zone, a route and an IPsec site that cut the agent off.
 * Each is undone, found and left out, and all others are applied. The agent's death on the way:
 * commit-confirm-deaths.test.ts.
 */
import { afterEach, describe, expect, it } from 'vitest';
import {
  CULPRITS,
  startCommitConfirmWorld,
  WAYS,
  type CommitConfirmWorld,
} from './commit-confirm-world.ts';

let world: CommitConfirmWorld;
afterEach(() => world.end());

describe.each(WAYS)('over %s', (way) => {
  const begin = async (what: string): Promise<void> => {
    world = await startCommitConfirmWorld(way, what);
    await world.start();
    world.list();
    await world.reach('the agent is cut off', world.isCut);
  };

  it.each(Object.keys(CULPRITS))('undoes a %s, finds it and leaves it out', async (what) => {
    await begin(what);
    const { clock } = world;
    const cutAt = clock.agent.monotonic();
    await world.reach('it is undone', () => !world.isCut());
    expect(clock.agent.monotonic() - cutAt).toBeLessThan(30_000);
    await world.reach('the culprit is named, the others are applied', world.isSettled);
    await clock.advance(120_000);
    expect(world.isCut()).toBe(false);
    expect(world.isSettled()).toBe(true);
  });
});
