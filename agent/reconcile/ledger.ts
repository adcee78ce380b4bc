/**
 * What this pod's agents, the one before a crash included, have put on its OpenWRT: a record on
 * disk, and how it changes around a write.
 *
 * Invariants, wherever the agent dies:
 * - A name that we may have written is in `owned`: `begun` puts it there before OpenWRT is written
 *   to, and only `settled` takes it out, when its section was read back as gone.
 * - A package is in `unsettled` from before it is written until that was read back and its service
 *   has it.
 * - Comments that a write may lose are at stake before it, and lost or safe once its end was seen.
 * - A ledger that was lost says so for the life of the pod, and has all packages unsettled when
 *   OpenWRT is read for the first time after that.
 * - A section of ICN's bears a name of ours only while `takenOver` says so: `begun` before it is
 *   named, `ours` once it was read back.
 *
 * So each write is: `write(begun(…))`, the write to OpenWRT, reading back, `write(settled(…))`.
 */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { Logger } from '#shared/runtime/log.ts';
import { openStateFile } from '../io/state-file.ts';

/** What became of the comments in the files of packages, around each write. */
const commentsSchema = z.object({
  /** Packages with comments that are being written. */
  atStake: z.array(z.string()).readonly(),
  /** Packages whose comments a write of ours has lost, for the life of the pod. */
  lost: z.array(z.string()).readonly(),
});
export type Comments = z.infer<typeof commentsSchema>;

const takenOverSchema = z.object({
  /** The rule's uid; '' when that is not known. */
  uid: z.string(),
  /**
   * `begun`: it is to be given our name, or has it. `ours`: it was read back under our name, and
   * keeps its place. `removed`: it is gone with its rule, which is being deleted; what bears its
   * name later is not ours.
   */
  stage: z.enum(['begun', 'ours', 'removed']),
});
export type TakenOver = Readonly<z.infer<typeof takenOverSchema>>;

const ledgerSchema = z.object({
  version: z.literal(1),
  /** `package.section` -> kind of the rule that it is for. */
  owned: z.record(z.string(), z.string()),
  /** `package.section` -> what became of what ICN's controller made. */
  takenOver: z.record(z.string(), takenOverSchema),
  /** Packages whose service may not have the latest contents: a write whose end was not seen. */
  unsettled: z.array(z.string()),
  /** Tunnels of IPsec that may be up, and that no section stands for any more: `endingBy`. */
  ending: z.array(z.string()).default([]),
  /** Package -> section -> what OpenWRT said of it at the last reload. */
  warnings: z.record(z.string(), z.record(z.string(), z.string())),
  comments: commentsSchema,
  /** What a coordinator knows of the lost ones. */
  commentsTold: z.array(z.string()),
  /**
   * `found`: what an earlier ledger of this pod said cannot be read any more. `met`: so it was, and
   * OpenWRT was read since.
   */
  lost: z.enum(['no', 'found', 'met']),
});
type Contents = z.infer<typeof ledgerSchema>;

export type LedgerRecord = {
  /** `package.section` -> kind of the rule that it is for. */
  owned: ReadonlyMap<string, string>;
  /** `package.section` of what ICN's controller made. */
  takenOver: ReadonlyMap<string, TakenOver>;
  unsettled: ReadonlySet<string>;
  ending: readonly string[];
  warnings: ReadonlyMap<string, ReadonlyMap<string, string>>;
  comments: Comments;
  lost: Contents['lost'];
};

export type Ledger = {
  record: () => LedgerRecord;
  /** Resolves when it is on disk; writes only when something differs. */
  write: (record: LedgerRecord) => Promise<void>;
  /** Packages of whose lost comments no coordinator knows yet. */
  untold: () => readonly string[];
  /** A coordinator knows of them, for the life of the pod. */
  told: (packages: readonly string[]) => Promise<void>;
};

/** What is about to be written. */
export type Intent = {
  /** `package.section` -> kind, of all that may be written. */
  names: ReadonlyMap<string, string>;
  packages: readonly string[];
  ending: readonly string[];
  comments: Comments;
};

export const begun = (
  record: LedgerRecord,
  { names, packages, ending, comments }: Intent,
): LedgerRecord => ({
  ...record,
  ending: [...new Set([...record.ending, ...ending])],
  owned: new Map([...record.owned, ...names]),
  unsettled: new Set([...record.unsettled, ...packages]),
  comments,
});

/** What was read back. */
export type Settlement = {
  /** All that is ours now. */
  owned: ReadonlyMap<string, string>;
  takenOver: ReadonlyMap<string, TakenOver>;
  /** Packages whose service knows the latest contents. */
  packages: readonly string[];
  /** Per package that was reloaded: section -> OpenWRT's words. */
  warnings: ReadonlyMap<string, ReadonlyMap<string, string>>;
  comments: Comments;
};

export const settled = (
  record: LedgerRecord,
  { packages, warnings, ...now }: Settlement,
): LedgerRecord => ({
  ...record,
  ...now,
  unsettled: new Set([...record.unsettled].filter((name) => !packages.includes(name))),
  warnings: new Map([...record.warnings, ...warnings]),
});

const EMPTY: Contents = {
  version: 1,
  owned: {},
  takenOver: {},
  unsettled: [],
  ending: [],
  warnings: {},
  comments: { atStake: [], lost: [] },
  commentsTold: [],
  lost: 'no',
};

/**
 * What a first write begins with where `package.section`s of ours may be there that are not in it:
 * the services may lag behind as well.
 */
export const afterLoss = (record: LedgerRecord, packages: Iterable<string>): LedgerRecord =>
  record.lost === 'found'
    ? { ...record, lost: 'met', unsettled: new Set([...record.unsettled, ...packages]) }
    : record;

/**
 * `hasPast`: an earlier agent of this pod has had rules in force, so there was a ledger.
 * @throws when the file exists and cannot be read
 */
export const openLedger = async (
  path: string,
  log: Logger,
  { hasPast = false }: { hasPast?: boolean } = {},
): Promise<Ledger> => {
  const initial = { ...EMPTY, lost: hasPast ? ('found' as const) : EMPTY.lost };
  const file = await openStateFile({ path, schema: ledgerSchema, initial, log });
  const found = recordOf(file.value());
  let current: LedgerRecord = file.isLost ? { ...found, lost: 'found' } : found;
  let { commentsTold } = file.value();
  let saving = Promise.resolve();
  const replace = async (recordNow: () => LedgerRecord): Promise<void> => {
    const record = recordNow();
    await file.write({ ...contentsOf(record), commentsTold });
    current = record;
  };
  /** One after the other: passes write the record, reports what is told. */
  const save = (recordNow: () => LedgerRecord): Promise<void> => {
    saving = saving.catch(() => undefined).then(() => replace(recordNow));
    return saving;
  };
  return {
    record: () => current,
    write: async (record) => {
      if (!isDeepStrictEqual(record, current)) await save(() => record);
    },
    untold: () => current.comments.lost.filter((name) => !commentsTold.includes(name)),
    told: (packages) => {
      commentsTold = [...new Set([...commentsTold, ...packages])];
      return save(() => current);
    },
  };
};

const recordOf = (contents: Contents): LedgerRecord => ({
  owned: new Map(Object.entries(contents.owned)),
  takenOver: new Map(Object.entries(contents.takenOver)),
  unsettled: new Set(contents.unsettled),
  ending: contents.ending,
  warnings: new Map(
    Object.entries(contents.warnings).map(([name, words]) => [
      name,
      new Map(Object.entries(words)),
    ]),
  ),
  comments: contents.comments,
  lost: contents.lost,
});

const contentsOf = (record: LedgerRecord): Omit<Contents, 'commentsTold'> => ({
  version: 1,
  owned: Object.fromEntries(record.owned),
  takenOver: Object.fromEntries(record.takenOver),
  unsettled: [...record.unsettled],
  ending: [...record.ending],
  warnings: Object.fromEntries(
    [...record.warnings].map(([name, words]) => [name, Object.fromEntries(words)]),
  ),
  comments: record.comments,
  lost: record.lost,
});
