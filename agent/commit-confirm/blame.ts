/**
 * Which one of several changes cuts the agent off: by halving. Pure. The changes stand in an order
 * in which they can be made one after the other, and what is in force is always a beginning of it:
 * all others are undone. Every trial that loses a target is undone before the next.
 *
 * All changes together are tried first: an API server that was away for some seconds costs one
 * trial then, and no halving. With one culprit n changes take at most ⌈log2 n⌉ + 2 trials, beside
 * undoing; with all others it is one change more. When halving has found one, it is tried alone
 * once more, and blamed only if the target was there before, is lost again, and comes back: an
 * outage that is not its doing would have to come again at just that moment.
 */
export type Search = {
  /** Uids. */
  readonly changes: readonly string[];
  /** So many from the beginning keep the target. */
  readonly good: number;
  /** So many have lost it. */
  readonly bad: number;
  /** All together have lost it twice. */
  readonly repeated: boolean;
  /** So many are to be in force now: `good`, while a loss is undone, or more, in a trial. */
  readonly tried: number;
  /** The change behind `good` was tried alone, and lost the target. */
  readonly proven: boolean;
};

/** No change is guilty when the target stays lost without it, or is not lost by it. */
export type Outcome = { guilty: string } | 'none';

/** All changes together have lost a target. There is at least one. */
export const begin = (changes: readonly string[]): Search => ({
  changes,
  good: 0,
  bad: changes.length,
  repeated: false,
  tried: 0,
  proven: false,
});

export const isTrial = ({ tried, good }: Search): boolean => tried > good;

/** Uids of the changes that are to be undone now. */
export const undoneIn = ({ changes, tried }: Search): readonly string[] => changes.slice(tried);

/** `reached`: whether the target was there, with what is to be in force now. */
export const next = (search: Search, reached: boolean): Search | Outcome => {
  const { changes, good, bad, tried, proven } = search;
  if (!isTrial(search)) {
    if (!reached) return 'none';
    const guilty = proven ? changes[good] : undefined;
    return guilty === undefined ? trial(search) : { guilty };
  }
  if (!reached)
    return { ...search, repeated: true, bad: tried, tried: good, proven: bad - good === 1 };
  return tried === bad ? 'none' : trial({ ...search, good: tried });
};

const trial = (search: Search): Search => {
  const { good, bad, repeated } = search;
  return { ...search, tried: repeated && bad - good > 1 ? Math.floor((good + bad) / 2) : bad };
};
