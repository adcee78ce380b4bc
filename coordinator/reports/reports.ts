/**
 * The last reports of the agents, by pod uid. Owns the order of things: pages become a report when
 * all are there, an older report or an older boot never overwrites a newer one, and a heartbeat
 * costs nothing but a time. Memory is bounded by the pods that live.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Counters } from '#shared/protocol/counters.ts';
import type { Information } from '#shared/protocol/information.ts';
import type { Drift, Report, RuleReport } from '#shared/protocol/report.ts';
import { isSilent } from '../rule-status/pod-verdict.ts';
import type { PodReport, RuleWord } from '../rule-status/pod-report.ts';

export type Moment = { monotonic: number; wall: number };

export type Acceptance =
  /** `rules`: uids of those with another state than before. `whole`: it concerns all rules. */
  | { outcome: 'news'; rules: ReadonlySet<string>; whole: boolean; drifts: readonly Drift[] }
  | { outcome: 'heartbeat' }
  /** More pages have to come. */
  | { outcome: 'partial' }
  /** Known already, or overtaken by a later one. */
  | { outcome: 'stale' }
  /** It repeats a report that is not known here. */
  | { outcome: 'unknown-base' }
  /** A later start of that agent has reported since. */
  | { outcome: 'old-boot' };

/** At 1,000 rules a page, far more than an OpenWRT can have; bounds what is kept of one pod. */
export const MAX_PAGES = 20;
/** Boots remembered per pod, so that a late report of one of them is known to be late. */
const MAX_RETIRED = 8;

type Entry = {
  current:
    | (PodReport & { sequence: number; fullSequence: number; isKnownSilent: boolean })
    | undefined;
  partial: { bootId: string; sequence: number; parts: Map<number, RuleReport[]> } | undefined;
  retired: string[];
  information: Reported | undefined;
  counters: Counters | undefined;
};

/** What was reported of OpenWRT itself; times are wall-clock milliseconds. */
export type Reported = {
  information: Information;
  /** When it was first reported. */
  since: number;
  /** By `upKey`: since when WANs and tunnels are as they are, as far as this coordinator saw. */
  upSince: Pick<ReadonlyMap<string, number>, 'get'>;
};

/** What tells a WAN or a tunnel that is up from one that is down. */
export const upKey = (what: 'wan' | 'tunnel', name: string, up: boolean): string =>
  `${what}/${name}/${up}`;

const upSinceOf = (
  { wans, tunnels }: Information,
  before: Reported['upSince'] | undefined,
  wall: number,
): ReadonlyMap<string, number> =>
  new Map(
    [
      ...wans.map((one) => upKey('wan', one.interface, one.up)),
      ...tunnels.map((one) => upKey('tunnel', one.name, one.up)),
    ].map((key) => [key, before?.get(key) ?? wall]),
  );

export class Reports {
  readonly #entries = new Map<string, Entry>();
  readonly #silentAfterMs: number;

  constructor(options: { silentAfterMs: number }) {
    this.#silentAfterMs = options.silentAfterMs;
  }

  get size(): number {
    return this.#entries.size;
  }

  of(podUid: string): PodReport | undefined {
    return this.#entries.get(podUid)?.current;
  }

  /** What the agent reported last of its OpenWRT, whichever boot it was. */
  informationOf(podUid: string): Reported | undefined {
    return this.#entries.get(podUid)?.information;
  }

  /** Only with a report that was accepted. */
  inform(podUid: string, information: Information, { wall }: Moment): void {
    const entry = this.#entryOf(podUid);
    const upSince = upSinceOf(information, entry.information?.upSince, wall);
    entry.information = { information, since: wall, upSince };
  }

  countersOf(podUid: string): Counters | undefined {
    return this.#entries.get(podUid)?.counters;
  }

  /** Only with a report that was accepted. */
  count(podUid: string, counters: Counters): void {
    this.#entryOf(podUid).counters = counters;
  }

  /** The pod is gone, and its uid never comes back. */
  forget(podUid: string): void {
    this.#entries.delete(podUid);
  }

  /**
   * A report of what has changed, as the whole one that it comes to. Any other, and one of changes
   * since a report that is not known here, as it is.
   */
  completed(podUid: string, page: Report): Report {
    const { repeats, gone = [], ...rest } = page;
    const current = this.#entries.get(podUid)?.current;
    const isKnown = current?.bootId === page.bootId && current.fullSequence === repeats;
    if (!isKnown || isHeartbeat(page)) return page;
    const rules = new Map<string, RuleReport>(current.rules);
    for (const uid of gone) rules.delete(uid);
    for (const rule of page.rules) rules.set(rule.uid, rule);
    return { ...rest, rules: [...rules.values()] };
  }

  /**
   * From a live pod, as its token proves. `page` is one that the schema accepted, and `completed`.
   */
  accept(podUid: string, page: Report, at: Moment): Acceptance {
    const entry = this.#entryOf(podUid);
    const { current } = entry;
    const sameBoot = current?.bootId === page.bootId;
    if (entry.retired.includes(page.bootId)) return { outcome: 'old-boot' };
    if (page.sequence <= latestOf(entry, page.bootId)) return { outcome: 'stale' };
    if (current && !sameBoot) retire(entry, current.bootId);
    if (page.repeats !== undefined)
      return sameBoot && page.repeats === current.fullSequence && isHeartbeat(page)
        ? this.#heartbeat(entry, current, page, at)
        : { outcome: 'unknown-base' };
    const rules = assemble(entry, page);
    return rules ? this.#replace(entry, page, { rules, at }) : { outcome: 'partial' };
  }

  /** Pods that have become silent since the last call. */
  newlySilent(monotonic: number): string[] {
    const uids: string[] = [];
    for (const [uid, { current }] of this.#entries) {
      if (!current || current.isKnownSilent || !this.#isSilent(current, monotonic)) continue;
      current.isKnownSilent = true;
      uids.push(uid);
    }
    return uids;
  }

  #entryOf(podUid: string): Entry {
    let entry = this.#entries.get(podUid);
    if (!entry) {
      entry = {
        current: undefined,
        partial: undefined,
        retired: [],
        information: undefined,
        counters: undefined,
      };
      this.#entries.set(podUid, entry);
    }
    return entry;
  }

  #isSilent(report: PodReport, monotonic: number): boolean {
    return isSilent(report, { monotonic, silentAfterMs: this.#silentAfterMs });
  }

  #heartbeat(
    entry: Entry,
    current: NonNullable<Entry['current']>,
    page: Report,
    at: Moment,
  ): Acceptance {
    const whole = this.#concernsAll(current, page, at);
    entry.current = {
      ...current,
      ...wordsOf(page, current),
      receivedAt: at,
      isKnownSilent: false,
    };
    const drifts = newDrifts(page, current);
    return whole || drifts.length > 0
      ? { outcome: 'news', rules: uidsOf(drifts), whole, drifts }
      : { outcome: 'heartbeat' };
  }

  #replace(
    entry: Entry,
    page: Report,
    { rules, at }: { rules: readonly RuleReport[]; at: Moment },
  ): Acceptance {
    const before = entry.current?.bootId === page.bootId ? entry.current : undefined;
    const known = before?.rules;
    const words = new Map(rules.map((rule) => [rule.uid, wordOf(rule, known?.get(rule.uid), at)]));
    const whole = !before || this.#concernsAll(before, page, at);
    const drifts = newDrifts(page, before);
    const changed = new Set([
      ...(whole ? [] : differences(before.rules, words)),
      ...uidsOf(drifts),
    ]);
    entry.current = {
      bootId: page.bootId,
      receivedAt: at,
      ...wordsOf(page, before),
      rules: words,
      fullSequence: page.sequence,
      isKnownSilent: false,
    };
    return whole || changed.size > 0
      ? { outcome: 'news', rules: changed, whole, drifts }
      : { outcome: 'heartbeat' };
  }

  #concernsAll(before: PodReport, page: Report, at: Moment): boolean {
    const standing = ({
      openwrt,
      unwatchedKinds,
      doubt,
      fleet,
    }: Pick<Report, 'openwrt' | 'doubt' | 'fleet'> & Pick<PodReport, 'unwatchedKinds'>) => [
      openwrt.reachable,
      openwrt.reachable ? '' : openwrt.message,
      unwatchedKinds.toSorted(),
      doubt,
      fleet.distance,
      fleet.restarted?.id,
    ];
    return (
      this.#isSilent(before, at.monotonic) || !isDeepStrictEqual(standing(before), standing(page))
    );
  }
}

/** `before`: of the same boot; drifts are on the first page alone. */
const wordsOf = (
  { sequence, openwrt, unwatchedKinds, clock, doubt, drifts, fleet }: Report,
  before: PodReport | undefined,
) => ({
  sequence,
  openwrt,
  unwatchedKinds,
  clock,
  doubt,
  drifts: drifts ?? before?.drifts ?? [],
  fleet,
});

/** `before`: of the same boot, all pages of which have the same. */
const newDrifts = ({ drifts = [] }: Report, before: PodReport | undefined): readonly Drift[] => {
  const known = Math.max(-Infinity, ...(before?.drifts ?? []).map(({ at }) => at));
  return drifts.filter(({ at }) => at > known);
};

const uidsOf = (drifts: readonly Drift[]): Set<string> =>
  new Set(drifts.flatMap(({ uid }) => (uid === undefined ? [] : [uid])));

/** The last report of that boot that was completed, or overtaken while it still lacked pages. */
const latestOf = ({ current, partial }: Entry, bootId: string): number =>
  Math.max(
    current?.bootId === bootId ? current.sequence : -1,
    partial?.bootId === bootId ? partial.sequence - 1 : -1,
  );

const retire = (entry: Entry, bootId: string): void => {
  if (entry.retired.includes(bootId)) return;
  entry.retired = [...entry.retired, bootId].slice(-MAX_RETIRED);
};

/** All rules of the report when this was its last page. */
const assemble = (entry: Entry, page: Report): readonly RuleReport[] | undefined => {
  const { bootId, sequence, pages } = page;
  if (pages === 1) {
    entry.partial = undefined;
    return page.rules;
  }
  if (entry.partial?.bootId !== bootId || entry.partial.sequence !== sequence)
    entry.partial = { bootId, sequence, parts: new Map() };
  const { parts } = entry.partial;
  parts.set(page.page, page.rules);
  if (parts.size < pages) return undefined;
  entry.partial = undefined;
  return [...parts.values()].flat();
};

const isHeartbeat = ({ repeats, rules, gone = [] }: Report): boolean =>
  repeats !== undefined && rules.length === 0 && gone.length === 0;

const wordOf = (rule: RuleReport, known: RuleWord | undefined, at: Moment): RuleWord => {
  if (known === rule) return known;
  const same =
    known?.state === rule.state &&
    known.revision === rule.revision &&
    known.generation === rule.generation;
  return { ...rule, since: same ? known.since : at.wall };
};

const differences = (
  before: ReadonlyMap<string, RuleWord>,
  after: ReadonlyMap<string, RuleWord>,
): Set<string> => {
  const changed = new Set<string>();
  for (const [uid, word] of after) if (!sameWord(before.get(uid), word)) changed.add(uid);
  for (const uid of before.keys()) if (!after.has(uid)) changed.add(uid);
  return changed;
};

const sameWord = (one: RuleWord | undefined, other: RuleWord): boolean =>
  one?.since === other.since &&
  one.state === other.state &&
  one.revision === other.revision &&
  one.generation === other.generation &&
  one.reason === other.reason &&
  one.message === other.message &&
  one.generationInForce === other.generationInForce &&
  one.tunnelsDown === other.tunnelsDown;
