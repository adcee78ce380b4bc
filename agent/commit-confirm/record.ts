/**
 * What of commit-confirm survives a restart of the agent's container: which changes are not
 * confirmed yet, and which rules were blamed.
 */
import * as z from 'zod';
import type { Logger } from '#shared/runtime/log.ts';
import { openStateFile } from '../io/state-file.ts';

const beforeSchema = z.object({ spec: z.unknown(), generation: z.int(), revision: z.string() });

const changeSchema = z.object({
  uid: z.string(),
  rule: z.string(),
  revision: z.string(),
  isRemoval: z.boolean(),
  before: beforeSchema.nullable(),
  needs: z.array(z.string()).readonly(),
});

const contentsSchema = z.object({
  type: z.string(),
  options: z.record(z.string(), z.union([z.string(), z.array(z.string()).readonly()])),
});

const blamedSchema = z.object({
  uid: z.string(),
  revision: z.string(),
  isRemoval: z.boolean(),
  message: z.string(),
});
export type Blamed = z.infer<typeof blamedSchema>;

const recordSchema = z.object({
  version: z.literal(1),
  changes: z.array(changeSchema).readonly(),
  /** Package -> section -> what it was before them. */
  before: z.record(z.string(), z.record(z.string(), contentsSchema.nullable())),
  blamed: z.array(blamedSchema).readonly(),
});
type Contents = z.infer<typeof recordSchema>;
export type CommitConfirmRecord = Omit<Contents, 'version'>;

export type RecordFile = {
  found: CommitConfirmRecord;
  /** Resolves when it is on disk. @throws StateFileError */
  write: (record: CommitConfirmRecord) => Promise<void>;
};

const EMPTY: Contents = { version: 1, changes: [], before: {}, blamed: [] };

/** @throws when the file exists and cannot be read */
export const openRecord = async (path: string, log: Logger): Promise<RecordFile> => {
  const file = await openStateFile({ path, schema: recordSchema, initial: EMPTY, log });
  let last = Promise.resolve();
  return {
    found: file.value(),
    write: (record) => {
      const next = last.then(() => file.write({ ...record, version: 1 }));
      last = next.catch(() => undefined);
      return next;
    },
  };
};
