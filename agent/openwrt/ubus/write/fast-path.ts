/**
 * The fast path, for a login with file rights: all changes staged at once in a file, one apply with
 * rollback armed, confirmed after the services took them. Whatever goes wrong before that is undone
 * here, by the next login, or by rpcd's own timer, whichever comes first; a change that another
 * writer has made meanwhile stays but for the timer.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { applyDelta } from '#shared/uci/delta.ts';
import { formatPackage } from '#shared/uci/format.ts';
import { atOnce } from '#shared/util/at-once.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { UciDelta, UciPackage } from '#shared/uci/model.ts';
import { OpenwrtBlockedError, OpenwrtError } from '../../driver.ts';
import { unreadable } from './cut-short.ts';
import { assertRestored, inverseOf } from './inverse.ts';
import { md5sOf, readPackages, type PackageState } from '../read/packages.ts';
import { reloadService } from '../../services/services.ts';
import type { UbusSession } from '../login/session.ts';
import {
  applyStaged,
  importPackage,
  SEED_SECTION,
  stageDelta,
  stageNames,
  unstage,
} from './staging.ts';
import { assertUnchanged } from './transaction.ts';
import {
  expectationOf,
  howToSettle,
  NOTHING_UNCONFIRMED,
  type Unconfirmed,
} from './unconfirmed.ts';
import type { Transaction, WritePath } from './write-path.ts';

/** For what has no reload behind it: rpcd undoes it after this time without a confirmation. */
const ROLLBACK_SECONDS = 30;
/** A delta of 10,000 rules blocks rpcd for 3.6 to 7.2 s (measured). */
const APPLY_TIMEOUT_MS = 20_000;
const APPLY_LIMITS = { rollbackSeconds: ROLLBACK_SECONDS, callMs: APPLY_TIMEOUT_MS };
/**
 * From here on `uci import` is the faster way: 3,000 sections take 0.3 to 0.5 s as a delta, 0.035 s
 * imported (measured).
 */
const IMPORT_FROM_SECTIONS = 3_000;
const IMPORT_ATTEMPTS = 3;

/**
 * Ends the session's pending apply, if there is one, and forgets what is staged: a rollback stages
 * it again (measured). False when another session's pending apply forbids it.
 */
const endApply = async (
  method: 'confirm' | 'rollback',
  session: UbusSession,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<boolean> => {
  await session.attempt([{ object: 'uci', method }], { signal });
  return unstage(session, packages, signal);
};

const confirm = async ({
  session,
  signal,
}: Pick<Transaction, 'session' | 'signal'>): Promise<void> => {
  await session.call({ object: 'uci', method: 'confirm' }, z.unknown(), { signal });
};

export type FastPathDeps = { unconfirmed: Unconfirmed; log: Logger };

export const createFastPath = (deps: FastPathDeps): WritePath => {
  const { unconfirmed } = deps;
  const settle = settleWith(deps);
  const writeInverse = async (transaction: Transaction): Promise<void> => {
    const { session, deltas, signal } = transaction;
    const packages = deltas.map((delta) => delta.package);
    const written = await readPackages(session, packages, signal);
    const inverse = deltas.map((delta) =>
      inverseOf(transaction, delta, written.get(delta.package)),
    );
    await unconfirmed.write(expectationOf(inverse.flatMap(appliedTo(written)), new Map()));
    for (const delta of inverse) await stageDelta(session, delta, signal);
    await applyStaged(session, APPLY_LIMITS, signal);
    const restored = await readPackages(session, packages, signal);
    for (const delta of deltas) assertRestored(transaction, delta, restored.get(delta.package));
    await confirm(transaction);
  };

  return {
    name: 'fast',
    inPassing: [SEED_SECTION],
    begin: async (...all) => {
      // The apply of another session may be pending. Then the next one finds out.
      await settle(...all);
    },
    settle,
    versions: md5sOf,
    read: readPackages,
    versionOf: (content) => createHash('md5').update(formatPackage(content)).digest('hex'),
    refuses: () => undefined,
    write: async (transaction, changes, foreseen) => {
      const { session, wanted, limits, signal } = transaction;
      const large = changes.filter((delta) => sizeOf(delta) > IMPORT_FROM_SECTIONS);
      const stage = async (): Promise<void> => {
        for (const delta of changes)
          await stageDelta(session, large.includes(delta) ? firstStep(delta) : delta, signal);
      };
      // In the time that OpenWRT takes.
      const note = (): Promise<void> => {
        const contents = changes.flatMap((delta) => wanted.get(delta.package) ?? []);
        return unconfirmed.write(expectationOf(contents, foreseen()));
      };
      await atOnce([stage, note], 2, (work) => work());
      const { rollbackSeconds } = limits;
      await applyStaged(session, { ...APPLY_LIMITS, rollbackSeconds }, signal);
      for (const delta of large) await importRest(transaction, delta);
    },
    renamer: {
      write: async (renaming) => {
        const { session, renames, bases, signal } = renaming;
        await unconfirmed.write(NOTHING_UNCONFIRMED);
        for (const name of bases.keys()) {
          const here = renames.filter((rename) => rename.package === name);
          await stageNames(session, name, here, signal);
        }
        await assertUnchanged(AS_READ, renaming);
        await applyStaged(session, APPLY_LIMITS, signal);
      },
      keep: confirm,
      undo: async ({ session, bases, signal }) => {
        await endApply('rollback', session, [...bases.keys()], signal);
      },
    },
    keep: confirm,
    undo: async (transaction, left) => {
      const { session, deltas, signal } = transaction;
      if (transaction.isKept) return writeInverse(transaction);
      const packages = deltas.map((delta) => delta.package);
      const now = await md5sOf(session, packages, signal);
      if (packages.some((name) => now.get(name) !== left.get(name))) {
        // A roll-back, rpcd's own too, would undo what another writer wrote.
        await confirm(transaction);
        return writeInverse(transaction);
      }
      await endApply('rollback', session, packages, signal);
      await assertUnchanged(AS_READ, transaction);
    },
    reload: reloadService,
  };
};

const AS_READ: Pick<WritePath, 'versions'> = { versions: md5sOf };

/**
 * The pending apply of this login, or of the agent before it, is undone; where others have changed
 * a package since, it is kept.
 */
const settleWith =
  ({ unconfirmed, log }: FastPathDeps): NonNullable<WritePath['settle']> =>
  async (session, packages, signal) => {
    // It is refused while an apply is pending.
    if (await unstage(session, packages, signal)) return true;
    const expected = unconfirmed.value();
    const names = Object.keys(expected.packages);
    const states = names.length > 0 ? await readPackages(session, names, signal) : new Map();
    const isKept = howToSettle(expected, states) === 'keep';
    const isSettled = await endApply(isKept ? 'confirm' : 'rollback', session, packages, signal);
    if (isKept && isSettled)
      log.warn(
        { packages: names },
        'a change was left unconfirmed, and another user or program may have changed a package since: the change is kept, and compared anew',
      );
    return isSettled;
  };

const appliedTo =
  (states: ReadonlyMap<string, PackageState>) =>
  (delta: UciDelta): UciPackage[] => {
    const state = states.get(delta.package);
    return state?.state === 'read' ? [applyDelta(state.content, delta)] : [];
  };

const sizeOf = ({ remove, set, append }: UciDelta): number =>
  remove.length + set.length + append.length;

/** The smallest real part of a delta: it arms rpcd's rollback, under which the rest is imported. */
const firstStep = ({ remove, set, append, ...delta }: UciDelta): UciDelta => {
  if (remove.length > 0) return { ...delta, remove: remove.slice(0, 1), set: [], append: [] };
  if (set.length > 0) return { ...delta, remove, set: set.slice(0, 1), append: [] };
  return { ...delta, remove, set, append: append.slice(0, 1) };
};

/** Made of what is there right now: an import would undo what others changed since then. */
const importRest = async ({ session, signal }: Transaction, delta: UciDelta): Promise<void> => {
  const again = { ...delta, remove: [...delta.remove, ...delta.append.map(({ name }) => name)] };
  for (let attempt = 1; attempt <= IMPORT_ATTEMPTS; attempt += 1) {
    const state = (await readPackages(session, [delta.package], signal)).get(delta.package);
    if (state?.state !== 'read') throw unreadable(delta.package, state);
    const wanted = { version: state.version, content: applyDelta(state.content, again) };
    const outcome = await importPackage(session, wanted, signal);
    if (outcome === 'done') return;
    if (outcome === 'refused')
      throw new OpenwrtError(
        `import ${delta.package}`,
        `the login on OpenWRT may not import it, as a change of over ${IMPORT_FROM_SECTIONS} sections needs`,
      );
  }
  throw new OpenwrtBlockedError(
    `import ${delta.package}`,
    'another user or program keeps changing it',
  );
};
