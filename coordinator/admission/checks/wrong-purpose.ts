/** A label that no CNF has, called by its name. */
import { few } from '#shared/runtime/few.ts';
import type { Facts, RuleChange } from './check.ts';

/** What a wrong label is called; undefined: a CNF has the purpose, or there is none at all, and any label may be meant. */
export const wrongPurpose = (
  { purpose }: Pick<RuleChange, 'purpose'>,
  { purposes }: Pick<Facts, 'purposes'>,
): string | undefined => {
  if (purposes.has(purpose) || purposes.size === 0) return undefined;
  return `no CNF has purpose ${purpose} here; there is ${few([...purposes].sort())}`;
};
