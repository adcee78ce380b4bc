/**
 * The staged path, for a login that may use `uci` and little else, such as root of a stock LuCI
 * image: calls that stage some sections, an apply that commits them for good, and so on. Not all or
 * nothing: a crash leaves a beginning of the change, which the next pass completes. Every state in
 * between holds all sections that are to stay (staged-steps.ts).
 *
 * The login may be an administrator's, too. rpcd gives who logs in while an apply waits for its
 * confirmation the session that applied, so nothing is done in a session that began then.
 */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { Clock } from '#shared/runtime/clock.ts';
import { applyDelta, sectionsEqual } from '#shared/uci/delta.ts';
import { formatPackage } from '#shared/uci/format.ts';
import type { UciDelta, UciPackage } from '#shared/uci/model.ts';
import { OpenwrtBlockedError, OpenwrtError } from '../../driver.ts';
import { assertRestored, inverseOf } from './inverse.ts';
import type { LoginRights } from '../login/rights.ts';
import { MAX_BODY_BYTES, UBUS_STATUS, UbusError, type UbusCall } from '../client/rpc.ts';
import { SILENT } from '../../services/fw4-reload.ts';
import { reloadService } from '../../services/services.ts';
import type { UbusSession } from '../login/session.ts';
import { addition, partsOf, removal, restoration, stepOf, stepsOf } from './staged-steps.ts';
import { nameless, namesIn, othersIn } from './comparison.ts';
import { cutShort, isPartCutShort, unreadable } from './cut-short.ts';
import { assertUnchanged } from './transaction.ts';
import { createUciReader, MAX_PACKAGE_BYTES, type UciReader } from '../read/uci-get.ts';
import { applyStaged, NO_SPACE } from './staging.ts';
import type { PackageState } from '../read/packages.ts';
import type { Renamer, Transaction, WritePath } from './write-path.ts';

/** For what a step takes on a slow device: 25 `uci add` of a large package. */
const STEP_TIMEOUT_MS = 20_000;
/** Around each call of a request: session id, object, method. */
const ENVELOPE_BYTES = 200;

type StagedRights = Pick<LoginRights, 'reloadable' | 'mayListFiles' | 'mayRename'>;

/** rpcd undoes names by itself after this time without a confirmation: the login may not. */
const NAMES_ROLLBACK_SECONDS = 10;

export const createStagedPath = (
  { reloadable, mayListFiles, mayRename }: StagedRights,
  clock: Pick<Clock, 'now'>,
): WritePath => {
  const reader = createUciReader({ mayListFiles, now: clock.now });
  return {
    name: 'staged',
    inPassing: [],
    begin: (session, _packages, signal) => assertNothingPending(session, signal),
    versions: reader.versions,
    read: reader.read,
    refuses: refusal,
    renamer: mayRename ? renamerWith(reader) : undefined,
    write: async (transaction, changes) => {
      await assertNothingPending(transaction.session, transaction.signal);
      const begun: UciDelta[] = [];
      for (const delta of changes) {
        begun.push(delta);
        const end = await writeSteps(reader, transaction, delta);
        if (end === 'written') continue;
        await bringBack(reader, { ...transaction, deltas: begun }, new Set([delta.package]));
        throw cutShort(delta.package);
      }
      await assertNothingStaged(transaction);
    },
    // Each step is for good.
    keep: async () => {},
    undo: (transaction, left) => bringBack(reader, transaction, new Set(left.keys())),
    // Where the login may not, procd does it: each apply tells it what was changed.
    reload: async (session, content, signal, waitMs) =>
      reloadable.has(content.name) ? reloadService(session, content, signal, waitMs) : SILENT,
  };
};

/**
 * An apply with rollback is refused while another waits for its confirmation; a plain one would be
 * answered with success, do nothing, and spoil the other's way back (measured). With nothing staged
 * it does nothing else.
 * @throws OpenwrtBlockedError
 */
const assertNothingPending = async (session: UbusSession, signal: AbortSignal): Promise<void> => {
  const call = { object: 'uci', method: 'apply', args: { rollback: true, timeout: 1 } };
  const [answer] = await session.attempt([call], { signal });
  if (answer?.code === UBUS_STATUS.noData) return;
  if (answer?.code === UBUS_STATUS.permissionDenied) {
    throw new OpenwrtBlockedError('uci apply', 'the apply of another session is pending');
  }
  throw new UbusError(call, answer?.code ?? UBUS_STATUS.noData, 'changes were staged still');
};

/** What is staged would be read back as if it had been applied. @throws OpenwrtError */
const assertNothingStaged = ({ session, signal }: Transaction): Promise<void> =>
  assertNothingPending(session, signal);

/**
 * `cut`: OpenWRT has put a beginning of the file in its place after a step, so that the next one
 * would be made on that.
 */
const writeSteps = async (
  reader: UciReader,
  transaction: Transaction,
  delta: UciDelta,
): Promise<'written' | 'cut'> => {
  const { session, bases, signal } = transaction;
  const { package: name } = delta;
  const base = bases.get(name)?.content ?? { name, sections: [] };
  let expected = base;
  const parts = partsOf(delta);
  for (const [at, part] of parts.entries()) {
    await writeAtOnce(transaction, stepOf(part));
    expected = applyDelta(expected, part);
    // The last one is read back with the whole change.
    if (at === parts.length - 1) continue;
    const state = (await reader.read(session, [name], signal)).get(name);
    const observed = state?.state === 'read' ? state.content : undefined;
    if (observed === undefined) throw unreadable(name, state);
    if (isPartCutShort(delta, { observed, expected, base })) return 'cut';
  }
  return 'written';
};

const writeAtOnce = async (
  { session, signal }: Pick<Transaction, 'session' | 'signal'>,
  calls: readonly UbusCall[],
): Promise<void> => {
  const apply = { object: 'uci', method: 'apply', args: { rollback: false } };
  await stage({ session, signal }, calls);
  const [answer] = await session.attempt([apply], { signal, timeoutMs: STEP_TIMEOUT_MS });
  if (answer?.code === UBUS_STATUS.noData) {
    // rpcd says success to each call whose change it could not keep (measured).
    throw new OpenwrtBlockedError('uci apply', `OpenWRT has kept none of the changes: ${NO_SPACE}`);
  }
  assertDone(apply, answer?.code);
};

/**
 * `whole`: packages in which no other writer has changed anything, so that what they lack of others
 * they lack by our write.
 */
const bringBack = async (
  reader: UciReader,
  transaction: Transaction,
  whole: ReadonlySet<string>,
): Promise<void> => {
  const { session, deltas, signal } = transaction;
  const names = deltas.map((delta) => delta.package);
  const read = () => reader.read(session, names, signal);
  const isShort = (delta: UciDelta, now: PackageState | undefined): boolean =>
    whole.has(delta.package) && lacksOthers(transaction, delta, now);
  const written = await read();
  for (const delta of deltas) {
    const now = written.get(delta.package);
    // Beside a file of full length there may be no room for a second one, so all of it comes in
    // one.
    if (isShort(delta, now)) await writeAtOnce(transaction, backToBase(transaction, delta, now));
    else
      for (const step of stepsOf(inverseOf(transaction, delta, now)))
        await writeAtOnce(transaction, step);
  }
  await assertNothingStaged(transaction);
  const restored = await read();
  for (const delta of deltas) {
    const now = restored.get(delta.package);
    if (isShort(delta, now))
      throw new OpenwrtError(
        `undo ${delta.package}`,
        'sections of others are lost: there may be no space left in /etc/config of OpenWRT',
      );
    assertRestored(transaction, delta, now);
  }
};

const lacksOthers = (
  { bases }: Transaction,
  delta: UciDelta,
  now: PackageState | undefined,
): boolean => {
  const names = namesIn(delta);
  const base = bases.get(delta.package)?.content;
  if (now?.state !== 'read' || base === undefined) return false;
  const found = othersIn(now.content, names);
  return othersIn(base, names).some((section, at) => {
    const there = found[at];
    return there === undefined || !sectionsEqual(section, there);
  });
};

/**
 * What follows the part that is as before goes, from the end, since ids of anonymous sections
 * count; then all that was there comes.
 */
const backToBase = (
  { bases }: Transaction,
  { package: name }: UciDelta,
  now: PackageState | undefined,
): UbusCall[] => {
  const base = bases.get(name)?.content;
  if (now?.state !== 'read' || base === undefined) throw unreadable(name, now);
  const found = now.content.sections;
  const differing = found.findIndex((section, at) => {
    const there = base.sections[at];
    return there === undefined || !sectionsEqual(nameless(section), nameless(there));
  });
  const kept = differing < 0 ? found.length : differing;
  return [
    ...found
      .slice(kept)
      .toReversed()
      .map((section) => removal(name, section.name)),
    ...base.sections.slice(kept).map((section) => restoration(name, section)),
  ];
};

const stage = async (
  { session, signal }: Pick<Transaction, 'session' | 'signal'>,
  calls: readonly UbusCall[],
): Promise<void> => {
  for (const request of requestsOf(calls)) {
    const answers = await session.attempt(request, { signal, timeoutMs: STEP_TIMEOUT_MS });
    for (const [at, call] of request.entries()) assertDone(call, answers[at]?.code);
  }
};

/**
 * Without md5 a change shows by the size and time of the files, taken before they were compared;
 * without a right to roll back, the timer does.
 */
const renamerWith = (reader: UciReader): Renamer => ({
  write: async (renaming) => {
    const { session, renames, bases, signal } = renaming;
    await assertNothingPending(session, signal);
    const packages = [...bases.keys()];
    const before = await reader.looks(session, packages, signal);
    await assertUnchanged(reader, renaming);
    await stage(
      renaming,
      renames.map(({ package: config, section, name }) => ({
        object: 'uci',
        method: 'rename',
        args: { config, section: section.name, name },
      })),
    );
    if (!isDeepStrictEqual(await reader.looks(session, packages, signal), before)) {
      throw new OpenwrtBlockedError(
        'name sections',
        'another user or program changed them meanwhile',
      );
    }
    const timeouts = { rollbackSeconds: NAMES_ROLLBACK_SECONDS, callMs: STEP_TIMEOUT_MS };
    await applyStaged(session, timeouts, signal);
  },
  keep: async ({ session, signal }) => {
    await session.call({ object: 'uci', method: 'confirm' }, z.unknown(), { signal });
  },
  // What the session has staged comes back with the roll-back: the driver leaves it.
  undo: async () => {},
});

const assertDone = (call: UbusCall, code: number = UBUS_STATUS.noData): void => {
  if (code !== 0) throw new UbusError(call, code);
};

const bytesOf = (call: UbusCall): number =>
  Buffer.byteLength(JSON.stringify(call.args)) + ENVELOPE_BYTES;

/** The calls in as few requests as their size allows. */
const requestsOf = (calls: readonly UbusCall[]): UbusCall[][] => {
  const requests: UbusCall[][] = [];
  let room = 0;
  for (const call of calls) {
    room -= bytesOf(call);
    if (room < 0) {
      requests.push([]);
      room = MAX_BODY_BYTES - bytesOf(call);
    }
    requests.at(-1)?.push(call);
  }
  return requests;
};

const refusal = (
  delta: UciDelta,
  base: UciPackage,
): { why: string; sections: string[] } | undefined => {
  const written = [...delta.set.map(({ after }) => after), ...delta.append];
  const large = written.filter(
    (section) => bytesOf(addition(delta.package, section)) > MAX_BODY_BYTES,
  );
  if (large.length > 0) {
    const why = `a section takes more than the ${MAX_BODY_BYTES} bytes of one request`;
    return { why, sections: large.map(({ name }) => name) };
  }
  const sections: string[] = [];
  let size = Buffer.byteLength(formatPackage(applyDelta(base, { ...delta, append: [] })));
  for (const section of delta.append) {
    size += Buffer.byteLength(formatPackage({ name: base.name, sections: [section] }));
    if (size > MAX_PACKAGE_BYTES) sections.push(section.name);
  }
  if (sections.length === 0) return undefined;
  const why = `the package would have more than the ${MAX_PACKAGE_BYTES} bytes that a login without file rights can read`;
  return { why, sections };
};
