import { atOnce as most } from '#shared/util/at-once.ts';

/** As many as API clients usually have under way. */
const WORKERS = 16;

/** Works on each item, sixteen at a time. */
export const atOnce = <T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> => most(items, WORKERS, work);
