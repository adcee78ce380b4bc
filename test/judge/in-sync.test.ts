import { expect, it } from 'vitest';
import { falseStatuses, type InSyncStatus } from './in-sync.ts';
import type { JournalEntry } from './in-force.ts';

const file = (ms: number, text: string, call: string): JournalEntry[] => [
  { ms, event: 'write', package: 'firewall', text, by: { call } },
  ...(call === 'factory' ? [] : [{ ms, event: 'reload', service: 'firewall', ok: true }]),
];
const RULE = "config rule 'a'\n";
const journal = [
  ...file(100, '', 'factory'),
  ...file(200, RULE, 'uci'),
  ...file(1_000, '', 'factory'),
  ...file(9_000, RULE, 'uci'),
];
const holds = (
  rule: string,
  of: (name: string) => { taken: readonly { name?: string | undefined }[] },
) => of('firewall').taken.some(({ name }) => name === rule);
const grace = { staysMs: 6_000, newlyMs: 300 };
const judge = (...said: [number, boolean][]) =>
  falseStatuses(
    said.map(([at, inSync]): InSyncStatus => ({ at, rule: 'a', inSync })),
    [journal],
    { holds, grace },
  );

it.each<[string, [number, boolean][], object[]]>([
  ['a rule that is there', [[300, true]], []],
  ['a rule that is not there yet', [[150, false]], []],
  ['a rule that is reported in sync too early', [[190, true]], []],
  [
    'a rule that stays in sync for a moment',
    [
      [300, true],
      [1_400, true],
    ],
    [],
  ],
  [
    'a rule that stays in sync for too long',
    [
      [300, true],
      [8_000, true],
    ],
    [{ at: 8_000, newly: false, forMs: 7_000 }],
  ],
  [
    'a rule that was lowered, and comes back too early',
    [
      [300, true],
      [1_100, false],
      [1_400, true],
    ],
    [{ at: 1_400, newly: true, forMs: 400 }],
  ],
  [
    'a rule that was lowered, and comes back',
    [
      [300, true],
      [1_100, false],
      [9_100, true],
    ],
    [],
  ],
])('%s', (_name, said, expected) => {
  expect(judge(...said)).toMatchObject(expected);
});
