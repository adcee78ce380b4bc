/**
 * What this pod's agents, the one before a crash included, have put on its OpenWRT: a record on disk, and how it changes around a write.
 *
 * Invariants, wherever the agent dies:
 * - A name that we may have written is in `owned`: `begun` puts it there before OpenWRT is written to, and only `settled` takes it
 *   out, when its section was read back as gone.
 * - A package is in `unsettled` from before it is written until that was read back and its service has it.
 * - Comments that a write may lose are at stake before it, and lost or safe once its end was seen.
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

const ledgerSchema = z.object({
  version: z.literal(1),
  /** `package.section` -> kind of the rule that it is for. */
  owned: z.record(z.string(), z.string()),
  /** Those of them that ICN's controller made, and that still are as and where it put them, but for their options. */
  adopted: z.array(z.string()).default([]),
  /** Uids of rules being deleted whose adopted sections are gone. */
  released: z.array(z.string()).default([]),
  /** Packages whose service may not know the latest contents: written, and not seen to the end. */
  unsettled: z.array(z.string()),
  /** Package -> section -> what OpenWRT said of it at the last reload. */
  warnings: z.record(z.string(), z.record(z.string(), z.string())),
  comments: commentsSchema.default({ atStake: [], lost: [] }),
});
type Contents = z.infer<typeof ledgerSchema>;

export type LedgerRecord = {
  /** `package.section` -> kind of the rule that it is for. */
  owned: ReadonlyMap<string, string>;
  adopted: ReadonlySet<string>;
  released: ReadonlySet<string>;
  unsettled: ReadonlySet<string>;
  warnings: ReadonlyMap<string, ReadonlyMap<string, string>>;
  comments: Comments;
};

export type Ledger = {
  record: () => LedgerRecord;
  /** Resolves when it is on disk; writes only when something differs. */
  write: (record: LedgerRecord) => Promise<void>;
};

/** What is about to be written. */
export type Intent = {
  /** `package.section` -> kind, of all that may be written. */
  names: ReadonlyMap<string, string>;
  packages: readonly string[];
  comments: Comments;
};

export const begun = (
  record: LedgerRecord,
  { names, packages, comments }: Intent,
): LedgerRecord => ({
  ...record,
  owned: new Map([...record.owned, ...names]),
  unsettled: new Set([...record.unsettled, ...packages]),
  comments,
});

/** What was read back. */
export type Settlement = {
  /** All that is ours now. */
  owned: ReadonlyMap<string, string>;
  /** All of it that is adopted. */
  adopted: ReadonlySet<string>;
  released: ReadonlySet<string>;
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
  ...now,
  unsettled: new Set([...record.unsettled].filter((name) => !packages.includes(name))),
  warnings: new Map([...record.warnings, ...warnings]),
});

const EMPTY: Contents = {
  version: 1,
  owned: {},
  adopted: [],
  released: [],
  unsettled: [],
  warnings: {},
  comments: { atStake: [], lost: [] },
};

/** @throws when the file exists and cannot be read */
export const openLedger = async (path: string, log: Logger): Promise<Ledger> => {
  const file = await openStateFile({ path, schema: ledgerSchema, initial: EMPTY, log });
  let current = recordOf(file.value());
  return {
    record: () => current,
    write: async (record) => {
      if (isDeepStrictEqual(record, current)) return;
      await file.write(contentsOf(record));
      current = record;
    },
  };
};

const recordOf = ({ version: _version, ...contents }: Contents): LedgerRecord => ({
  owned: new Map(Object.entries(contents.owned)),
  adopted: new Set(contents.adopted),
  released: new Set(contents.released),
  unsettled: new Set(contents.unsettled),
  warnings: new Map(
    Object.entries(contents.warnings).map(([name, told]) => [name, new Map(Object.entries(told))]),
  ),
  comments: contents.comments,
});

const contentsOf = (record: LedgerRecord): Contents => ({
  version: 1,
  owned: Object.fromEntries(record.owned),
  adopted: [...record.adopted],
  released: [...record.released],
  unsettled: [...record.unsettled],
  warnings: Object.fromEntries(
    [...record.warnings].map(([name, told]) => [name, Object.fromEntries(told)]),
  ),
  comments: record.comments,
});
