/** What only one rule of a CNF can have, such as the number of a virtual router on a network: the later one is refused. */
import { claiming, claimsOfRule, heldBy } from '../ties.ts';
import type { Check } from './check.ts';

export const claimIsFree: Check = (change, { rules }) => {
  const { after, kind, name, specChanged } = change;
  if (after === undefined || !specChanged) return undefined;
  const others = rules.filter(
    (rule) =>
      !(rule.kind === kind.kind && rule.metadata.name === name) &&
      rule.metadata.deletionTimestamp === undefined,
  );
  const found = heldBy(others, claimsOfRule(after), (key) => claiming(change, key));
  return (
    found && {
      reason: 'NameConflict',
      message: `${found.path}: ${found.other.kind} ${found.other.metadata.name} has ${found.key} on this CNF; choose another`,
    }
  );
};
