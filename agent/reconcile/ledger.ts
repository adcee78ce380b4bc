/**
 * What this pod's agents, the one before a crash included, have put on its OpenWRT. Written before OpenWRT is, so a name
 * that we may have written is always here; a name leaves when its section was read back as gone.
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

export type Ledger = {
  owned: () => ReadonlyMap<string, string>;
  adopted: () => ReadonlySet<string>;
  released: () => ReadonlySet<string>;
  unsettled: () => ReadonlySet<string>;
  /** What OpenWRT said of a section at the last reload, if anything. */
  warningOf: (uciPackage: string, section: string) => string | undefined;
  comments: () => Comments;
  /** Records what was found; writes only when something differs. */
  adopt: (adoption: {
    /** `package.section` -> kind, all that is adopted. */
    adopted: ReadonlyMap<string, string>;
    released: ReadonlySet<string>;
    comments: Comments;
  }) => Promise<void>;
  /** To be awaited before OpenWRT is written to. `names`: `package.section` -> kind, of all that may be written. */
  begin: (
    names: ReadonlyMap<string, string>,
    packages: readonly string[],
    comments?: Comments,
  ) => Promise<void>;
  /** After reading back. */
  settle: (settlement: Settlement) => Promise<void>;
};

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
  let owned = new Map(Object.entries(file.value().owned));
  let adopted = new Set(file.value().adopted);
  let released = new Set(file.value().released);
  let unsettled = new Set(file.value().unsettled);

  const save = async (next: Contents): Promise<void> => {
    await file.write(next);
    owned = new Map(Object.entries(next.owned));
    adopted = new Set(next.adopted);
    released = new Set(next.released);
    unsettled = new Set(next.unsettled);
  };

  return {
    owned: () => owned,
    adopted: () => adopted,
    released: () => released,
    unsettled: () => unsettled,
    warningOf: (uciPackage, section) => file.value().warnings[uciPackage]?.[section],
    comments: () => file.value().comments,
    adopt: async (now) => {
      const isKnown =
        isSame(new Set(now.adopted.keys()), adopted) &&
        isSame(now.released, released) &&
        isDeepStrictEqual(now.comments, file.value().comments);
      if (isKnown) return;
      await save({
        ...file.value(),
        owned: { ...file.value().owned, ...Object.fromEntries(now.adopted) },
        adopted: [...now.adopted.keys()],
        released: [...now.released],
        comments: now.comments,
      });
    },
    begin: (names, packages, comments = file.value().comments) =>
      save({
        ...file.value(),
        comments,
        owned: { ...file.value().owned, ...Object.fromEntries(names) },
        unsettled: [...new Set([...unsettled, ...packages])],
      }),
    settle: async ({ packages, warnings, ...now }) => {
      const before = file.value();
      const told = [...warnings].map(([name, words]) => [name, Object.fromEntries(words)] as const);
      await save({
        ...before,
        owned: Object.fromEntries(now.owned),
        adopted: [...now.adopted],
        released: [...now.released],
        comments: now.comments,
        unsettled: before.unsettled.filter((name) => !packages.includes(name)),
        warnings: { ...before.warnings, ...Object.fromEntries(told) },
      });
    },
  };
};

const isSame = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((item) => b.has(item));
