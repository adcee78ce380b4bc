/** A rule that decides for no packet, since others do before it: legal, and rarely meant. */
import { few } from '#shared/runtime/few.ts';
import { ORDER_ANNOTATION } from '#shared/names.ts';
import { hidersAmong } from '../hiders.ts';
import type { Check } from './check.ts';

export const isNotHidden: Check = ({ after, specChanged }, { filters }) => {
  if (after === undefined || !specChanged) return undefined;
  const hiders = hidersAmong(after, filters);
  if (hiders.length === 0) return undefined;
  const names = few(hiders.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
  const decide = hiders.length === 1 ? 'decides' : 'decide';
  return {
    reason: 'Caution',
    message: `spec: no packet comes to it: ${names} ${decide} before it for all that it matches; if that is not meant, have it come first by annotation ${ORDER_ANNOTATION}, or change one of them`,
  };
};
