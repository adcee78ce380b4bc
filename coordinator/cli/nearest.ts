/** What a user may have meant. */
import { distance } from 'fastest-levenshtein';

/** The items with the nearest names, nearest first; equal ones in the order given. */
export const nearestOf = <T>(
  written: string,
  items: readonly T[],
  nameOf: (item: T) => string,
): T[] => {
  const plain = written.toLowerCase();
  return items
    .map((item) => ({ item, far: distance(plain, nameOf(item).toLowerCase()) }))
    .sort((a, b) => a.far - b.far)
    .map(({ item }) => item);
};

/** The three nearest of them, for a sentence. */
export const nearestNames = <T>(
  written: string,
  items: readonly T[],
  nameOf: (item: T) => string,
): string => nearestOf(written, items, nameOf).slice(0, 3).map(nameOf).join(', ');
