/**
 * Keeps the table of policies in the kernel as the coordinator asks for it: writes what has changed, looks every few seconds whether it is
 * still there, and reports of each PolicyEnforcement what was read back. A loop of its own: a change takes no reload and waits for none.
 */
import { revisionOf } from '#shared/compile/revision.ts';
import { policyTable, type PolicyTable } from '#shared/policy/table.ts';
import { sentenceOf, type Reason } from '#shared/protocol/reasons.ts';
import { MAX_MESSAGE_LENGTH, type RuleReport, type RuleState } from '#shared/protocol/report.ts';
import type { PolicyEnforcement } from '#shared/resources/policy-enforcement.ts';
import { jittered } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { createTrigger } from '#shared/runtime/trigger.ts';
import {
  OpenwrtError,
  OpenwrtUnreachableError,
  type Policies,
  type PoliciesLoaded,
} from '../openwrt/driver.ts';
import type { Reading } from '../report/freshness.ts';
import { halved, tracedBy } from './blame.ts';
import type { Denials } from './denials.ts';
import type { PolicySource } from './source.ts';
import { NOTHING_WANTED, wantedTable, type Entry, type Wanted } from './wanted.ts';

export type PolicyKeeperDeps = {
  source: Pick<PolicySource, 'enforcements' | 'groups' | 'isKnown'>;
  /** Undefined: the API of this OpenWRT has nothing of the kind, or it is not known which one it has. */
  policies: () => Policies | undefined;
  /** Whether OpenWRT was reached: before that nobody can say what it supports. */
  isReached: () => boolean;
  paused: () => boolean;
  /** What is reported may have changed. */
  onChange: () => void;
  /** The table was gone, or another one was there, and it has been loaded again. */
  onDrift: () => void;
  /** What changed so long ago has been read back from the kernel. */
  onLoaded: (seconds: number) => void;
  denials: Pick<Denials, 'add' | 'begin'>;
  clock: Clock;
  log: Logger;
};

export type PolicyLoop = {
  mark: () => void;
  /** OpenWRT was reached: what waits for that goes on at once. */
  onReached: () => void;
  /** `reading`: whether what was read of OpenWRT may be reported; else `problem` says why not. */
  reports: (now: { reading: Reading; problem: string }) => RuleReport[];
  run: (signal: AbortSignal) => Promise<void>;
};

/** What comes together is one transaction of nft. */
const COALESCE_MS = 10;
/** After a load, so that what many pods change is one, too: fifteen loads a second took an agent 0.29 of a core (1,000 pods, 100 policies). */
const PAUSE_MS = 100;
const LOOK_MS = 3_000;
const JITTER = 0.1;
/** What is denied is for people and their graphs: to read it takes nft as long as to list the whole table. */
const COUNT_MS = 30_000;
/** Between tries while the agent has not reached OpenWRT, or has no session: somebody else is about to log in. */
const NO_SESSION_MS = 250;
/** Until what nft has refused is tried again, as long as nothing changes. */
const REFUSED_MS = 10_000;
/** The same for one policy: the kernel may have been given what it lacked. */
const BLAMED_MS = 600_000;
/** nft names the first few lines that it refuses; each round blames more. */
const MAX_ROUNDS = 8;
const BACKOFF = { baseMs: 250, maxMs: 10_000 };

/** What the kernel holds, read back. Unknown: somebody has to look. */
type Held = { table: PolicyTable | undefined; entries: ReadonlyMap<string, Entry> };

/** `hash`: of the table. */
type Refused = { message: string; hash: string | undefined; until: number };

/** A policy that nft refuses, as it was when it did. */
type Blamed = { message: string; revision: string; until: number };

const NOTHING: Held = { table: undefined, entries: new Map() };

export const createPolicyLoop = (deps: PolicyKeeperDeps): PolicyLoop => {
  const { clock, denials, isReached, log, onChange, onDrift, paused, policies, source } = deps;
  let wanted = NOTHING_WANTED;
  let held: Held | undefined;
  /** While a table takes the place of another: what both have, which is in force whatever comes of it. By uid. */
  let inBoth: ReadonlyMap<string, Entry> = new Map();
  let unsupported: string | undefined;
  let refused: Refused | undefined;
  /** By uid. */
  let good: ReadonlyMap<string, Entry> = new Map();
  const blamed = new Map<string, Blamed>();
  let problem = '';
  /** When what is wanted began to differ from what the kernel has. */
  let changedAt: number | undefined;
  let lookAt = 0;
  let countAt = 0;
  let loadAt = 0;
  /** Nothing could be done because OpenWRT was not reached. */
  let isWaiting = false;

  const isBlamed = (uid: string, revision: string): boolean => {
    const known = blamed.get(uid);
    return known?.revision === revision && clock.monotonic() < known.until;
  };
  const wantedNow = (): Wanted =>
    wantedTable(source.enforcements(), source.groups(), wanted, {
      good,
      isRefused: ({ revision, uid }) => isBlamed(uid, revision),
    });

  /** Whether the kernel still has what it had. */
  const look = async (device: Policies, signal: AbortSignal): Promise<void> => {
    const found = await device.marker(signal);
    lookAt = clock.monotonic() + jittered(LOOK_MS, JITTER);
    unsupported = 'unsupported' in found ? found.unsupported : undefined;
    if (!('marker' in found)) return;
    if (held === undefined) {
      // Of an agent before this one: that nothing is there is known, what is there is not.
      if (found.marker === '') held = NOTHING;
    } else if (found.marker !== (held.table?.hash ?? '')) {
      log.warn('drift: somebody else has changed the table of policies, loading it again');
      held = undefined;
      onDrift();
    }
  };

  const noteRefusal = (message: string, hash: string | undefined): void => {
    if (refused?.message !== message)
      log.warn({ refused: message }, 'nft refuses the table of policies, which stays as it was');
    refused = { message, hash, until: clock.monotonic() + REFUSED_MS };
  };

  /** What is wanted is there, or it is known that nft refuses it. */
  const isSettled = ({ table, entries }: Wanted): boolean => {
    if (held && isSameTable(held.table, table)) {
      changedAt = undefined;
      held = { table, entries };
      refused = undefined;
      return true;
    }
    return (
      refused !== undefined && refused.hash === table?.hash && clock.monotonic() < refused.until
    );
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
    if (changedAt !== undefined) deps.onLoaded((clock.monotonic() - changedAt) / 1_000);
    changedAt = undefined;
    log.info({ policies: entries.size, hash: table?.hash }, 'table of policies loaded');
    return undefined;
  };

  /** Those that are new to the kernel are asked about alone, where there are some. */
  const culpritsIn = async (
    device: Policies,
    message: string,
    signal: AbortSignal,
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

  /** The others are loaded without those that nft refuses, which stay as they last were taken. */
  const load = async (device: Policies, signal: AbortSignal): Promise<void> => {
    for (let round = 0; round < MAX_ROUNDS && !isSettled(wanted); round += 1) {
      const message = await loadOnce(device, signal);
      if (message === undefined) return;
      const culprits = await culpritsIn(device, message, signal);
      for (const [{ revision, title, uid }, words] of culprits) {
        log.warn({ policy: title, refused: words }, 'nft refuses a policy, which stays as it was');
        blamed.set(uid, { message: words, revision, until: clock.monotonic() + BLAMED_MS });
      }
      if (culprits.size === 0) {
        noteRefusal(message, wanted.table?.hash);
        return;
      }
      wanted = wantedNow();
    }
  };

  const forgetBlamed = (): void => {
    const there = new Set(source.enforcements().map(({ metadata }) => metadata.uid));
    for (const uid of blamed.keys()) if (!there.has(uid)) blamed.delete(uid);
  };

  const isIdle = (): boolean =>
    wanted.table === undefined &&
    (unsupported !== undefined || (held !== undefined && held.table === undefined));

  const bring = async (signal: AbortSignal): Promise<void> => {
    // A CNF that enforces nothing costs its OpenWRT one look.
    if (isIdle()) return;
    const device = policies();
    if (device === undefined) {
      isWaiting = !isReached();
      lookAt = clock.monotonic() + (isReached() ? LOOK_MS : NO_SESSION_MS);
      unsupported = isReached() ? 'the API of this OpenWRT has no nft' : undefined;
      return;
    }
    if (held === undefined || clock.monotonic() >= lookAt) await look(device, signal);
    if (unsupported === undefined && !paused()) await load(device, signal);
  };

  /** Of the table that this agent has loaded: what one before it has counted was counted then. */
  const count = async (signal: AbortSignal): Promise<void> => {
    const device = policies();
    if (held?.table === undefined || device === undefined || clock.monotonic() < countAt) return;
    countAt = clock.monotonic() + jittered(COUNT_MS, JITTER);
    const counters = await device.denied(signal);
    if (counters) denials.add(counters);
  };

  const trigger = createTrigger({
    delayMs: COALESCE_MS,
    backoff: BACKOFF,
    clock,
    run: async (signal) => {
      if (!source.isKnown()) return LOOK_MS;
      isWaiting = false;
      forgetBlamed();
      wanted = wantedNow();
      try {
        await bring(signal);
        problem = '';
        await count(signal);
        return isIdle() ? undefined : Math.max(COALESCE_MS, lookAt - clock.monotonic());
      } catch (error) {
        if (!(error instanceof OpenwrtError)) throw error;
        problem = messageOf(error);
        isWaiting = error instanceof OpenwrtUnreachableError;
        if (isWaiting) return NO_SESSION_MS;
        throw error;
      } finally {
        onChange();
      }
    },
    onError: (error, retryInMs) =>
      log.warn(
        { err: error, retryInMs: Math.round(retryInMs) },
        'failed to bring the table of policies to the kernel, retrying',
      ),
  });

  const wordsAbout = (object: PolicyEnforcement): string | undefined => {
    const known = blamed.get(object.metadata.uid);
    return known?.revision === revisionOf(object) ? known.message : undefined;
  };

  const pending = (reason: 'Applying' | 'Removing'): Outcome =>
    paused() ? ['Pending', 'Paused', ''] : ['Pending', reason, problem];

  const removalOf = (uid: string): Outcome => {
    const isGone = held !== undefined && !held.entries.has(uid);
    // A table that this OpenWRT cannot have, it does not have.
    if (isGone || unsupported !== undefined) return ['Removed', 'Removed', ''];
    return pending('Removing');
  };

  const outcomeOf = (object: PolicyEnforcement): Outcome => {
    const { deletionTimestamp, uid } = object.metadata;
    if (deletionTimestamp !== undefined) return removalOf(uid);
    if (unsupported !== undefined) return ['Failed', 'UnsupportedByDriver', unsupported];
    const notCarried = object.spec.refused ?? wanted.tooMany.get(uid);
    if (notCarried) return ['Failed', notCarried.reason, notCarried.message];
    const inForce = (held?.entries ?? inBoth).get(uid);
    if (inForce?.revision === revisionOf(object)) return ['Applied', 'Applied', ''];
    const words = wordsAbout(object) ?? refused?.message;
    if (words !== undefined) return ['Failed', 'RefusedByOpenwrt', words];
    return pending('Applying');
  };

  return {
    mark: () => {
      const now = clock.monotonic();
      changedAt ??= now;
      trigger.mark(Math.max(COALESCE_MS, loadAt - now));
    },
    onReached: () => {
      if (isWaiting) trigger.mark(0);
    },
    reports: (now) =>
      source.enforcements().map((object): RuleReport => {
        const [state, reason, message] = unreadOf(now) ?? outcomeOf(object);
        const { name, uid, generation = 0 } = object.metadata;
        const isDone = state === 'Applied' || state === 'Removed';
        const text = isDone ? message : message || sentenceOf(reason);
        return {
          kind: object.kind,
          name,
          uid,
          generation,
          revision: revisionOf(object),
          state,
          reason,
          message: text.slice(0, MAX_MESSAGE_LENGTH),
        };
      }),
    run: async (signal) => {
      trigger.mark(0);
      await trigger.start(signal);
    },
  };
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

type Outcome = [state: RuleState, reason: Reason, message: string];

const unreadOf = (now: { reading: Reading; problem: string }): Outcome | undefined => {
  if (now.reading === 'holds') return undefined;
  const reason = now.reading === 'silent' ? 'OpenwrtUnreachable' : 'OpenwrtUnread';
  return ['Pending', reason, now.problem];
};
