/**
 * One change of an OpenWRT: written, read back, reloaded, kept; or undone. How each step is done,
 * and what a crash between two of them leaves behind, is the write path's. One per call of
 * `Driver.apply`; the driver serialises them.
 */
import { isEmptyDelta, sectionsEqual } from '#shared/uci/delta.ts';
import { formatDeltaFile } from '#shared/uci/format.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { UciDelta, UciPackage, UciSection } from '#shared/uci/model.ts';
import {
  OpenwrtBlockedError,
  OpenwrtError,
  OpenwrtPackageRefusedError,
  OpenwrtReloadTimeoutError,
  type ApplyResult,
} from '../../driver.ts';
import type { ReloadVerdict } from '../../services/fw4-reload.ts';
import { whyNotReload } from '../../services/services.ts';
import { foreseen } from '../read/foreseen.ts';
import { namesIn, othersEqual, sectionsDiffering } from './comparison.ts';
import { cutShort, isCutShort, unreadable, UnusableError } from './cut-short.ts';
import type { NotDone } from './not-done.ts';
import type { ReloadTimes } from './reload-times.ts';
import type { Base } from '../read/packages.ts';
import type { Planned, Transaction, WritePath } from './write-path.ts';

type Rejected = Extract<ApplyResult, { outcome: 'rejected' }>;
export type TransactionResult =
  | {
      outcome: 'done';
      states: ReadonlyMap<string, Base>;
      warnings: ReadonlyMap<string, ReadonlyMap<string, string>>;
    }
  | Rejected;

/** @throws OpenwrtError when the outcome is unknown, OpenwrtBlockedError when it is as before */
export const runTransaction = async (
  path: WritePath,
  transaction: Planned,
  { clock, times, notDone }: Timing,
): Promise<TransactionResult> => {
  const { deltas } = transaction;
  await assertUnchanged(path, transaction);
  const unwritable = findUnwritable(deltas) ?? findTooMuch(path, transaction);
  if (unwritable !== undefined) return unwritable;
  const changes = deltas.filter((delta) => !isEmptyDelta(delta));
  const begin = clock.monotonic();
  prepareFor(transaction, changes);
  let states: ReadonlyMap<string, Base> | undefined;
  const foreseenStates = (): ReadonlyMap<string, Base> =>
    (states ??= foreseenIn(path, transaction, changes));
  if (changes.length > 0) await path.write(transaction, changes, foreseenStates);
  const written = await readChanged(path, transaction, foreseenStates()).catch(
    async (error: unknown) => {
      if (error instanceof UnusableError && changes.length > 0) await withdraw(path, transaction);
      throw error;
    },
  );
  if (isNotDone(transaction, changes, written)) {
    await path.undo(transaction, versionsOf(written));
    const ignored = notDone.isLasting(changes)
      ? ignoredIn(transaction, changes, written)
      : undefined;
    if (ignored !== undefined) return ignored;
    const names = changes.map((delta) => delta.package).join(', ');
    throw new OpenwrtBlockedError(
      `change ${names}`,
      'OpenWRT says that it has done it, and has done nothing',
    );
  }
  notDone.over();
  const lost = await findLost(path, transaction, written);
  if (lost !== undefined) return undo(path, transaction, lost, written);
  const keep = async (): Promise<void> => {
    if (changes.length > 0) await path.keep(transaction);
  };
  const reloading = reload(path, transaction, written, { clock, times });
  const leftMs = transaction.limits.keepAfterMs - (clock.monotonic() - begin);
  const isLate = await isStillRunning(reloading, leftMs, clock);
  // A reload that is under way must not find its files gone.
  if (isLate) await keep();
  const reloaded = await reloading.catch(async (error: unknown) => {
    if (error instanceof OpenwrtReloadTimeoutError && !isLate) await keep();
    throw error;
  });
  if ('outcome' in reloaded)
    return undo(path, isLate ? { ...transaction, isKept: true } : transaction, reloaded, written);
  if (!isLate) await keep();
  return { outcome: 'done', states: written, warnings: reloaded };
};

export type Timing = {
  clock: Pick<Clock, 'monotonic' | 'after'>;
  times: ReloadTimes;
  notDone: NotDone;
};

/** After so many milliseconds, or when the work has come to its end, whichever is first. */
const isStillRunning = async (
  work: Promise<unknown>,
  ms: number,
  clock: Pick<Clock, 'after'>,
): Promise<boolean> => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const cancel = clock.after(ms, () => resolve(true));
  const end = (): void => resolve(false);
  work.then(end, end);
  return promise.finally(cancel);
};

/** The deltas were made for the packages as read; a writer since then makes them meaningless. */
export const assertUnchanged = async (
  path: Pick<WritePath, 'versions'>,
  { session, bases, signal }: Pick<Transaction, 'session' | 'bases' | 'signal'>,
): Promise<void> => {
  const names = [...bases.keys()];
  const versions = await path.versions(session, names, signal);
  const changed = names.filter((name) => bases.get(name)?.version !== versions.get(name));
  if (changed.length > 0) {
    throw new OpenwrtBlockedError(
      `change ${changed.join(', ')}`,
      'another user or program has changed it since it was read',
    );
  }
};

/** Schemas should refuse what UCI cannot hold; where one does not, only its rule is refused. */
const findUnwritable = (deltas: readonly UciDelta[]): Rejected | undefined => {
  for (const delta of deltas) {
    try {
      formatDeltaFile(delta);
    } catch (error) {
      const sections = [...delta.set.map(({ after }) => after), ...delta.append].filter(
        (section) => !isWritable(delta.package, section),
      );
      return rejected(
        delta.package,
        messageOf(error),
        sections.map(({ name }) => name),
      );
    }
  }
  return undefined;
};

const isWritable = (name: string, section: UciSection): boolean => {
  try {
    formatDeltaFile({ package: name, remove: [], set: [], append: [section] });
    return true;
  } catch {
    return false;
  }
};

const findTooMuch = (path: WritePath, { deltas, bases }: Transaction): Rejected | undefined => {
  for (const delta of deltas) {
    const content = bases.get(delta.package)?.content;
    const refused = content && path.refuses(delta, content);
    if (refused !== undefined) return rejected(delta.package, refused.why, refused.sections);
  }
  return undefined;
};

/** What of the services' share can be done while the packages are written. */
const prepareFor = (
  { session, bases, wanted, amender, signal }: Planned,
  changes: readonly UciDelta[],
): void => {
  for (const { package: name } of changes) {
    const before = bases.get(name);
    const after = wanted.get(name);
    if (before && after) amender?.prepare({ session, before, after, signal });
  }
};

type Written = Pick<Transaction, 'session' | 'bases' | 'signal'>;

export const readBack = async (
  path: Pick<WritePath, 'read'>,
  { session, bases, signal }: Written,
): Promise<ReadonlyMap<string, Base>> => {
  const names = [...bases.keys()];
  const states = names.length === 0 ? new Map() : await path.read(session, names, signal);
  return new Map(
    names.map((name) => {
      const state = states.get(name);
      if (state?.state !== 'read') throw unreadable(name, state);
      return [name, state];
    }),
  );
};

/** What packages will be that OpenWRT writes just as they are wanted. */
const foreseenIn = (
  path: Pick<WritePath, 'versionOf'>,
  { bases, wanted }: Planned,
  changes: readonly UciDelta[],
): ReadonlyMap<string, Base> =>
  new Map(
    changes.flatMap(({ package: name }): [string, Base][] => {
      const content = bases.has(name) ? wanted.get(name) : undefined;
      const state = content && foreseen(path, content, bases.get(name)?.content);
      return state === undefined ? [] : [[name, state]];
    }),
  );

/** The same after changes. A package that is as foreseen, by its version, is not transferred. */
const readChanged = async (
  path: Pick<WritePath, 'read' | 'versions'>,
  transaction: Written,
  foreseenStates: ReadonlyMap<string, Base>,
): Promise<ReadonlyMap<string, Base>> => {
  const { session, bases, signal } = transaction;
  const names = [...foreseenStates.keys()];
  const versions = names.length > 0 ? await path.versions(session, names, signal) : new Map();
  const asForeseen = new Map(
    [...foreseenStates].filter(([name, { version }]) => versions.get(name) === version),
  );
  const rest = [...bases].filter(([name]) => !asForeseen.has(name));
  const read = await readBack(path, { ...transaction, bases: new Map(rest) });
  return new Map(
    [...bases.keys()].flatMap((name): [string, Base][] => {
      const state = asForeseen.get(name) ?? read.get(name);
      return state === undefined ? [] : [[name, state]];
    }),
  );
};

/**
 * A rule that is refused does the rest, or says so. What would be blamed here has nothing to do
 * with what OpenWRT lacks, which may be over at the next try.
 */
const isNotDone = (
  transaction: Planned,
  changes: readonly UciDelta[],
  written: ReadonlyMap<string, Base>,
): boolean => {
  const { bases, wanted } = transaction;
  const isAsBefore = ({ package: name }: UciDelta): boolean =>
    written.get(name)?.version === bases.get(name)?.version;
  // An undo may find that nothing is left to change.
  const isToChange = (delta: UciDelta): boolean => {
    const before = baseOf(transaction, delta).sections;
    const after = wanted.get(delta.package)?.sections ?? before;
    return (
      before.length !== after.length ||
      !before.every((section, at) => sectionsEqual(section, after[at] ?? section))
    );
  };
  return changes.every(isAsBefore) && changes.some(isToChange);
};

/** What is to be removed is no rule's fault. */
const ignoredIn = (
  { wanted }: Planned,
  changes: readonly UciDelta[],
  written: ReadonlyMap<string, Base>,
): Rejected | undefined => {
  for (const delta of changes) {
    const { package: name, set, append } = delta;
    const asked = new Set([...set.map(({ after }) => after), ...append].map((each) => each.name));
    const [observed, expected] = [written.get(name)?.content, wanted.get(name)];
    const differing = observed && expected ? sectionsDiffering(observed, expected, delta) : [];
    const ignored = differing.filter((section) => asked.has(section));
    if (ignored.length > 0) return rejected(name, IGNORED, ignored);
  }
  return undefined;
};

const IGNORED = 'OpenWRT says that it has stored the section, and has left it out, time and again';

const versionsOf = (states: ReadonlyMap<string, Base>): ReadonlyMap<string, string> =>
  new Map([...states].map(([name, { version }]) => [name, version]));

/**
 * Every section as wanted and in order: libuci skips what it cannot hold without a word, and drops
 * one of two commits that are made at once (measured). @throws OpenwrtBlockedError when it was that
 */
const findLost = async (
  path: WritePath,
  transaction: Planned,
  written: ReadonlyMap<string, Base>,
): Promise<Rejected | undefined> => {
  for (const delta of transaction.deltas) {
    const { package: name } = delta;
    const observed = written.get(name)?.content ?? { name, sections: [] };
    const base = baseOf(transaction, delta);
    const expected = transaction.wanted.get(name) ?? base;
    const othersAreThere = othersEqual(path, observed, expected, delta);
    if (!isEmptyDelta(delta) && isCutShort({ observed, expected, base, othersAreThere })) {
      await path.undo(transaction, versionsOf(written));
      throw cutShort(name);
    }
    const problem = whyNotReload(observed, expected.sections.some(isZone));
    if (problem !== undefined) throw new OpenwrtError(`reload ${name}`, problem);
    const lost = sectionsDiffering(observed, expected, delta);
    if (lost.length === 0) continue;
    if (othersAreThere) {
      const message = 'OpenWRT did not store the section as it was sent';
      return { ...rejected(name, message, lost), perhapsOthers: true };
    }
    // Undone, theirs would be lost.
    await path.keep(transaction);
    throw new OpenwrtBlockedError(
      `change ${name}`,
      'another user or program changed it at the same moment',
    );
  }
  return undefined;
};

const baseOf = ({ bases }: Transaction, { package: name }: UciDelta): UciPackage =>
  bases.get(name)?.content ?? { name, sections: [] };

const isZone = ({ type }: UciSection): boolean => type === 'zone';

/** With firewall4 such a file drops all packets at the next reload, from any source. */
const withdraw = async (path: WritePath, transaction: Transaction): Promise<void> => {
  const { session, bases, signal } = transaction;
  await path.undo(transaction, await path.versions(session, [...bases.keys()], signal));
};

const reload = async (
  path: WritePath,
  transaction: Transaction,
  written: ReadonlyMap<string, Base>,
  timing: Pick<Timing, 'clock' | 'times'>,
): Promise<ReadonlyMap<string, ReadonlyMap<string, string>> | Rejected> => {
  const { deltas } = transaction;
  const warnings = new Map<string, ReadonlyMap<string, string>>();
  for (const [name, after] of written) {
    const verdict = await putIntoForce(path, transaction, after, timing);
    if (verdict.refusal !== undefined) {
      return rejected(name, verdict.refusal.message, verdict.refusal.sections);
    }
    const wider = widerIn(deltas, name, verdict);
    if (wider !== undefined) return wider;
    warnings.set(name, verdict.warnings);
  }
  return warnings;
};

const putIntoForce = async (
  path: WritePath,
  { session, bases, limits, amender, signal }: Transaction,
  after: Base,
  { clock, times }: Pick<Timing, 'clock' | 'times'>,
): Promise<ReloadVerdict> => {
  const { content } = after;
  const before = bases.get(content.name) ?? after;
  const amended = await amender?.amend({ session, before, after, signal });
  if (amended !== undefined) return amended;
  const begin = clock.monotonic();
  const verdict = await path
    .reload(session, content, signal, limits.waitMs)
    .finally(() => times.add(content, clock.monotonic() - begin));
  amender?.reloaded({ before, after }, verdict);
  return verdict;
};

/** What we have just put into force for more packets than it is for must not stay. */
const widerIn = (
  deltas: readonly UciDelta[],
  name: string,
  { wider, warnings }: ReloadVerdict,
): Rejected | undefined => {
  const delta = deltas.find((each) => each.package === name);
  const sections = [...wider].filter((section) => delta && namesIn(delta).has(section));
  const [first] = sections;
  if (first === undefined) return undefined;
  const message = `not in force, since it would apply to more packets than it says: ${warnings.get(first)}`;
  return { ...rejected(name, message, sections), lasting: true };
};

const rejected = (name: string, message: string, sections: readonly string[]): Rejected => ({
  outcome: 'rejected',
  package: name,
  message,
  sections,
});

/**
 * Back to what was, in the files and in the services. When OpenWRT refuses that too, no rule of
 * this change is to blame.
 * @throws OpenwrtError when it cannot be restored
 */
const undo = async (
  path: WritePath,
  transaction: Planned,
  verdict: Rejected,
  written: ReadonlyMap<string, Base>,
): Promise<Rejected> => {
  const { session, deltas, bases, signal } = transaction;
  const ours = new Set(
    deltas
      .flatMap(({ set, append }) => [...set.map(({ after }) => after), ...append])
      .map(({ name }) => name),
  );
  const result = { ...verdict, sections: verdict.sections.filter((name) => ours.has(name)) };
  if (deltas.every(isEmptyDelta)) return result;
  const asWeLeftIt = deltas.flatMap((delta): [string, string][] => {
    const state = written.get(delta.package);
    const expected = transaction.wanted.get(delta.package);
    return state && expected && othersEqual(path, state.content, expected, delta)
      ? [[delta.package, state.version]]
      : [];
  });
  await path.undo(transaction, new Map(asWeLeftIt));
  for (const delta of deltas) {
    const base = bases.get(delta.package);
    if (base === undefined) continue;
    const { refusal } = await path.reload(session, base.content, signal, transaction.limits.waitMs);
    if (refusal !== undefined) {
      throw new OpenwrtPackageRefusedError(delta.package, refusal.message);
    }
  }
  return result;
};
