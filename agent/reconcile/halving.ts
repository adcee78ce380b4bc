/**
 * Finds the rules that OpenWRT refuses when it refuses a whole set without naming any: by halving.
 * Half of the suspects are left out, the others tried; what is accepted stays. n suspects with one
 * culprit take about 2·log2(n) tries.
 */

export type Search = {
  /** Uids that must not be in the next try. */
  leftOut: () => readonly string[];
  /**
   * The last try was refused without a name. `suspects` (uids, in order) are asked for at the first
   * refusal only. Returns the culprit when it is found, undefined while the search goes on.
   */
  refused: (suspects: () => readonly string[]) => string | undefined;
  /** A rule was blamed by other means. */
  clear: (uids: readonly string[]) => void;
  /** The last try was accepted; whether anything left out is to be tried now. */
  accepted: () => boolean;
};

export const createSearch = (): Search => {
  let trying: readonly string[] | undefined;
  let later: (readonly string[])[] = [];
  const next = (): boolean => {
    do trying = later.pop() ?? [];
    while (trying.length === 0 && later.length > 0);
    return trying.length > 0;
  };
  return {
    leftOut: () => later.flat(),
    refused: (suspects) => {
      trying = trying === undefined || trying.length === 0 ? suspects() : trying;
      const [only] = trying;
      if (trying.length <= 1) {
        next();
        return only;
      }
      const middle = Math.ceil(trying.length / 2);
      later = [...later, trying.slice(middle)];
      trying = trying.slice(0, middle);
      return undefined;
    },
    clear: (uids) => {
      trying = trying?.filter((uid) => !uids.includes(uid));
      later = later.map((group) => group.filter((uid) => !uids.includes(uid)));
    },
    accepted: next,
  };
};
