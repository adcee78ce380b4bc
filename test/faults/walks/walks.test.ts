/**
 * Walks of whole clusters: rules, pods, agents, coordinators, OpenWRTs and what is between them
 * change and fail at random, in a time of their own. What a walk finds becomes a case of
 * found.test.ts.
 */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { caseCount } from '#shared/runtime/testing.ts';
import { histories, walk } from './steps.ts';

const WALKS = Math.min(caseCount(100), 10_000);
/**
 * One takes 50 ms of CPU; beside all else that `npm test` runs at once, and two busy loops, 2 s
 * were seen.
 */
const TIME_MS = 300_000 + 5_000 * WALKS;

it(
  `reports, changes and releases in ${WALKS} histories nothing that must not be, and everything converges`,
  async () => {
    let walked = 0;
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        await walk(history);
        walked += 1;
      }),
      { numRuns: WALKS },
    );
    expect(walked).toBeGreaterThan(0);
  },
  TIME_MS,
);
