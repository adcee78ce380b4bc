/**
 * How many packets the table of policies has denied, by policy, since the agent has begun. The
 * kernel's counters begin at 0 with each table that is loaded as a whole; what they had since they
 * were last read is lost then.
 */
import { countedBy, type TableEntry } from '#shared/policy/nft-table.ts';
import { OTHER_POLICIES, type Denied } from '#shared/protocol/counters.ts';

export type Denials = {
  /** A table of these policies is loaded, and its counters begin at 0. Others are forgotten. */
  begin: (entries: Iterable<TableEntry>) => void;
  /** What its counters say now. */
  add: (counters: ReadonlyMap<string, number>) => void;
  /** Policies whose pods were denied something. */
  all: () => readonly Denied[];
};

/**
 * Series of policies and directions. A scrape of more is large, and the authors of policies decide
 * how many there are.
 */
const MAX_SERIES = 200;

export const createDenials = (): Denials => {
  let last: ReadonlyMap<string, number> = new Map();
  /** By the policy's id. */
  let titles: ReadonlyMap<string, string> = new Map();
  const series = new Map<string, Denied>();

  const count = (title: string, direction: Denied['direction'], packets: number): void => {
    const hasOwn = series.has(keyOf(title, direction)) || series.size < MAX_SERIES;
    const policy = hasOwn ? title : OTHER_POLICIES;
    const key = keyOf(policy, direction);
    const before = series.get(key)?.packets ?? 0;
    series.set(key, {
      policy,
      direction,
      packets: Math.min(before + packets, Number.MAX_SAFE_INTEGER),
    });
  };

  return {
    begin: (entries) => {
      last = new Map();
      titles = new Map([...entries].map(({ id, title }) => [id, title]));
      const there = new Set([OTHER_POLICIES, ...titles.values()]);
      for (const [key, { policy }] of series) if (!there.has(policy)) series.delete(key);
    },
    add: (counters) => {
      for (const [counter, packets] of counters) {
        const counted = countedBy(counter);
        const title = titles.get(counted?.id ?? '');
        if (counted === undefined || title === undefined) continue;
        const before = last.get(counter) ?? 0;
        count(title, counted.direction, packets < before ? packets : packets - before);
      }
      last = counters;
    },
    all: () => [...series.values()],
  };
};

const keyOf = (policy: string, direction: Denied['direction']): string => `${policy} ${direction}`;
