/**
 * Which renderings are in force: of each candidate the best one whose references are in force too.
 * Found by removing renderings with a missing reference until none is left, so that neither order
 * nor chains of references matter.
 */
import type { Reference } from '../resources/kind.ts';
import type { Candidate, Rendering } from './candidate.ts';
import { keyOf } from './in-use.ts';
import type { Others } from './ownership.ts';
import { oncePerObject } from '../util/memo.ts';

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
  const inForce = new Map<Candidate, Rendering>();
  const standing = new Set<string>();
  for (const candidate of candidates) {
    const [best] = candidate.renderings;
    if (best) inForce.set(candidate, best);
    if (best) standing.add(candidate.key);
  }
  const stands = (reference: Reference) => {
    const key = keyOfReference(reference);
    return standing.has(key) || (others.named.has(key) && !claimed.has(key));
  };

  const waitsFor = new Map<Candidate, Reference>();
  for (let changed = true; changed;) {
    changed = false;
    for (const candidate of candidates) {
      const rendering = inForce.get(candidate);
      const lacking = rendering?.references.find((reference) => !stands(reference));
      if (!rendering || !lacking) continue;
      changed = true;
      if (!waitsFor.has(candidate)) waitsFor.set(candidate, lacking);
      const { key, renderings } = candidate;
      const next = renderings[renderings.indexOf(rendering) + 1];
      if (next) inForce.set(candidate, next);
      else {
        inForce.delete(candidate);
        standing.delete(key);
      }
    }
  }
  return { inForce, waitsFor };
};

const keyOfReference = oncePerObject(({ kind, name }: Reference) => keyOf(kind, name));
