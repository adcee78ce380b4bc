/**
 * The members of a group as slices. A member stays in its slice, and a new one goes to the first
 * slice with room, so that a change of one pod changes one object. Pure.
 */
import { MAX_SLICE_MEMBERS } from '#shared/policy/bounds.ts';

/** By number. */
export type Slices = ReadonlyMap<number, readonly string[]>;

/** Slice 0 is there even if it is empty: a group without it is one that is not known yet. */
export const slicesOf = (members: readonly string[], present: Slices): Slices => {
  const missing = new Set(members);
  const next = new Map<number, string[]>([[0, []]]);
  for (const [number, held] of [...present].sort(([a], [b]) => a - b)) {
    const stay = held.filter((member) => missing.delete(member));
    if (stay.length > 0 || number === 0) next.set(number, stay);
  }
  for (const member of missing) {
    const number = firstWithRoom(next);
    next.set(number, [...(next.get(number) ?? []), member]);
  }
  return new Map([...next].map(([number, held]) => [number, held.toSorted()]));
};

const firstWithRoom = (slices: Slices): number => {
  for (let number = 0; ; number += 1)
    if ((slices.get(number)?.length ?? 0) < MAX_SLICE_MEMBERS) return number;
};
