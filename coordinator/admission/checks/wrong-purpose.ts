/** A label that no CNF has, called by its name. */
import type { Facts, RuleChange } from './check.ts';

/** What a wrong label is called; undefined: a CNF has the purpose, or there is none at all, and any label may be meant. */
export const wrongPurpose = (
  { purpose }: Pick<RuleChange, 'purpose'>,
  { purposes }: Pick<Facts, 'purposes'>,
): string | undefined => {
  const there = [...purposes].sort();
  if (purposes.has(purpose) || there.length === 0) return undefined;
  const named = there.slice(0, MAX_NAMED).join(', ');
  const more = there.length > MAX_NAMED ? ` and ${there.length - MAX_NAMED} more` : '';
  return `no CNF has purpose ${purpose} here; there is ${named}${more}`;
};

const MAX_NAMED = 5;
