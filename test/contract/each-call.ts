/**
 * Tests in which one call goes wrong, whichever it is: each third call, and all of them at night
 * (`SDEWAN_TIMES`). Tests that differ in what goes wrong begin at different calls, so that together
 * they try each.
 */
import { caseCount } from '#shared/runtime/testing.ts';

export const STRIDE = caseCount(1) > 1 ? 1 : 3;

/** `turn`: of the test among those like it. */
export const firstCall = (turn: number): number => turn % STRIDE;
