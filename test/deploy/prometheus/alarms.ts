/**
 * Which alarms of deploy/alerts.yaml fire, as Prometheus' own engine evaluates them, though no test
 * waits as long as alarms do: over an hour in which a program looks all the time as in the scrapes
 * that there are of it, or over scrapes of some minutes as if they were of half an hour.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import * as z from 'zod';
import { NOTHING_SCRAPED, type Sample, type Scrape } from '../../openwrt/checks/prometheus.ts';
import { buildPromlint } from './promlint.ts';

const FILE = join(import.meta.dirname, '../../../deploy/alerts.yaml');
const SCRAPES_EVERY_MS = 60_000;
/** Longer than any alarm waits, and looks back. */
const SCRAPES = 90;

/** Scrapes since what happens once. */
const ONCE_AGE = 2;
const NO_WAIT = '0m';

/** Names of those that fire at `now`, Unix time in milliseconds. */
export type Firing = (scrapes: readonly Scrape[], now: number) => string[];

const groupsSchema = z.object({
  groups: z.array(z.looseObject({ rules: z.array(z.looseObject({ for: z.string().optional() })) })),
});

const groupsOfAlarms = () =>
  z.object({ spec: groupsSchema }).parse(parse(readFileSync(FILE, 'utf8'))).spec.groups;

/** To be called where a minute of waiting for a build is expected. */
export const buildFiring = async (): Promise<Firing> => {
  const promlint = await buildPromlint();
  const groups = groupsOfAlarms();
  /** Those that wait for a fault to go on, and those that do not. */
  const rulesThat = (wait: boolean): string =>
    stringify({
      groups: groups.map((group) => ({
        ...group,
        rules: group.rules.filter((rule) => (rule.for !== NO_WAIT) === wait),
      })),
    });
  return (scrapes, now) =>
    [true, false].flatMap((goesOn) => {
      const question = {
        rules: rulesThat(goesOn),
        at: [now],
        series: hourOf(scrapes, now, goesOn),
      };
      return promlint('firing', JSON.stringify(question));
    });
};

/** One scrape of one of the programs. `at`: Unix time in milliseconds. */
export type Look = { at: number; instance: string; scrape: Scrape };
/**
 * Names of those that fire at a minute of the half hour to which these looks, in their order, are
 * stretched.
 */
export type FiringWithin = (looks: readonly Look[]) => string[];

const HALF_HOUR_MS = 1_800_000;

/** To be called where a minute of waiting for a build is expected. */
export const buildFiringWithin = async (): Promise<FiringWithin> => {
  const promlint = await buildPromlint();
  const rules = stringify({ groups: groupsOfAlarms() });
  return (looks) => {
    const [began, ended] = [looks[0]?.at ?? 0, looks.at(-1)?.at ?? 0];
    const stretched = (at: number): number =>
      began + Math.round(((at - began) * HALF_HOUR_MS) / (ended - began));
    const series = seriesOf(looks.map((look) => ({ ...look, at: stretched(look.at) })));
    const at = Array.from(
      { length: HALF_HOUR_MS / SCRAPES_EVERY_MS + 1 },
      (_, minute) => began + minute * SCRAPES_EVERY_MS,
    );
    return promlint('firing', JSON.stringify({ rules, at, series }));
  };
};

/** As they are, and nothing where the program had no such series. */
const seriesOf = (looks: readonly Look[]): Series[] => {
  const series = new Map<string, Series>();
  for (const { at, instance, scrape } of looks)
    for (const sample of scrape.samples) {
      const labels = { ...sample.labels, instance, __name__: sample.name };
      const id = JSON.stringify(labels);
      const known: Series = series.get(id) ?? { labels, samples: [] };
      known.samples.push([at, sample.value]);
      series.set(id, known);
    }
  return [...series.values()];
};

type Series = { labels: Record<string, string>; samples: [at: number, value: number][] };

/**
 * What was counted from the first to the last scrape is counted in each minute, or in the middle of
 * the last five alone; all else stays as it was at last.
 */
const hourOf = (scrapes: readonly Scrape[], now: number, goesOn: boolean): Series[] => {
  const [first, last] = [scrapes[0] ?? NOTHING_SCRAPED, scrapes.at(-1) ?? NOTHING_SCRAPED];
  const before = new Map(first.samples.map((sample) => [idOf(sample), sample.value]));
  return last.samples.map((sample) => {
    const { name, labels, value } = sample;
    const added = isCounted(sample) ? value - (before.get(idOf(sample)) ?? value) : 0;
    const samples = Array.from({ length: SCRAPES }, (_, index): [number, number] => {
      const age = SCRAPES - 1 - index;
      const missing = goesOn ? age : Number(age > ONCE_AGE);
      return [now - age * SCRAPES_EVERY_MS, value - missing * added];
    });
    return { labels: { ...labels, __name__: name }, samples };
  });
};

const idOf = ({ name, labels }: Sample): string => JSON.stringify([name, labels]);
const isCounted = ({ name }: Sample): boolean => /_(total|count|sum|bucket)$/.test(name);
