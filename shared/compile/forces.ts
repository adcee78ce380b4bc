/**
 * Which renderings are in force: of each candidate the best one whose references are in force too.
 * Found by removing renderings with a missing reference until none is left, so that neither order
 * nor chains of references matter.
 */
import type { Reference } from '../resources/kind.ts';
import type { Candidate, Rendering } from './candidate.ts';
import { keyOf } from './in-use.ts';
import type { Others } from './ownership.ts';

export type Forces = {
  inForce: ReadonlyMap<Candidate, Rendering>;
  /** A reference that keeps the candidate's best rendering out of force, if one does. */
  waitsFor: ReadonlyMap<Candidate, Reference>;
};

/**
 * `claimed`: `Kind/name` of all rules that are to be in force. What they do not get to be, nothing
 * of others stands in for.
 */
export const forcesOf = (
  candidates: readonly Candidate[],
  others: Others,
  claimed: ReadonlySet<string>,
): Forces => {
  /** The place of the best one that is left among the renderings of its candidate. */
  const best = new Map(candidates.map((candidate) => [candidate, 0]));
  const standing = new Set<string>();
  for (const { key, renderings } of candidates) if (renderings.length > 0) standing.add(key);
  const stands = ({ kind, name }: Reference) => {
    const key = keyOf(kind, name);
    return standing.has(key) || (others.named.has(key) && !claimed.has(key));
  };

  const waitsFor = new Map<Candidate, Reference>();
  for (let changed = true; changed;) {
    changed = false;
    for (const [candidate, at] of best) {
      const { key, renderings } = candidate;
      const lacking = renderings[at]?.references.find((reference) => !stands(reference));
      if (!lacking) continue;
      changed = true;
      if (!waitsFor.has(candidate)) waitsFor.set(candidate, lacking);
      best.set(candidate, at + 1);
      if (at + 1 === renderings.length) standing.delete(key);
    }
  }

  const inForce = new Map<Candidate, Rendering>();
  for (const [candidate, at] of best) {
    const rendering = candidate.renderings[at];
    if (rendering) inForce.set(candidate, rendering);
  }
  return { inForce, waitsFor };
};
