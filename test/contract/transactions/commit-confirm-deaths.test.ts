/**
 * The agent is killed at a call of a change that cuts it off: what it has asked for until then is
 * on OpenWRT, and what is on its disk at that moment is all that the next agent has. The next one
 * undoes the change, finds the rule and applies all others. Three calls of each change here, all of
 * them at night (`SDEWAN_TIMES`).
 */
import { afterEach, describe, expect, it } from 'vitest';
import { caseCount } from '#shared/runtime/testing.ts';
import {
  CULPRITS,
  startCommitConfirmFixture,
  WAYS,
  type CommitConfirmFixture,
  type Way,
} from './commit-confirm-fixture.ts';

const ALL_CALLS = caseCount(1) > 1;

let fixture: CommitConfirmFixture | undefined;
const end = async (): Promise<void> => {
  const last = fixture;
  fixture = undefined;
  await last?.end();
};
afterEach(end);

const begin = async (way: Way, what: string): Promise<CommitConfirmFixture> => {
  await end();
  fixture = await startCommitConfirmFixture(way, what);
  return fixture;
};

/** A life without a death: its calls, as whether the agent is cut off after each. */
const callsOf = async (way: Way, what: string): Promise<readonly boolean[]> => {
  const undisturbed = await begin(way, what);
  const calls = undisturbed.record();
  await undisturbed.start();
  undisturbed.list();
  await undisturbed.reach('the culprit is named, the others are applied', undisturbed.isSettled);
  return [...calls];
};

/** The first, one in the middle and the last of those after which the agent is cut off. */
const threeOf = (calls: readonly boolean[]): readonly number[] => {
  const cut = calls.flatMap((isCut, at) => (isCut ? [at] : []));
  return [0, Math.floor(cut.length / 2), cut.length - 1].flatMap((at) => cut[at] ?? []);
};

/** Whether the call came before all was over. */
const dies = async (way: Way, what: string, at: number): Promise<boolean> => {
  const { start, list, reach, dieAt, bury, isCut, isSettled } = await begin(way, what);
  const isDead = dieAt(at);
  await start();
  list();
  await reach(`call ${at}, or the end`, () => isDead() || isSettled());
  if (!isDead()) return false;
  await bury();
  await start();
  await reach(`it is undone after call ${at}`, () => !isCut());
  list();
  await reach(`the culprit is named, the others are applied after call ${at}`, isSettled);
  expect(isCut()).toBe(false);
  return true;
};

/** Returns how many deaths there were. */
const dieAtEach = async (way: Way, what: string): Promise<number> => {
  let at = 0;
  while (await dies(way, what, at)) at += 1;
  console.log(`over ${way}, ${what}: died at each of ${at} calls`);
  return at;
};
const dieAtThree = async (way: Way, what: string, calls: readonly boolean[]): Promise<number> => {
  let died = 0;
  for (const at of threeOf(calls)) died += (await dies(way, what, at)) ? 1 : 0;
  return died;
};

describe.each(WAYS)('over %s', (way) => {
  it.each(Object.keys(CULPRITS))('survives a %s, and a death', async (what) => {
    const calls = await callsOf(way, what);
    const died = ALL_CALLS ? await dieAtEach(way, what) : await dieAtThree(way, what, calls);
    // Looks for what is there come at times that are drawn, so that the number of calls differs a
    // little.
    expect(died).toBeGreaterThan(ALL_CALLS ? calls.length / 2 : 1);
  });
});
