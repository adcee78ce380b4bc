/** What CNFs on one link must not have in common, such as the number of a virtual router. Whether they are on one link is not known here. */
import { PURPOSE_LABEL } from '#shared/names.ts';
import { claimsOfRule, heldBy, onLinkOf } from '../ties.ts';
import type { Check } from './check.ts';

export const linkIsOwn: Check = (change, { links }) => {
  const { after, purpose, specChanged } = change;
  if (after === undefined || !specChanged) return undefined;
  const others = links.filter(
    ({ metadata }) =>
      metadata.labels?.[PURPOSE_LABEL] !== purpose && metadata.deletionTimestamp === undefined,
  );
  const claims = claimsOfRule(after).filter(({ onLink }) => onLink);
  const found = heldBy(others, claims, (key) => onLinkOf(change, key));
  if (found === undefined) return undefined;
  const { key, other, path } = found;
  return {
    reason: 'Caution',
    message: `${path}: ${other.kind} ${other.metadata.name} of CNF ${other.metadata.labels?.[PURPOSE_LABEL]} has ${key} as well; where both are on one link, one CNF takes the address from the other: choose another`,
  };
};
