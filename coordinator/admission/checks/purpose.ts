/** The label that ties a rule to a CNF, against the CNFs that there are. Rules may come before their CNF, so it only warns. */
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { Check } from './check.ts';
import { missingReferences } from './references.ts';
import { wrongPurpose } from './wrong-purpose.ts';

export const purposeIsServed: Check = (change, facts) => {
  const { before, after, purpose } = change;
  if (after === undefined) return undefined;
  if (before !== undefined && before.metadata.labels?.[PURPOSE_LABEL] === purpose) return undefined;
  // A policy refuses one without the label.
  if (purpose === '') return undefined;
  const wrong = wrongPurpose(change, facts);
  // Else that is part of the refusal.
  if (wrong === undefined || missingReferences(change, facts).length > 0) return undefined;
  return { reason: 'Caution', message: `metadata.labels.${PURPOSE_LABEL}: ${wrong}` };
};
