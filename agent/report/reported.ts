/**
 * What the agent has reported once and need not report again, for the life of the pod: of which UCI packages the comments were lost. A file
 * of its own, since the ledger is written by the passes.
 */
import * as z from 'zod';
import type { Logger } from '#shared/runtime/log.ts';
import { openStateFile } from '../io/state-file.ts';

export type Reported = {
  unreported: (packages: readonly string[]) => readonly string[];
  /** Calls must not overlap. */
  add: (packages: readonly string[]) => Promise<void>;
};

const reportedSchema = z.object({ version: z.literal(1), commentsLost: z.array(z.string()) });

/** @throws when the file exists and cannot be read */
export const openReported = async (path: string, log: Logger): Promise<Reported> => {
  const initial: z.infer<typeof reportedSchema> = { version: 1, commentsLost: [] };
  const file = await openStateFile({ path, schema: reportedSchema, initial, log });
  return {
    unreported: (packages) => packages.filter((name) => !file.value().commentsLost.includes(name)),
    add: (packages) =>
      file.write({ version: 1, commentsLost: [...file.value().commentsLost, ...packages] }),
  };
};
