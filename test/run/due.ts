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
