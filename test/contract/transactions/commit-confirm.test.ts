/**
 * Commit-confirm on each driver: a rule, a zone, a route and an IPsec site that cut the agent off.
 * Each is undone, found and left out, and all others are applied. The agent's death on the way:
 * commit-confirm-deaths.test.ts.
 */
import { afterEach, describe, expect, it } from 'vitest';
import {
  CULPRITS,
  startCommitConfirmFixture,
  WAYS,
  type CommitConfirmFixture,
} from './commit-confirm-fixture.ts';

let fixture: CommitConfirmFixture;
afterEach(() => fixture.end());

describe.each(WAYS)('over %s', (way) => {
  const begin = async (what: string): Promise<void> => {
    fixture = await startCommitConfirmFixture(way, what);
    await fixture.start();
    fixture.list();
    await fixture.reach('the agent is cut off', fixture.isCut);
  };

  it.each(Object.keys(CULPRITS))('undoes a %s, finds it and leaves it out', async (what) => {
    await begin(what);
    const { clock } = fixture;
    const cutAt = clock.agent.monotonic();
    await fixture.reach('it is undone', () => !fixture.isCut());
    expect(clock.agent.monotonic() - cutAt).toBeLessThan(30_000);
    await fixture.reach('the culprit is named, the others are applied', fixture.isSettled);
    await clock.advance(120_000);
    expect(fixture.isCut()).toBe(false);
    expect(fixture.isSettled()).toBe(true);
  });
});
