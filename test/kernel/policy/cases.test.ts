/**
 * The 53 cases, by the evaluator, by the product's table, and by what `sdewan trace` says. The
 * kernel has its say in `packets/`.
 */
import { describe, expect, test } from 'vitest';
import { ALL_PAIRS, CASES, addressOfPod, deniedPairs, scenarioOf, type Protocol } from './cases.ts';
import { isAllowed, type Packet } from './evaluator.ts';
import { passesTable, readTable } from './nft-evaluator.ts';
import { wholeFile } from '#shared/policy/nft-table.ts';
import { judgeOf, tableOf } from './product.ts';

test('there are 53 cases, and each number is one', () => {
  expect(CASES.map(({ number }) => number)).toStrictEqual(
    Array.from({ length: 53 }, (_, at) => at + 1),
  );
});

describe.each([4, 6] as const)('IPv%i', (family) => {
  test.each(CASES)('$number: $title', ({ steps }) => {
    for (const step of steps) {
      const scenario = scenarioOf(step, family);
      const ruleset = readTable(wholeFile(tableOf(scenario)));
      const judged = judgeOf(scenario);
      for (const { protocol, port, denied } of step.probes) {
        const wanted = [...deniedPairs(denied)].sort();
        const deniedBy = (passes: (packet: Packet & { protocol: Protocol }) => boolean): string[] =>
          ALL_PAIRS.filter((pair) => {
            const [from = '', to = ''] = pair.split('>').map((pod) => addressOfPod(pod, family));
            return !passes({ from, to, protocol, port });
          }).sort();
        expect(deniedBy((packet) => isAllowed(scenario, packet))).toStrictEqual(wanted);
        expect(deniedBy((packet) => passesTable(ruleset, packet))).toStrictEqual(wanted);
        expect(deniedBy(judged)).toStrictEqual(wanted);
      }
    }
  });
});
