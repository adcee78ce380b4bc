/**
 * One change of an OpenWRT: all or nothing. Staged, applied with rollback armed, read back before any service sees it,
 * reloaded, confirmed. Whatever goes wrong before the confirmation is undone here, by the next login, or by rpcd's own
 * timer, whichever comes first. One per call of `Driver.apply`; the driver serialises them.
 */
import * as z from 'zod';
import { applyDelta, isEmptyDelta, sectionsEqual } from '#shared/uci/delta.ts';
import { formatDeltaFile } from '#shared/uci/format.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { UciDelta, UciPackage, UciSection } from '#shared/uci/model.ts';
import { OpenwrtBlockedError, OpenwrtError, type ApplyResult } from './driver.ts';
import { md5sOf, readPackages, type PackageState } from './packages.ts';
import { reloadService, whyNotReload } from './services.ts';
import type { UbusSession } from './session.ts';
import { applyStaged, importPackage, stageDelta, unstage } from './staging.ts';

/** rpcd undoes the change by itself after this time without a confirmation. */
const ROLLBACK_SECONDS = 30;
/** A delta of 10,000 rules blocks rpcd for 3.6 to 7.2 s (measured). */
const APPLY_TIMEOUT_MS = 20_000;
/** From here on `uci import` is the faster way: 3,000 sections take 0.3 to 0.5 s as a delta, 0.035 s imported (measured). */
const IMPORT_FROM_SECTIONS = 3_000;

/** What a package was when the deltas were made. */
export type Base = { md5: string; content: UciPackage };

export type Transaction = {
  session: UbusSession;
  deltas: readonly UciDelta[];
  bases: ReadonlyMap<string, Base>;
  signal: AbortSignal;
};

type Rejected = Extract<ApplyResult, { outcome: 'rejected' }>;
export type TransactionResult =
  | {
      outcome: 'done';
      states: ReadonlyMap<string, Base>;
      warnings: ReadonlyMap<string, ReadonlyMap<string, string>>;
    }
  | Rejected;

/** @throws OpenwrtError when the outcome is unknown, OpenwrtBlockedError when it is as before */
export const runTransaction = async (transaction: Transaction): Promise<TransactionResult> => {
  const { deltas } = transaction;
  await assertUnchanged(transaction);
  const unwritable = findUnwritable(deltas);
  if (unwritable !== undefined) return unwritable;
  const changes = deltas.filter((delta) => !isEmptyDelta(delta));
  if (changes.length > 0) await write(transaction, changes);
  const written = await readBack(transaction);
  if ('outcome' in written) return undo(transaction, written);
  const reloaded = await reload(transaction, written);
  if ('outcome' in reloaded) return undo(transaction, reloaded);
  // Commit-confirm belongs here: before the change is made permanent, see that the API server is still reached.
  if (changes.length > 0) await confirm(transaction);
  return { outcome: 'done', states: written, warnings: reloaded };
};

/** The deltas were made for the packages as they were read; another writer since then makes them meaningless. */
const assertUnchanged = async ({ session, deltas, bases, signal }: Transaction): Promise<void> => {
  const names = deltas.map((delta) => delta.package);
  const md5s = await md5sOf(session, names, signal);
  const changed = names.filter((name) => bases.get(name)?.md5 !== md5s.get(name));
  if (changed.length > 0) {
    throw new OpenwrtBlockedError(
      `change ${changed.join(', ')}`,
      'somebody else changed it meanwhile',
    );
  }
};

/** Schemas should refuse what UCI cannot hold; where one does not, its rule alone is to blame. */
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

const write = async (transaction: Transaction, changes: readonly UciDelta[]): Promise<void> => {
  const { session, signal } = transaction;
  const large = changes.filter(
    (delta) => sizeOf(delta) > IMPORT_FROM_SECTIONS && !concernsAnonymous(delta, transaction),
  );
  for (const delta of changes) {
    await stageDelta(session, large.includes(delta) ? firstStep(delta) : delta, signal);
  }
  await applyStaged(
    session,
    { rollbackSeconds: ROLLBACK_SECONDS, callMs: APPLY_TIMEOUT_MS },
    signal,
  );
  for (const delta of large) await importRest(transaction, delta);
};

const sizeOf = ({ remove, set, append }: UciDelta): number =>
  remove.length + set.length + append.length;

/** The first step of an import would give anonymous sections other ids. */
const concernsAnonymous = (delta: UciDelta, { bases }: Transaction): boolean =>
  touchedBy(delta, bases.get(delta.package)?.content).some(({ anonymous }) => anonymous);

/** Sections that the delta removes or changes, as they were. */
const touchedBy = (
  { remove, set }: UciDelta,
  before: UciPackage | undefined,
): readonly UciSection[] => {
  const names = new Set([...remove, ...set.map((change) => change.before.name)]);
  return before?.sections.filter(({ name }) => names.has(name)) ?? [];
};

/** The smallest real part of a delta: it arms rpcd's rollback, under which the rest can be imported. */
const firstStep = ({ remove, set, append, ...delta }: UciDelta): UciDelta => {
  if (remove.length > 0) return { ...delta, remove: remove.slice(0, 1), set: [], append: [] };
  if (set.length > 0) return { ...delta, remove, set: set.slice(0, 1), append: [] };
  return { ...delta, remove, set, append: append.slice(0, 1) };
};

/** Made of what is there right now: an import would undo what somebody else changed since the deltas were made. */
const importRest = async ({ session, signal }: Transaction, delta: UciDelta): Promise<void> => {
  const state = (await readPackages(session, [delta.package], signal)).get(delta.package);
  if (state?.state !== 'read') throw unreadable(delta.package, state);
  const again = { ...delta, remove: [...delta.remove, ...delta.append.map(({ name }) => name)] };
  if (await importPackage(session, applyDelta(state.content, again), signal)) return;
  throw new OpenwrtError(
    `import ${delta.package}`,
    `the login on OpenWRT may not import it, as a change of over ${IMPORT_FROM_SECTIONS} sections needs`,
  );
};

/** Every section as wanted and in order, before a service sees it: libuci skips bad lines without a word (measured). */
const readBack = async (
  transaction: Transaction,
): Promise<ReadonlyMap<string, Base> | Rejected> => {
  const { session, deltas, bases, signal } = transaction;
  const names = deltas.map((delta) => delta.package);
  const states = await readPackages(session, names, signal);
  const result = new Map<string, Base>();
  for (const delta of deltas) {
    const state = states.get(delta.package);
    if (state?.state !== 'read') throw unreadable(delta.package, state);
    const before = bases.get(delta.package)?.content ?? { name: delta.package, sections: [] };
    const expected = applyDelta(before, delta);
    const problem = whyNotReload(state.content, expected.sections.some(isZone));
    if (problem !== undefined) throw new OpenwrtError(`reload ${delta.package}`, problem);
    const lost = [
      ...differing(state.content, expected, delta),
      ...differingAnonymous(state.content, expected, { delta, before }),
    ];
    if (lost.length > 0) {
      return rejected(delta.package, 'OpenWRT did not store the section as it was sent', lost);
    }
    result.set(delta.package, state);
  }
  return result;
};

const isZone = ({ type }: UciSection): boolean => type === 'zone';

const unreadable = (name: string, state: PackageState | undefined): OpenwrtError =>
  new OpenwrtError(
    `read ${name} back`,
    state?.state === 'unusable' ? state.why : 'OpenWRT does not have the package any more',
  );

/** Names from the delta whose sections are not as expected. Others' sections may change meanwhile. */
const differing = (observed: UciPackage, expected: UciPackage, delta: UciDelta): string[] => {
  const names = new Set([
    ...delta.remove,
    ...delta.set.map(({ after }) => after.name),
    ...delta.append.map(({ name }) => name),
  ]);
  const isMeant = ({ name, anonymous }: UciSection): boolean => !anonymous && names.has(name);
  const found = observed.sections.filter(isMeant);
  const wanted = expected.sections.filter(isMeant);
  const wrong = wanted.filter((section, place) => {
    const there = found[place];
    return there === undefined || !sectionsEqual(there, section);
  });
  const left = found.slice(wanted.length);
  return [...wrong, ...left].map(({ name }) => name);
};

/** Anonymous sections have other ids after a removal, so they are told by what they hold. */
const differingAnonymous = (
  observed: UciPackage,
  expected: UciPackage,
  { delta, before }: { delta: UciDelta; before: UciPackage },
): string[] => {
  const count = ({ sections }: UciPackage, section: UciSection): number =>
    sections.filter(
      ({ anonymous, type, options }) =>
        anonymous && sectionsEqual({ ...section, type, options }, section),
    ).length;
  const touched = touchedBy(delta, before).filter(({ anonymous }) => anonymous);
  const changed = delta.set.map(({ after }) => after).filter(({ anonymous }) => anonymous);
  return [...touched, ...changed]
    .filter((section) => count(observed, section) !== count(expected, section))
    .map(({ name }) => name);
};

const reload = async (
  { session, signal }: Transaction,
  written: ReadonlyMap<string, Base>,
): Promise<ReadonlyMap<string, ReadonlyMap<string, string>> | Rejected> => {
  const warnings = new Map<string, ReadonlyMap<string, string>>();
  for (const [name, { content }] of written) {
    const verdict = await reloadService(session, content, signal);
    if (verdict.refusal !== undefined) {
      return rejected(name, verdict.refusal.message, verdict.refusal.sections);
    }
    warnings.set(name, verdict.warnings);
  }
  return warnings;
};

const confirm = async ({ session, signal }: Transaction): Promise<void> => {
  const call = { object: 'uci', method: 'confirm' };
  await session.call(call, z.unknown(), { signal });
};

const rejected = (name: string, message: string, sections: readonly string[]): Rejected => ({
  outcome: 'rejected',
  package: name,
  message,
  sections,
});

/**
 * Back to what was, in the files and in the services. When OpenWRT refuses that too, no rule of this change is to blame.
 * @throws OpenwrtError when it cannot be restored
 */
const undo = async (transaction: Transaction, verdict: Rejected): Promise<Rejected> => {
  const { session, deltas, bases, signal } = transaction;
  const ours = new Set(
    deltas
      .flatMap(({ set, append }) => [...set.map(({ after }) => after), ...append])
      .map(({ name }) => name),
  );
  const result = { ...verdict, sections: verdict.sections.filter((name) => ours.has(name)) };
  if (deltas.every(isEmptyDelta)) return result;
  await rollBack(
    session,
    deltas.map((delta) => delta.package),
    signal,
  );
  await assertUnchanged(transaction);
  for (const delta of deltas) {
    const base = bases.get(delta.package);
    if (base === undefined) continue;
    const { refusal } = await reloadService(session, base.content, signal);
    if (refusal !== undefined) {
      throw new OpenwrtBlockedError(
        `reload ${delta.package}`,
        `OpenWRT refuses its configuration also without this change: ${refusal.message}`,
      );
    }
  }
  return result;
};

/**
 * Undoes the session's pending apply, if there is one, and forgets what is staged: a rollback stages it again (measured).
 * False when another session's pending apply forbids it.
 */
export const rollBack = async (
  session: UbusSession,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<boolean> => {
  await session.attempt([{ object: 'uci', method: 'rollback' }], { signal });
  return unstage(session, packages, signal);
};
