/** What only one rule of a CNF can have, such as the number of a virtual router on a network: the later one is refused. */
import { isKept } from '../../memory/kept-rule.ts';
import { claiming, claimsOfRule } from '../ties.ts';
import type { Check } from './check.ts';

export const claimIsFree: Check = (change, { rules }) => {
  const { after, kind, name, specChanged } = change;
  if (after === undefined || !specChanged) return undefined;
  const others = rules.filter(
    (rule) =>
      !(rule.kind === kind.kind && rule.metadata.name === name) &&
      rule.metadata.deletionTimestamp === undefined,
  );
  for (const { path, key } of claimsOfRule(after)) {
    const tie = claiming(change, key);
    const other = others.find((rule) =>
      isKept(rule)
        ? rule.ties.includes(tie)
        : claimsOfRule(rule).some((claim) => claim.key === key),
    );
    if (other)
      return {
        reason: 'NameConflict',
        message: `${path}: ${other.kind} ${other.metadata.name} has ${key} on this CNF; choose another`,
      };
  }
  return undefined;
};
