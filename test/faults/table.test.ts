/**
 * The fault table, `npm run suite faults`: each row on the same installation, under a steady stream
 * of changes, judged from outside. What always holds is judged over the whole row; recovery is
 * measured from the end of the fault to the moment in which all is as it should be.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomOfTest, randomOfRun } from '../run/random.ts';
import { chosenRows, ROWS_VARIABLE } from './choice.ts';
import { keepEvidence } from './evidence.ts';
import { recordResults, type Result } from './results.ts';
import type { Row } from './row.ts';
import { startFixture, type Fixture } from './fixture.ts';

/** Changes before the fault begins, so that there is something to break. */
const WARM_UP_MS = 2_000;
/** What is not well by then will not be by itself. */
const GIVE_UP_MS = 60_000;
const ROW_TIMEOUT_MS = 1_200_000;
/** Beside much else three minutes were not enough. */
const START_TIMEOUT_MS = 600_000;

describe('under a steady stream of changes', () => {
  let fixture: Fixture;
  const results: Result[] = [];

  beforeAll(async () => {
    fixture = await startFixture(randomOfRun());
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    recordResults(results);
    await fixture.stop();
  });

  const measure = async (row: Row): Promise<Result> => {
    fixture.checks.violations();
    fixture.traffic.start();
    await sleep(WARM_UP_MS);
    let thrown: string[] = [];
    try {
      await row.run(fixture, randomOfTest({ [ROWS_VARIABLE]: row.id }));
    } catch (error) {
      thrown = [String(error)];
    }
    const endedAt = performance.now();
    await fixture.traffic.stop();
    const wrong = await fixture.checks.untilAgreed(row.boundMs);
    const recoveredMs = performance.now() - endedAt;
    const found = [...thrown, ...fixture.checks.violations(row.earlyMs), ...wrong];
    if (found.length > 0)
      console.log(`evidence of ${row.id}: ${await keepEvidence(fixture, row.id, found)}`);
    // The next row begins with an installation that is well, or with another one.
    const left = wrong.length > 0 ? await fixture.checks.untilAgreed(GIVE_UP_MS) : [];
    const broken = [...found, ...fixture.checks.violations(row.earlyMs)];
    if (left.length > 0 || row.leavesRuins) await anew();
    return { row, recoveredMs, broken };
  };

  const anew = async (): Promise<void> => {
    await fixture.stop();
    fixture = await startFixture(randomOfRun());
  };

  it.each(chosenRows())('$id: $fault', { timeout: ROW_TIMEOUT_MS }, async (row) => {
    const result = await measure(row);
    results.push(result);
    const { recoveredMs, broken } = result;
    const outcome = broken.length === 0 ? 'holds' : `${broken.length} did not hold`;
    console.log(
      `fault ${row.id}: ${outcome}, well again after ${(recoveredMs / 1_000).toFixed(1)} s of ${row.boundMs / 1_000} s`,
    );
    // Thousands of the same help as much as one, and the first is shown before the last row ends.
    for (const line of broken.slice(0, 10)) console.log(`  ${line}`);
    expect(broken).toEqual([]);
  });
});
