/** The last lines of a run, which end with what broke and the totals: pure. */
import { stripVTControlCharacters } from 'node:util';
import type { Failure, Tally } from './tally.ts';

const SLOWEST = 10;
/** Characters: of a run on another machine, nothing else may be left. */
const LONGEST_WHY = 1_000;

export type Summary = { lines: string[]; exitCode: number };

/** `mayNotSkip`: a skipped test is a failure, since it would not be noticed. */
export const summaryOf = (
  { passed, failures, skipped, files }: Tally,
  { mayNotSkip, tookMs }: { mayNotSkip: boolean; tookMs: number },
): Summary => {
  const skippedFailures = mayNotSkip
    ? skipped.map((what) => ({ what, why: 'skipped, which may not be here' }))
    : [];
  const broken = [
    ...failures,
    ...skippedFailures,
    // Nothing is proven by it.
    ...(passed === 0 && failures.length === 0 ? [{ what: 'this run', why: 'no test ran' }] : []),
  ];
  const slowest = files.toSorted((one, other) => other.tookMs - one.tookMs).slice(0, SLOWEST);
  return {
    lines: [
      ...(slowest.length > 0 ? ['the slowest files:'] : []),
      ...slowest.map((file) => `${seconds(file.tookMs).padStart(9)}  ${file.name}`),
      ...(mayNotSkip ? [] : skipped.map((name) => `skipped: ${name}`)),
      `took ${seconds(tookMs)}`,
      ...broken.flatMap(failureLines),
      `${passed} passed, ${broken.length} failed`,
    ],
    exitCode: broken.length === 0 ? 0 : 1,
  };
};

/** `.ci/run` finds them by how they begin. */
const failureLines = ({ what, why, replay }: Failure): string[] => [
  `failed: ${oneLine(what)}: ${oneLine(withoutReplay(why)).slice(0, LONGEST_WHY)}`,
  ...(replay === undefined ? [] : [`replay: ${replay}`]),
];

/** It has a line of its own. */
const withoutReplay = (why: string): string =>
  stripVTControlCharacters(why).replaceAll(/^replay: .*$/gm, '');
/** Names of tests and what they say may hold anything. */
const oneLine = (text: string): string => text.trim().replaceAll(/\s+/g, ' ');

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
