/**
 * Comments in the files of /etc/config. UCI keeps none: the first write of a package loses them, by
 * any writer. What becomes of them is recorded around each write, so that after a crash the next
 * agent knows whether our write lost them. Pure.
 */

import type { Comments } from './ledger.ts';

/** `commented`: packages whose files hold comments, as they were read. */
export const beforeWrite = (
  { atStake, lost }: Comments,
  written: readonly string[],
  commented: ReadonlySet<string>,
): Comments => {
  const now = written.filter((name) => commented.has(name) && !lost.includes(name));
  return { atStake: [...new Set([...atStake, ...now])], lost };
};

/** When the write is permanent. Where it is undone, the next reading shows the comments. */
export const afterWrite = ({ atStake, lost }: Comments, written: readonly string[]): Comments => {
  const isWritten = (name: string): boolean => written.includes(name);
  return {
    atStake: atStake.filter((name) => !isWritten(name)),
    lost: [...lost, ...atStake.filter(isWritten)],
  };
};

/** After a write that was undone, or whose end was not seen. What cannot be read stays at stake. */
export const afterReading = (
  { atStake, lost }: Comments,
  packages: ReadonlyMap<string, unknown>,
  commented: ReadonlySet<string>,
): Comments => {
  const gone = atStake.filter((name) => packages.has(name) && !commented.has(name));
  return {
    atStake: atStake.filter((name) => !packages.has(name)),
    lost: [...lost, ...gone],
  };
};
