/**
 * The specs that are in force on this OpenWRT, by uid, kept over restarts: what to fall back to
 * when a newer one is invalid.
 */
import * as z from 'zod';
import type { LastGood } from '#shared/compile/types.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { openStateFile } from '../io/state-file.ts';

const schema = z.object({
  version: z.literal(1),
  rules: z.record(
    z.string(),
    z.object({ spec: z.unknown(), generation: z.int(), revision: z.string() }),
  ),
});

export type LastGoodStore = {
  current: () => LastGood;
  /** Writes only when something differs. */
  replace: (next: LastGood) => Promise<void>;
};

/** @throws when the file exists and cannot be read */
export const openLastGood = async (path: string, log: Logger): Promise<LastGoodStore> => {
  const file = await openStateFile({ path, schema, initial: { version: 1, rules: {} }, log });
  let current: LastGood = new Map(Object.entries(file.value().rules));
  return {
    current: () => current,
    replace: async (next) => {
      if (isSame(current, next)) return;
      await file.write({ version: 1, rules: Object.fromEntries(next) });
      current = next;
    },
  };
};

const isSame = (a: LastGood, b: LastGood): boolean =>
  a.size === b.size &&
  [...a].every(([uid, { revision, generation }]) => {
    const other = b.get(uid);
    return other?.revision === revision && other.generation === generation;
  });
