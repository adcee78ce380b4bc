/** Which suites `.ci/run` runs: pure. */

export type Due = { name: string; why: 'asked' | 'changed' | 'drawn' };

/** Each suite runs once in so many commits, whether or not it has changed. */
export const ROUND = 12;

/** `commits`: how many lead to this one. */
export const dueSuites = (
  names: readonly string[],
  { isTested, commits }: { isTested: (name: string) => boolean; commits: number },
): Due[] =>
  names.flatMap((name, at): Due[] => {
    if (!isTested(name)) return [{ name, why: 'changed' }];
    return at % ROUND === commits % ROUND ? [{ name, why: 'drawn' }] : [];
  });

type Time = { seconds: number; isAlone?: true };

/**
 * So many at a time, since they wait more than they compute: what takes longest first. Those that
 * measure run alone.
 */
export const LANES = 2;

export const expectedSeconds = (suites: readonly Time[]): number => {
  const lanes = Array.from({ length: LANES }, () => 0);
  const [alone, others] = [true, false].map((isAlone) =>
    suites.filter((suite) => (suite.isAlone === true) === isAlone).map(({ seconds }) => seconds),
  );
  for (const seconds of others?.toSorted((one, other) => other - one) ?? []) {
    const first = lanes.indexOf(Math.min(...lanes));
    lanes[first] = (lanes[first] ?? 0) + seconds;
  }
  return Math.max(...lanes) + (alone ?? []).reduce((sum, seconds) => sum + seconds, 0);
};
