/** The table of policies in the kernel: what is wanted, what it holds, and how it is replaced. */
import { policyTable, type PolicyTable } from '#shared/policy/nft-table.ts';
import type { PolicyEnforcement } from '#shared/resources/other-kinds/policy-enforcement.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { Policies, PoliciesLoaded } from '../openwrt/driver.ts';
import { halved, tracedBy } from './blame.ts';
import type { Denials } from './denials.ts';
import type { PolicySource } from './source.ts';
import { NOTHING_WANTED, wantedTable, type Entry, type Taken, type Wanted } from './wanted.ts';

export type KernelTableDeps = {
  source: Pick<PolicySource, 'enforcements' | 'groups'>;
  /** The table was gone, or another one was there: it is about to be loaded again. */
  onDrift: () => void;
  /** What changed so long ago has been read back from the kernel. */
  onLoaded: (seconds: number) => void;
  denials: Pick<Denials, 'begin'>;
  clock: Pick<Clock, 'monotonic'>;
  log: Logger;
};

export type TableState = {
  wanted: Wanted;
  /** Undefined: unknown. */
  held: Held | undefined;
  /** While a table replaces another: what both have, in force whatever comes of it. By uid. */
  inBoth: ReadonlyMap<string, Entry>;
  /** Why this OpenWRT cannot have one. */
  unsupported: string | undefined;
  refused: Refused | undefined;
  /** By uid. */
  blamed: ReadonlyMap<string, Blamed>;
};

export type KernelTable = {
  now: () => TableState;
  /** What is wanted may have changed. */
  changed: () => void;
  /** Works out what is wanted. */
  want: () => void;
  /** Whether the kernel still has what it had. @throws OpenwrtError */
  look: (device: Policies, signal: AbortSignal) => Promise<void>;
  /** Brings the kernel to what is wanted. @throws OpenwrtError */
  load: (device: Policies, signal: AbortSignal) => Promise<void>;
  /** No device to ask: why it cannot have a table, where that is known. */
  setUnsupported: (why: string | undefined) => void;
  /** Until when the next load waits. */
  loadAt: () => number;
};

/**
 * After a load, so that what many pods change is one, too: fifteen loads a second took an agent
 * 0.29 of a core (1,000 pods, 100 policies).
 */
const PAUSE_MS = 100;
/** Until what nft has refused is tried again, as long as nothing changes. */
const REFUSED_MS = 10_000;
/** The same for one policy: the kernel may have been given what it lacked. */
const BLAMED_MS = 600_000;
/** nft names the first few lines that it refuses; each round blames more. */
const MAX_ROUNDS = 8;

/** What the kernel holds, read back. Unknown: the agent has to look. */
type Held = { table: PolicyTable | undefined; entries: ReadonlyMap<string, Entry> };

/** `hash`: of the table. */
type Refused = { message: string; hash: string | undefined; until: number };

const TABLE_REFUSED = 'nft refuses the table of policies, which stays as it was';

const NOTHING: Held = { table: undefined, entries: new Map() };

export const createKernelTable = (deps: KernelTableDeps): KernelTable => {
  const { source, onDrift, onLoaded, denials, clock, log } = deps;
  let wanted = NOTHING_WANTED;
  let held: Held | undefined;
  let inBoth: ReadonlyMap<string, Entry> = new Map();
  let unsupported: string | undefined;
  let refused: Refused | undefined;
  /** What the kernel has taken. By uid. */
  let good: ReadonlyMap<string, Entry> = new Map();
  const blamed = createBlamed(clock, log);
  /** When what is wanted began to differ from what the kernel has. */
  let changedAt: number | undefined;
  let loadAt = 0;

  const want = (): void => {
    const enforcements = source.enforcements();
    blamed.forgetAllBut(enforcements);
    wanted = wantedTable(enforcements, source.groups(), wanted, {
      good,
      isRefused: blamed.isRefused,
    });
  };

  const look = async (device: Policies, signal: AbortSignal): Promise<void> => {
    const found = await device.marker(signal);
    unsupported = 'unsupported' in found ? found.unsupported : undefined;
    if (!('marker' in found)) return;
    // That of an agent before this one: that nothing is there is known, what is there is not.
    if (held === undefined && found.marker === '') held = NOTHING;
    if (held === undefined || found.marker === (held.table?.hash ?? '')) return;
    log.warn('drift: another user or program has changed the table of policies, loading it again');
    held = undefined;
    onDrift();
  };

  /** What is wanted is there, or it is known that nft refuses it. */
  const isSettled = ({ table, entries }: Wanted): boolean => {
    if (held && isSameTable(held.table, table)) {
      changedAt = undefined;
      held = { table, entries };
      refused = undefined;
      return true;
    }
    return refused?.hash === table?.hash && clock.monotonic() < (refused?.until ?? -Infinity);
  };

  /** nft's words, if it refuses what is wanted. */
  const loadOnce = async (device: Policies, signal: AbortSignal): Promise<string | undefined> => {
    const { table, entries } = wanted;
    const known = held;
    // As long as the outcome is not known.
    held = undefined;
    inBoth = commonOf(known, wanted);
    const result = await loadedBy(device, { after: table, before: known?.table }, signal).finally(
      () => (inBoth = new Map()),
    );
    unsupported = result.outcome === 'unsupported' ? result.message : undefined;
    if (result.outcome === 'refused') {
      held = known;
      return result.message;
    }
    refused = undefined;
    if (result.outcome === 'unsupported') return undefined;
    if (table?.chains !== known?.table?.chains) denials.begin(entries.values());
    held = { table, entries };
    loadAt = clock.monotonic() + PAUSE_MS;
    good = entries;
    if (changedAt !== undefined) onLoaded((clock.monotonic() - changedAt) / 1_000);
    changedAt = undefined;
    log.info({ policies: entries.size, hash: table?.hash }, 'table of policies loaded');
    return undefined;
  };

  /** The others are loaded without those that nft refuses, which stay as they last were taken. */
  const load = async (device: Policies, signal: AbortSignal): Promise<void> => {
    for (let round = 0; round < MAX_ROUNDS && !isSettled(wanted); round += 1) {
      const message = await loadOnce(device, signal);
      if (message === undefined) return;
      const culprits = await culpritsIn(device, message, { wanted, good, signal });
      blamed.add(culprits);
      if (culprits.size === 0) {
        if (refused?.message !== message) log.warn({ refused: message }, TABLE_REFUSED);
        refused = { message, hash: wanted.table?.hash, until: clock.monotonic() + REFUSED_MS };
        return;
      }
      want();
    }
  };

  return {
    now: () => ({ wanted, held, inBoth, unsupported, refused, blamed: blamed.all }),
    changed: () => {
      changedAt ??= clock.monotonic();
    },
    want,
    look,
    load,
    setUnsupported: (why) => {
      unsupported = why;
    },
    loadAt: () => loadAt,
  };
};

/** A policy that nft refuses, as it was when it did. */
type Blamed = { message: string; revision: string; until: number };

type BlamedPolicies = {
  /** By uid. */
  all: TableState['blamed'];
  isRefused: (entry: Entry) => boolean;
  add: (culprits: ReadonlyMap<Entry, string>) => void;
  forgetAllBut: (enforcements: readonly PolicyEnforcement[]) => void;
};

const createBlamed = (clock: Pick<Clock, 'monotonic'>, log: Logger): BlamedPolicies => {
  const all = new Map<string, Blamed>();
  return {
    all,
    isRefused: ({ revision, uid }) => {
      const known = all.get(uid);
      return known?.revision === revision && clock.monotonic() < known.until;
    },
    add: (culprits) => {
      for (const [{ revision, title, uid }, message] of culprits) {
        log.warn(
          { policy: title, refused: message },
          'nft refuses a policy, which stays as it was',
        );
        all.set(uid, { message, revision, until: clock.monotonic() + BLAMED_MS });
      }
    },
    forgetAllBut: (enforcements) => {
      const there = new Set(enforcements.map(({ metadata }) => metadata.uid));
      for (const uid of all.keys()) if (!there.has(uid)) all.delete(uid);
    },
  };
};

/** Those that are new to the kernel are asked about alone, where there are some. */
const culpritsIn = async (
  device: Policies,
  message: string,
  { wanted, good, signal }: { wanted: Wanted; good: Taken['good']; signal: AbortSignal },
): Promise<ReadonlyMap<Entry, string>> => {
  const { table, groups } = wanted;
  const entries = [...wanted.entries.values()];
  const traced = table ? tracedBy(message, table, entries) : [];
  if (traced.length > 0) return new Map(traced.map((entry) => [entry, message]));
  const refusal = async (some: readonly Entry[]): Promise<string | undefined> => {
    const trial = policyTable(some, (id) => groups.get(id) ?? []);
    const result = await device.tryOut(trial, signal);
    return result.outcome === 'refused' ? result.message : undefined;
  };
  // What takes no table at all has nothing against one policy.
  if ((await refusal([])) !== undefined) return new Map();
  const news = entries.filter(({ revision, uid }) => good.get(uid)?.revision !== revision);
  return halved(news.length > 0 ? news : entries, refusal);
};

const commonOf = (held: Held | undefined, wanted: Wanted): ReadonlyMap<string, Entry> =>
  new Map(
    [...(held?.entries ?? [])].filter(
      ([uid, { revision }]) => wanted.entries.get(uid)?.revision === revision,
    ),
  );

const isSameTable = (one: PolicyTable | undefined, other: PolicyTable | undefined): boolean =>
  one?.hash === other?.hash;

/** Whole, where what was to be changed is not there any more. */
const loadedBy = async (
  device: Policies,
  { after, before }: { after: PolicyTable | undefined; before: PolicyTable | undefined },
  signal: AbortSignal,
): Promise<PoliciesLoaded> => {
  const result = await device.load(after, before, signal);
  return result.outcome === 'refused' && before ? device.load(after, undefined, signal) : result;
};
