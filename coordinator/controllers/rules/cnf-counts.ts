/**
 * Counts by CNF for metrics. What was shown once stays, with zero, as Prometheus wants it; purposes
 * are what tenants write, so there is a bound, behind which their counts are summed.
 */

export type CnfLabels = { namespace: string; purpose: string };

/**
 * CNFs without series of their own. A namespace cannot be called so and have this purpose by
 * chance: there is no label without a rule or pod.
 */
export const OTHER: CnfLabels = { namespace: '', purpose: 'other' };

export type Counted<Labels> = readonly [Labels, number];

/** With series of their own; a hundred CNFs, and some that come and go. */
export const MAX_CNFS = 110;

/** For counters, whose series never go: the first CNFs have one each. */
export const boundedCnfs = (most: number): ((cnf: CnfLabels) => CnfLabels) => {
  const known = new Set<string>();
  return ({ namespace, purpose }) => {
    const cnf = { namespace, purpose };
    const key = keyOf(cnf);
    if (!known.has(key) && known.size >= most) return OTHER;
    known.add(key);
    return cnf;
  };
};

/** `most`: series. `combine`: of those beyond it; default: the sum. */
export const createCnfCounts = <Labels extends CnfLabels>(
  most: number,
  combine: (one: number, other: number) => number = (one, other) => one + other,
): ((counted: Iterable<Counted<Labels>>) => Iterable<Counted<Labels>>) => {
  let known = new Map<string, Labels>();
  return (counted) => {
    const all = [...counted];
    const now = new Set(all.map(([labels]) => keyOf(labels)));
    const shown = new Map<string, Counted<Labels>>();
    // Those that are shown already come first, so that many new ones displace none.
    const [before, fresh] = [true, false].map((isKnown) =>
      all.filter(([labels]) => known.has(keyOf(labels)) === isKnown),
    );
    for (const [labels, count] of [...(before ?? []), ...(fresh ?? [])]) {
      const own = shown.size < most ? labels : { ...labels, ...OTHER };
      const key = keyOf(own);
      shown.set(key, [own, combine(shown.get(key)?.[1] ?? 0, count)]);
    }
    for (const [key, labels] of known)
      if (!now.has(key) && !shown.has(key) && shown.size < most) shown.set(key, [labels, 0]);
    known = new Map([...shown].map(([key, [labels]]) => [key, labels]));
    return shown.values();
  };
};

const keyOf = (labels: CnfLabels): string => JSON.stringify(Object.values(labels));
