/**
 * What Prometheus would make of scrapes: samples out of the text format, and whether an alarm's
 * expression holds. Knows just the forms of expressions that deploy/alerts.yaml uses, and refuses
 * all others; how long an expression has to hold (`for`) is not its business.
 */
export type Sample = { name: string; labels: Readonly<Record<string, string>>; value: number };
export type Scrape = {
  samples: readonly Sample[];
  /** Help by metric, also of metrics without samples. */
  help: ReadonlyMap<string, string>;
};

export const NOTHING_SCRAPED: Scrape = { samples: [], help: new Map() };

export const readScrape = (text: string): Scrape => {
  const lines = text.split('\n');
  return {
    samples: lines.filter((line) => line !== '' && !line.startsWith('#')).map(sampleIn),
    help: new Map(
      lines.flatMap((line): [string, string][] => {
        const [, name, help] = /^# HELP (\S+) (.*)$/.exec(line) ?? [];
        return name === undefined || help === undefined ? [] : [[name, help]];
      }),
    ),
  };
};

/** The sum of a metric's samples that have these labels; undefined when there is none. */
export const valueIn = (
  { samples }: Scrape,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined => {
  const found = samples.filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return found.length === 0 ? undefined : sum(found.map(({ value }) => value));
};

/**
 * Whether the expression holds at the last of these scrapes of one target. `now`: Unix time, for
 * `time()`.
 */
export const holds = (expression: string, scrapes: readonly Scrape[], now: number): boolean => {
  const { samples } = scrapes.at(-1) ?? NOTHING_SCRAPED;
  const absent = /^absent\((.+)\)$/.exec(expression)?.[1];
  if (absent !== undefined) return !samples.some(selected(absent));
  const [, left = '', compared, right] = /^(.+) (>=|>|==|<) (\d+)$/.exec(expression) ?? [];
  const compare = compared === undefined ? undefined : comparisons[compared];
  if (compare === undefined) throw new Error(`no such form: ${expression}`);
  return valuesOf(left, scrapes, now).some((value) => compare(value, Number(right)));
};

const comparisons: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  '>=': (left, right) => left >= right,
  '>': (left, right) => left > right,
  '<': (left, right) => left < right,
  '==': (left, right) => left === right,
};

const valuesOf = (expression: string, scrapes: readonly Scrape[], now: number): number[] => {
  const [, grouping, labels = '', inner] =
    /^sum(?: (by|without) \((.+?)\) ?)?\((.+)\)$/.exec(expression) ?? [];
  if (inner !== undefined) {
    const names = labels.split(', ');
    const keyOf = (one: Sample): string =>
      Object.entries(one.labels)
        .filter(([name]) => names.includes(name) === (grouping === 'by'))
        .filter(() => grouping !== undefined)
        .join();
    const groups = Map.groupBy(vectorOf(inner, scrapes), keyOf);
    return [...groups.values()].map((group) => sum(group.map(({ value }) => value)));
  }
  const since = /^(.+) - time\(\)$/.exec(expression)?.[1];
  return vectorOf(since ?? expression, scrapes).map(({ value }) =>
    since === undefined ? value : value - now,
  );
};

/**
 * `increase` is over all that was scraped; a series that was not there at first has not increased,
 * as for Prometheus.
 */
const vectorOf = (expression: string, scrapes: readonly Scrape[]): Sample[] => {
  const ranged = /^increase\((.+)\[\d+m\]\)$/.exec(expression)?.[1];
  const [first, last] = [scrapes[0], scrapes.at(-1)].map((scrape) =>
    (scrape?.samples ?? []).filter(selected(ranged ?? expression)),
  );
  if (ranged === undefined) return last ?? [];
  return (last ?? []).flatMap((sample) => {
    const before = first?.find((other) => idOf(other) === idOf(sample));
    return before ? [{ ...sample, value: sample.value - before.value }] : [];
  });
};

const idOf = ({ name, labels }: Sample): string => JSON.stringify([name, labels]);

/** `name{label="value",other!~"a|b"}` */
const selected = (selector: string): ((sample: Sample) => boolean) => {
  const [, name, matchers = ''] =
    /^(\w+)(?:\{((?:\w+(?:=|!~)"[^"]*",?)*)\})?$/.exec(selector) ?? [];
  if (name === undefined) throw new Error(`no such form: ${selector}`);
  const wanted = [...matchers.matchAll(/(\w+)(=|!~)"([^"]*)"/g)].map(([, label, how, value]) => ({
    label: label ?? '',
    pattern: new RegExp(`^(?:${value})$`),
    matches: how === '=',
  }));
  return (sample) =>
    sample.name === name &&
    wanted.every(
      ({ label, pattern, matches }) => pattern.test(sample.labels[label] ?? '') === matches,
    );
};

const sampleIn = (line: string): Sample => {
  const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`no sample: ${line}`);
  const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)];
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, label, text]) => [label, text])),
    value: Number(value),
  };
};

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
