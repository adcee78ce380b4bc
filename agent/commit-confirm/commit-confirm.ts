/**
 * Commit-confirm: a change after which the agent does not reach the API server any more is undone,
 * and the rule that did it is found, left out and reported. In an outage of the API server nothing
 * is undone. Passes write what they are about to change here first, and see the rules through
 * `view`: while a search is under way as they were when it began, some of them as they were before
 * their change.
 *
 * Invariant: from before a change is written until it is confirmed or undone, the file holds the
 * way back.
 */
import type { LastGood } from '#shared/compile/types.ts';
import { revisionOf } from '#shared/compile/revision.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { createBackoff } from '#shared/runtime/backoff.ts';
import type { UciDelta, UciPackage } from '#shared/uci/model.ts';
import type { Driver } from '../openwrt/driver.ts';
import type { Change, Watched } from './changes.ts';
import { createLooks, FIRST_GAP_MS, namesOf, type LooksDeps } from './looks.ts';
import { deltasBack, withBefore, type SectionsBefore } from './way-back.ts';
import type { Blamed, RecordFile } from './record.ts';
import { searchIn } from './search.ts';
import { LOST_ELSEWHERE } from '#shared/protocol/status.ts';
import { statusBlames, type StatusEntry } from './status-entry.ts';
import type { Target } from './reachability.ts';
import { viewOf, type View } from './view.ts';

export type CommitConfirmDeps = LooksDeps & {
  file: RecordFile;
  purpose: string;
  driver: Pick<Driver, 'read' | 'apply'>;
  /** A pass is to bring OpenWRT to what `view` says now. */
  onChange: () => void;
};

/** What a pass is about to write. */
export type Writing = {
  changes: readonly Change[];
  deltas: readonly UciDelta[];
  packages: ReadonlyMap<string, UciPackage>;
};

export type CommitConfirm = {
  view: (rules: readonly RuleObject[], lastGood: LastGood) => View;
  /** What a pass would be given, where none is made. */
  peek: (rules: readonly RuleObject[], lastGood: LastGood) => View;
  /** Resolves when the way back is on disk. @throws StateFileError */
  begin: (writing: Writing, signal: AbortSignal) => Promise<void>;
  /** The change is on OpenWRT, or may be. */
  written: () => void;
  /** A pass with this view came to its end. */
  passed: (view: View) => void;
  /**
   * At an agent's start, before anything is known of the rules: undoes what an earlier agent of
   * this pod has changed and not confirmed, when the API server is not reached. @throws
   * OpenwrtError
   */
  rescue: (signal: AbortSignal) => Promise<void>;
  /** Watches over what was changed, until the signal aborts. */
  run: (signal: AbortSignal) => Promise<void>;
};

/** Between looks at the targets, long after a change. */
const LAST_GAP_MS = 10_000;
/** Until changes that are not to blame are made again. */
const AGAIN = { baseMs: 20_000, maxMs: 300_000 };

// oxlint-disable-next-line max-lines-per-function -- all of it reads and writes one set of changes
export const createCommitConfirm = (deps: CommitConfirmDeps): CommitConfirm => {
  const { file, targets, deadlineMs, driver, clock, log } = deps;
  const { found } = file;
  const changes = new Map(
    found.changes.map((one): [string, Watched] => [one.uid, unconfirmed(one)]),
  );
  let before: SectionsBefore = found.before;
  const blamed = new Map(found.blamed.map((one) => [one.uid, one]));
  /** Targets that answered before the changes that are watched. */
  let watched: readonly Target[] = [];
  const pass = { isWriting: false };
  /** Left by an agent before this one, and not looked at since. */
  let isOrphaned = changes.size > 0;
  let lostBefore: readonly Target[] = [];
  /** The rules of the last view outside of a search; within one those that it is about. */
  let rules: readonly RuleObject[] | undefined;
  let undone: ReadonlySet<string> | undefined;
  let version = 0;
  let brought: { version: number; resolve: () => void } | undefined;
  let bell = Promise.withResolvers<void>();
  const again = createBackoff(AGAIN);
  const looks = createLooks(deps);

  const wake = (): void => {
    bell.resolve();
    bell = Promise.withResolvers<void>();
  };
  const woken = (signal: AbortSignal): Promise<void> => orAborted(bell.promise, signal);
  const save = (): Promise<void> =>
    file.write({
      changes: [...changes.values()].map(({ confirmedAt: _at, ...change }) => change),
      before,
      blamed: [...blamed.values()],
    });
  /** Its own failure to write does no harm: what is on disk is the way back from more than that. */
  const saveOrSay = (): Promise<void> =>
    save().catch((error: unknown) =>
      log.warn({ err: error }, 'failed to record what is confirmed'),
    );

  const forget = (all: readonly RuleObject[]): void => {
    const there = new Map(all.map((rule) => [rule.metadata.uid, rule]));
    for (const [uid, one] of blamed) {
      const rule = there.get(uid);
      const isSame =
        rule !== undefined &&
        revisionOf(rule) === one.revision &&
        (rule.metadata.deletionTimestamp !== undefined) === one.isRemoval;
      if (!isSame) blamed.delete(uid);
    }
  };

  const watchFrom = (now: number): void => {
    for (const [uid, change] of changes)
      if (change.confirmedAt === undefined)
        changes.set(uid, { ...change, confirmedAt: now + deadlineMs });
    wake();
  };

  /** Those that have been in force for as long as they must, with a look since. */
  const confirm = async (lookedAt: number): Promise<void> => {
    const { size } = changes;
    for (const [uid, { confirmedAt = Infinity }] of changes)
      if (confirmedAt <= lookedAt) changes.delete(uid);
    if (changes.size === size) return;
    if (changes.size === 0) {
      before = {};
      again.reset();
    }
    await saveOrSay();
  };

  /** Has a pass bring OpenWRT to it. */
  const bring = async (uids: readonly string[], signal: AbortSignal): Promise<void> => {
    undone = new Set(uids);
    version += 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    brought = { version, resolve };
    deps.onChange();
    await orAborted(promise, signal);
  };

  const blame = (change: Change, lost: readonly Target[]): void => {
    const { uid, revision, isRemoval, rule } = change;
    const message = wordsFor(change, lost);
    changes.delete(uid);
    blamed.set(uid, { uid, revision, isRemoval, message });
    log.error({ rule, targets: namesOf(lost) }, 'a rule cuts the agent off: it is left out');
  };

  const searchAndGoOn = async (lost: readonly Target[], signal: AbortSignal): Promise<void> => {
    const outcome = await searchIn(
      [...changes.values()],
      lost,
      { ...deps, looks, bring, again },
      signal,
    );
    const guilty = typeof outcome === 'object' ? changes.get(outcome.guilty) : undefined;
    if (guilty !== undefined) blame(guilty, lost);
    // In an outage nothing answers: what has answered before the changes is looked at when it is
    // over.
    if (outcome !== 'outage') watched = await targets.answering(signal);
    const confirmedAt = clock.monotonic() + deadlineMs;
    for (const [uid, change] of changes) changes.set(uid, { ...change, confirmedAt });
    await saveOrSay();
    undone = undefined;
    version += 1;
    deps.onChange();
  };

  const watch = async (signal: AbortSignal): Promise<void> => {
    let gap = FIRST_GAP_MS;
    let told = false;
    while (changes.size > 0) {
      const changed = bell.promise;
      const lookedAt = clock.monotonic();
      const lost = await looks.lostHere(watched, signal);
      while (pass.isWriting) await woken(signal);
      const decisive = lost.filter((one) => deps.decisive.includes(one));
      if (decisive.length > 0) return searchAndGoOn(decisive, signal);
      if (lost.length > 0 && !told)
        log.warn({ targets: namesOf(lost) }, 'not reached since the last changes; they stay');
      told ||= lost.length > 0;
      await confirm(lookedAt);
      if (changes.size === 0) return;
      const isSooner = await isFirst(changed, clock.sleep(gap, signal));
      // So that a stream of changes does not become one of connections.
      if (isSooner) await clock.sleep(FIRST_GAP_MS, signal);
      gap = isSooner ? FIRST_GAP_MS : Math.min(2 * gap, LAST_GAP_MS);
    }
  };

  const viewOn = (seen: readonly RuleObject[], lastGood: LastGood): View =>
    viewOf({
      rules: seen,
      version,
      undone: [...(undone ?? [])].flatMap((uid) => changes.get(uid) ?? []),
      blamed: [...blamed.values(), ...blamedByStatus(seen, lastGood, blamed, deps.purpose)],
    });

  return {
    view: (given, lastGood) => {
      if (undone === undefined) {
        rules = given;
        forget(given);
      }
      rules ??= given;
      return viewOn(rules, lastGood);
    },

    peek: (given, lastGood) => viewOn(undone === undefined ? given : (rules ?? given), lastGood),

    begin: async ({ changes: wanted, deltas, packages }, signal) => {
      pass.isWriting = true;
      if (undone !== undefined || wanted.length === 0) return;
      const answering = await targets.answering(signal);
      watched = [...new Set([...(changes.size > 0 ? watched : []), ...answering])];
      if (!watched.some((one) => deps.decisive.includes(one))) {
        log.warn(
          { targets: namesOf(deps.decisive), changes: wanted.length },
          'does not answer before a change: the change is made, and stays even if it cuts the agent off',
        );
        return;
      }
      for (const change of wanted) {
        const earlier = changes.get(change.uid);
        changes.set(change.uid, {
          ...change,
          before: earlier === undefined ? change.before : earlier.before,
          confirmedAt: undefined,
        });
      }
      before = withBefore(before, deltas, packages);
      await save();
    },

    written: () => {
      pass.isWriting = false;
      if (!isOrphaned && undone === undefined) watchFrom(clock.monotonic());
      else wake();
    },

    passed: (view) => {
      if (brought !== undefined && view.version === brought.version) brought.resolve();
    },

    rescue: async (signal) => {
      if (!isOrphaned) return;
      const { lost, isOutage } = await looks.once(deps.decisive, signal);
      if (lost.length > 0 && !isOutage) {
        log.error(
          { targets: namesOf(lost) },
          'not reached since changes of the agent before: undoing',
        );
        const read = await driver.read(signal);
        const deltas = deltasBack(before, read.packages, read.capabilities);
        if (deltas.length > 0) await driver.apply(deltas, signal);
        lostBefore = lost;
      }
      isOrphaned = false;
      watched = deps.decisive;
      watchFrom(clock.monotonic());
    },

    run: async (signal) => {
      const untilAborted = async (): Promise<void> => {
        for (;;) {
          if (isOrphaned || changes.size === 0 || pass.isWriting) await woken(signal);
          else if (lostBefore.length > 0) {
            const lost = lostBefore;
            lostBefore = [];
            await searchAndGoOn(lost, signal);
          } else await watch(signal);
        }
      };
      await untilAborted().catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    },
  };
};

const asGiven = (rules: readonly RuleObject[]): View =>
  viewOf({ rules, version: 0, undone: [], blamed: [] });

/** For a CNF where it is switched off: what is changed stays. */
export const withoutCommitConfirm: CommitConfirm = {
  view: asGiven,
  peek: asGiven,
  begin: async () => {},
  written: () => {},
  passed: () => {},
  rescue: async () => {},
  run: async () => {},
};

const unconfirmed = (change: Change): Watched => ({ ...change, confirmedAt: undefined });

const wordsFor = ({ isRemoval }: Change, lost: readonly Target[]): string =>
  `the agent loses ${namesOf(lost).join(' and ')} ${isRemoval ? 'without' : 'with'} the rule: new connections failed when it alone was ${
    isRemoval ? 'removed' : 'applied'
  }, and worked again when that was undone; it is not tried again until it changes`;

/** In another pod of this CNF, of rules that are not in force in this one. */
const blamedByStatus = (
  rules: readonly RuleObject[],
  lastGood: LastGood,
  known: ReadonlyMap<string, Blamed>,
  purpose: string,
): readonly Blamed[] =>
  rules.flatMap((rule): Blamed[] => {
    const { uid, deletionTimestamp } = rule.metadata;
    const entry: StatusEntry | undefined = statusBlames(rule);
    const revision = revisionOf(rule);
    const isMeant = entry?.purpose === purpose && entry.revision === revision;
    const isInForce = lastGood.get(uid)?.revision === revision;
    if (!isMeant || isInForce || known.has(uid) || deletionTimestamp !== undefined) return [];
    const message = `${LOST_ELSEWHERE}${entry.message}`;
    return [{ uid, revision, isRemoval: false, message }];
  });

const orAborted = (work: Promise<void>, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    void work.finally(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
  });

const isFirst = async (one: Promise<void>, other: Promise<void>): Promise<boolean> =>
  Promise.race([one.then(() => true), other.then(() => false)]);
