/**
 * Whether statuses are true: no rule is reported in sync for long while one of its pods is not
 * Ready.
 */

/** What a watch saw, in the order of arrival. */
export type Seen = {
  /** Milliseconds since 1970. */
  at: number;
  /** Whose state it is: a pod's, whether it is Ready, or a rule's, whether it is in sync. */
  what: 'pod' | 'rule';
  id: string;
  /** undefined: the object is gone. */
  is: boolean | undefined;
};

/** Milliseconds since 1970. */
export type Span = { from: number; until: number };

/**
 * The longest time within the span, in ms, for which some rule was reported in sync while some pod
 * was not Ready. 0: never. `seen` begins with what there was before.
 */
export const longestLie = (seen: readonly Seen[], { from, until }: Span): number => {
  const notReady = new Set<string>();
  const inSync = new Set<string>();
  let since: number | undefined;
  let longest = 0;
  for (const { at, what, id, is } of [...seen, END(until)]) {
    if (since !== undefined) longest = Math.max(longest, at - Math.max(since, from));
    if (what === 'pod') set(notReady, id, is === false);
    else set(inSync, id, is === true);
    const isLie = notReady.size > 0 && inSync.size > 0;
    since = isLie ? (since ?? at) : undefined;
  }
  return longest;
};

const END = (at: number): Seen => ({ at, what: 'rule', id: '', is: undefined });

const set = (ids: Set<string>, id: string, isIn: boolean): void => {
  if (isIn) ids.add(id);
  else ids.delete(id);
};
