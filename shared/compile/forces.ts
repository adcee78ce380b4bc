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
  const left = new Map(candidates.map((candidate) => [candidate, [...candidate.renderings]]));
  const standing = new Set<string>();
  for (const { rule, renderings } of candidates) {
    if (renderings.length > 0) standing.add(keyOf(rule.kind, rule.metadata.name));
  }
  const stands = ({ kind, name }: Reference) => {
    const key = keyOf(kind, name);
    return standing.has(key) || (others.named.has(key) && !claimed.has(key));
  };

  const waitsFor = new Map<Candidate, Reference>();
  for (let changed = true; changed;) {
    changed = false;
    for (const [candidate, renderings] of left) {
      const lacking = renderings[0]?.references.find((reference) => !stands(reference));
      if (!lacking) continue;
      changed = true;
      if (!waitsFor.has(candidate)) waitsFor.set(candidate, lacking);
      renderings.shift();
      const { kind, metadata } = candidate.rule;
      if (renderings.length === 0) standing.delete(keyOf(kind, metadata.name));
    }
  }

  const inForce = new Map<Candidate, Rendering>();
  for (const [candidate, [rendering]] of left) {
    if (rendering) inForce.set(candidate, rendering);
  }
  return { inForce, waitsFor };
};
