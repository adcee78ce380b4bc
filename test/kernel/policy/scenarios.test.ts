/** In random scenarios the product's table says of each packet what the evaluator says. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { caseCount } from '#shared/runtime/testing.ts';
import { wholeFile } from '#shared/policy/nft-table.ts';
import { isAllowed } from './evaluator.ts';
import { passesTable, readTable } from './nft-evaluator.ts';
import { tableOf } from './product.ts';
import { packets, scenario } from './scenarios.ts';

/**
 * Another part of all that there are in each scenario: the scenarios differ more than their
 * packets.
 */
const EVERY = 25;
const SCENARIOS = 1_000;

test('lets through what the evaluator does, and nothing else', () => {
  fc.assert(
    fc.property(scenario, fc.nat(EVERY - 1), (of, offset) => {
      const ruleset = readTable(wholeFile(tableOf(of)));
      const differing = packets
        .filter((_, at) => at % EVERY === offset)
        .find((packet) => isAllowed(of, packet) !== passesTable(ruleset, packet));
      expect(differing).toBeUndefined();
    }),
    { numRuns: caseCount(SCENARIOS) },
  );
});
