/** In random worlds the product's table says of each packet what the evaluator says; and an evaluator with one operator changed is found out. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { caseCount } from '#shared/runtime/testing.ts';
import { wholeFile } from '#shared/policy/table.ts';
import { isAllowed, type Packet, type World } from './evaluator.ts';
import { passesTable, readTable } from './nft-judge.ts';
import { tableOf } from './product.ts';
import { packets, world } from './worlds.ts';

type Evaluate = typeof isAllowed;

/** Of all that there are, another part in each world: the worlds differ more than their packets. */
const EVERY = 25;
const WORLDS = 1_000;

/** The first packet on which the two differ. */
const difference = (evaluate: Evaluate, of: World, offset: number): Packet | undefined => {
  const ruleset = readTable(wholeFile(tableOf(of)));
  return packets
    .filter((_, at) => at % EVERY === offset)
    .find((packet) => evaluate(of, packet) !== passesTable(ruleset, packet));
};
const offsets = fc.nat(EVERY - 1);

test('the table lets through what the evaluator does, and nothing else', () => {
  fc.assert(
    fc.property(world, offsets, (of, offset) => {
      expect(difference(isAllowed, of, offset)).toBeUndefined();
    }),
    { numRuns: caseCount(WORLDS) },
  );
});

/** What stands once in the evaluator, and what stands there instead. */
const MUTANTS: readonly [string, string][] = [
  ['return out && into', 'return out || into'],
  ['from === undefined || passes', 'from !== undefined || passes'],
  ['!pod.hostNetwork && !pod.finished', '!pod.finished'],
  ['!pod.hostNetwork && !pod.finished', '!pod.hostNetwork'],
  ['policy.namespace === pod.namespace &&', 'true &&'],
  ['isMatch(policy.spec.podSelector, pod.labels) &&', 'true &&'],
  ['typesOf(policy).includes(direction)', 'true'],
  ['isolating.length === 0', 'isolating.length <= 1'],
  ['isolating.some(', 'isolating.every('],
  ['return rules.some(', 'return rules.every('],
  ['peers.length === 0 ||', 'peers.length !== 0 &&'],
  ['peers.some(', 'peers.every('],
  ['ports.length === 0 ||', 'ports.length !== 0 &&'],
  ['ports.some((port) =>', 'ports.every((port) =>'],
  ['(spec.egress ?? []).length > 0', '(spec.egress ?? []).length >= 0'],
  ['&& !except.some(', '&& except.every('],
  ['? pod.namespace === own', '? pod.namespace !== own'],
  ['return isInNamespace && isMatch', 'return isInNamespace || isMatch'],
  ["(port.protocol ?? 'TCP') !== packet.protocol", 'false'],
  ['port.port <= packet.port', 'port.port < packet.port'],
  ['packet.port <= (port', 'packet.port < (port'],
  ['named.name === port.port', 'true'],
  ['named.protocol === packet.protocol', 'true'],
  ['named.port === packet.port', 'true'],
  ['labels[key] === value', '(labels[key] === value && value !== "")'],
  ["operator === 'Exists') return value !== undefined", "operator === 'Exists') return !!value"],
  [
    "operator === 'DoesNotExist') return value === undefined",
    "operator === 'DoesNotExist') return !value",
  ],
  ['value !== undefined && values.includes(value)', 'values.includes(value ?? "")'],
  ['value === undefined || !values', 'value !== undefined && !values'],
];

describe('an evaluator with one operator changed is found out', () => {
  let folder = '';
  let source = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sdewan-evaluator-'));
    const file = await readFile(join(import.meta.dirname, 'evaluator.ts'), 'utf8');
    source = stripTypeScriptTypes(file).replaceAll(/\s+/g, ' ');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(MUTANTS.map(([before, after], at) => ({ before, after, at })))(
    '$before -> $after',
    async ({ before, after, at }) => {
      const parts = source.split(before);
      expect(parts).toHaveLength(2);
      const path = join(folder, `${at}.mjs`);
      await writeFile(path, parts.join(after));
      const mutant: { isAllowed: Evaluate } = await import(
        /* @vite-ignore */ pathToFileURL(path).href
      );
      const result = fc.check(
        fc.property(
          world,
          offsets,
          (of, offset) => difference(mutant.isAllowed, of, offset) === undefined,
        ),
        { numRuns: WORLDS, endOnFailure: true },
      );
      expect(result.failed).toBe(true);
    },
  );
});
