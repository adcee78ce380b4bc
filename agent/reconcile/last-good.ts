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
  /** Null: what lines before it say of the rule is over. */
  rules: z.record(
    z.string(),
    z.object({ spec: z.unknown(), generation: z.int(), revision: z.string() }).nullable(),
  ),
});
type Contents = z.infer<typeof schema>;
type Entry = NonNullable<Contents['rules'][string]>;

export type LastGoodStore = {
  current: () => LastGood;
  /** Writes only what differs. */
  replace: (next: LastGood) => Promise<void>;
};

/** @throws when the file exists and cannot be read */
export const openLastGood = async (path: string, log: Logger): Promise<LastGoodStore> => {
  const file = await openStateFile({
    path,
    schema,
    initial: { version: 1, rules: {} },
    log,
    merge: ({ rules }, change) => Object.assign(rules, change.rules),
  });
  let current: LastGood = new Map(
    Object.entries(file.value().rules).flatMap(([uid, entry]) => (entry ? [[uid, entry]] : [])),
  );
  return {
    current: () => current,
    replace: async (next) => {
      const rules = differing(current, next);
      if (Object.keys(rules).length === 0) return;
      const whole = (): Contents => ({ version: 1, rules: Object.fromEntries(next) });
      await file.amend({ version: 1, rules }, whole);
      current = next;
    },
  };
};

const differing = (before: LastGood, now: LastGood): Contents['rules'] => {
  const rules: Contents['rules'] = {};
  for (const [uid, entry] of now) if (!isSame(entry, before.get(uid))) rules[uid] = entry;
  for (const uid of before.keys()) if (!now.has(uid)) rules[uid] = null;
  return rules;
};

const isSame = (one: Entry, other: Entry | undefined): boolean =>
  one === other || (one.revision === other?.revision && one.generation === other.generation);
